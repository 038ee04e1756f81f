"""The number of terminal columns that a text occupies."""

from __future__ import annotations

import unicodedata

_WIDE = ("W", "F")
"""East Asian widths of characters that occupy two columns."""
_WITHOUT_WIDTH = ("Mn", "Me")
"""Categories of marks, which are drawn over the character before them."""


def count_display_columns(text: str) -> int:
    """Return the number of columns of a text that has no control characters."""
    return len(text) if text.isascii() else sum(map(_count_character_columns, text))


def _count_character_columns(character: str) -> int:
    if unicodedata.category(character) in _WITHOUT_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
