"""Styles of texts: marks in a text that become colours when it is printed.

Marks are Unicode noncharacters, which are not intended for text interchange. A text can therefore
be built, folded and aligned before its destination is known. `output.write_text` converts or
removes the marks.
"""

from __future__ import annotations

import re

_END = "\ufdd0"
HEADING = "\ufdd1"
GOOD = "\ufdd2"
BAD = "\ufdd3"
WARNING = "\ufdd4"
NOTE = "\ufdd5"

_CODES = {
    _END: "\x1b[0m",
    HEADING: "\x1b[1m",
    GOOD: "\x1b[32m",
    BAD: "\x1b[1;31m",
    WARNING: "\x1b[33m",
    NOTE: "\x1b[36m",
}
_MARKS = re.compile(f"[{''.join(_CODES)}]")


def mark_text_style(text: str, style: str) -> str:
    """Return a text in a style; the style "" leaves it unchanged."""
    return f"{style}{text}{_END}" if text and style else text


def remove_style_marks(text: str) -> str:
    """Return the text without its style marks."""
    return text if text.isascii() else _MARKS.sub("", text)


def convert_styles_to_colours(text: str) -> str:
    """Return the text with its style marks converted to terminal colours."""
    return text if text.isascii() else _MARKS.sub(lambda mark: _CODES[mark[0]], text)


def escape_style_marks(text: str) -> str:
    """Return an equivalent JSON text in which no character can be mistaken for a mark."""
    return text if text.isascii() else _MARKS.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)
