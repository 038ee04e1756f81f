"""Control and bidirectional characters, which are invisible to a reader.

Names, messages and policies are untrusted input. An unescaped character of these kinds can end a
line, move the cursor, set the title of a terminal or change the direction of text.
"""

from __future__ import annotations

import re

_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""Ranges of a regular expression: characters that control a terminal, except line ends and tabs."""
_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Ranges of a regular expression: characters that change the direction of text."""

UNSEEN = re.compile(f"[{_CONTROL}{_BIDIRECTIONAL}]")
"""A control or bidirectional character, except line ends and tabs."""
_IS_CONTROL = re.compile(f"[{_CONTROL}]")
_IN_TEXT = re.compile(f"[{_CONTROL}{_BIDIRECTIONAL}\r\u2028\u2029]")
_IN_LINE = re.compile(f"[{_CONTROL}{_BIDIRECTIONAL}\r\u2028\u2029\t\n]")
_RUN_IN_LINE = re.compile(f"{_IN_LINE.pattern}+")
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent."""
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def is_control_character(character: str) -> bool:
    """Return whether a character controls a terminal; line ends and tabs do not count."""
    return _IS_CONTROL.match(character) is not None


def escape_keeping_lines(text: str) -> str:
    r"""Return a text of several lines with control characters escaped as `\u001b`.

    Line ends and tabs are kept. JSON uses the same notation, so a JSON text keeps its meaning.
    """
    if text.isprintable():  # ten times as fast for a long JSON text on one line
        return text
    return _IN_TEXT.sub(_format_unicode_escape, text)


def escape_to_one_line(text: str) -> str:
    """Return a text on one line, with line ends and tabs escaped like control characters."""
    return _IN_LINE.sub(_format_unicode_escape, text)


def escape_unprintable_to_one_line(text: str) -> str:
    r"""Return a text on one line with unprintable characters in Python's notation: `\x1b`."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def blank_control_characters(text: str) -> str:
    """Replace each run of characters that `escape_to_one_line` escapes with one blank."""
    return _RUN_IN_LINE.sub(" ", text)


def replace_non_xml_characters(text: str) -> str:
    """Return a text with U+FFFD in place of each character that XML 1.0 cannot represent."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _format_unicode_escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"
