"""Folds long lines at spaces, and long words at punctuation marks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policysched import display_width
from policysched.cli.render import styles

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z/.,:;=_-]*[/.,:;=_-]*")
_START = re.compile(r" *(?:- )?")
_HANGING = 2


def count_text_columns(text: str) -> int:
    """Return the number of terminal columns that a text occupies."""
    return display_width.count_display_columns(styles.remove_style_marks(text))


def wrap_text(text: str, room: int) -> str:
    """Wrap a text into lines of at most `room` columns; continuation lines are indented."""
    return "\n".join(line for long in text.split("\n") for line in _wrap_line(long, room))


def _wrap_line(line: str, room: int) -> list[str]:
    if count_text_columns(line) <= room:
        return [line]
    start = _START.match(line)
    head = start[0] if start else ""
    hang = " " * min(len(head) + (0 if head.endswith("- ") else _HANGING), room // 2)
    first, *rest = wrap_into_lines(line[len(head) :], max(room - max(len(hang), len(head)), 1))
    return [head + first, *(hang + each for each in rest)]


def wrap_into_lines(text: str, room: int) -> list[str]:
    """Split a text into lines of at most `room` columns; only spaces are lost."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        together = f"{line} {word}" if line else word
        if count_text_columns(together) <= room:
            line = together
            continue
        if line:
            lines.append(line)
        *full, line = _break_word(word, room)
        lines += full
    return [*lines, line]


def _break_word(word: str, room: int) -> list[str]:
    """Split a word into parts that fit, preferably after punctuation or before capitals."""
    parts = [""]
    for piece in _split_word(word, room):
        if count_text_columns(parts[-1] + piece) <= room:
            parts[-1] += piece
        else:
            parts.append(piece)
    return parts


def _split_word(word: str, room: int) -> Iterator[str]:
    for piece in _PIECE.findall(word):
        yield from split_at_columns(piece, room)


def split_at_columns(text: str, room: int) -> Iterator[str]:
    """Yield a text in parts of at most `room` columns, each except the last as long as possible."""
    while count_text_columns(text) > room:
        count = max(_count_fitting_characters(text, room), 1)
        yield text[:count]
        text = text[count:]
    yield text


def _count_fitting_characters(text: str, room: int) -> int:
    """Return the number of leading characters that fit into `room` columns."""
    taken = 0
    for number, character in enumerate(text):
        taken += count_text_columns(character)
        if taken > room:
            return number
    return len(text)


def measure_longest_unbreakable_part(text: str) -> int:
    """Return the width in columns of the longest part of a text that folding does not split."""
    pieces = (piece for word in text.split(" ") for piece in _PIECE.findall(word))
    return max(map(count_text_columns, pieces), default=0)
