"""Control characters in texts for people: written out, so that no terminal obeys them.

Names, messages and policies come from others. Raw, such a character could end a line, move the
cursor, set the title of a terminal or turn the direction of text.
"""

from __future__ import annotations

import re

_INVISIBLE = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_IN_TEXT = re.compile(f"[{_INVISIBLE}]")
_IN_LINE = re.compile(f"[{_INVISIBLE}\t\n]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def escape(text: str) -> str:
    r"""Return a text of several lines with control characters as `\u001b`.

    Line ends and tabs stay. JSON has the same notation, so a JSON text keeps its meaning.
    """
    if text.isprintable():  # a tenth of the time, for much JSON on one line
        return text
    return _IN_TEXT.sub(_notation, text)


def escape_line(text: str) -> str:
    """Return a text on one line: `escape`, of line ends and tabs as well."""
    return _IN_LINE.sub(_notation, text)


def _notation(found: re.Match[str]) -> str:
    character = found[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"
