"""Characters that a reader does not see, held against the names that Unicode gives them."""

from __future__ import annotations

import re
import sys
import unicodedata
from xml.etree import ElementTree

import pytest

from policysched import control_characters

_EVERY = [chr(number) for number in range(sys.maxunicode + 1)]
_TURNING = re.compile(
    r"(LEFT-TO-RIGHT|RIGHT-TO-LEFT|ARABIC LETTER|FIRST STRONG|POP DIRECTIONAL) "
    r"(MARK|EMBEDDING|OVERRIDE|ISOLATE|FORMATTING)$"
)
"""Names of the characters with Unicode's property Bidi_Control."""


def test_control_characters_are_those_of_unicode() -> None:
    """Tabs and the line ends of a text are none: they do what its author wants."""
    controls = {each for each in _EVERY if unicodedata.category(each) == "Cc"} - set("\t\n\r")
    assert set(filter(control_characters.is_control_character, _EVERY)) == controls


def test_unseen_characters_are_control_and_bidirectional_ones() -> None:
    """Marks, embeddings, overrides and isolates change the direction of text."""
    controls = set(filter(control_characters.is_control_character, _EVERY))
    turning = {each for each in _EVERY if _TURNING.match(unicodedata.name(each, ""))}
    assert set(control_characters.UNSEEN.findall("".join(_EVERY))) == controls | turning


@pytest.mark.parametrize(
    "text, in_text, in_line, blanked",
    [
        pytest.param("é\xa0\u200b", "é\xa0\u200b", "é\xa0\u200b", "é\xa0\u200b", id="visible"),
        pytest.param("a\tb\nc", "a\tb\nc", "a\\tb\\nc", "a b c", id="line-end-and-tab"),
        pytest.param("a\r\nb", "a\\r\nb", "a\\r\\nb", "a b", id="run"),
        pytest.param(
            "\x1b[2J\x9b", "\\u001b[2J\\u009b", "\\u001b[2J\\u009b", " [2J ", id="control"
        ),
        pytest.param("a\u202eb\u2028", "a\\u202eb\\u2028", "a\\u202eb\\u2028", "a b ", id="order"),
    ],
)
def test_what_is_not_seen_is_written_out(
    text: str, in_text: str, in_line: str, blanked: str
) -> None:
    """A text keeps its lines; a line is one."""
    assert control_characters.escape_keeping_lines(text) == in_text
    assert control_characters.escape_to_one_line(text) == in_line
    assert control_characters.blank_control_characters(text) == blanked


def test_no_unprintable_character_stays() -> None:
    """Blanks that are not the ASCII one, and half a surrogate, are written out as well."""
    assert control_characters.escape_unprintable_to_one_line("ä \x1b\xa0\u200b\ud800") == (
        "ä \\x1b\\xa0\\u200b\\ud800"
    )


def test_xml_can_be_made_of_any_text() -> None:
    """What XML cannot write is replaced; tabs and letters stay."""
    text = "a\tb\x00\x1b\ud800\ufffe\N{GRINNING FACE}"
    clean = control_characters.replace_non_xml_characters(text)
    assert clean == "a\tb\ufffd\ufffd\ufffd\ufffd\N{GRINNING FACE}"
    assert ElementTree.fromstring(f"<a>{clean}</a>").text == clean  # noqa: S314 - our own
