"""Folds rendered findings for a narrow terminal and keeps the marks below their source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from policysched.cli.render import wrapping

_GUTTER = re.compile(r" *\d* \| ")
_MARK = re.compile(r"(?P<signs> *(?:\^+|-+))(?: (?P<label>.*))?")


def wrap_findings(text: str, room: int) -> str:
    """Return rendered findings folded to lines of at most `room` columns."""
    folded: list[str] = []
    lines = text.split("\n")
    while lines:
        count = _count_snippet_lines(lines)
        folded += (
            _wrap_snippet(lines[:count], room) if count else _wrap_finding_line(lines[0], room)
        )
        lines = lines[max(count, 1) :]
    return "\n".join(folded)


def _wrap_finding_line(line: str, room: int) -> list[str]:
    return wrapping.wrap_text(line, room).split("\n")


def _count_snippet_lines(lines: Sequence[str]) -> int:
    """Return the number of leading lines that are a source line and its marks; 0 without one."""
    gutter = _GUTTER.match(lines[0])
    if gutter is None or not gutter[0].strip(" |"):
        return 0
    count = 1
    while count < len(lines) and lines[count].startswith(_erase_line_number(gutter[0])):
        count += 1
    return count


def _erase_line_number(gutter: str) -> str:
    return " " * (len(gutter) - 2) + "| "


def _wrap_snippet(lines: Sequence[str], room: int) -> list[str]:
    """Return a source line and its marks, cut at the same columns."""
    shown = [line.expandtabs() for line in lines]
    if all(wrapping.count_text_columns(line) <= room for line in shown):
        return list(lines)
    gutter = _GUTTER.match(shown[0])
    head = gutter[0] if gutter else ""
    blank = _erase_line_number(head)
    source, *below = (line[len(head) :] for line in shown)
    marks = [mark for mark in map(_MARK.fullmatch, below) if mark]
    width = max(room - len(head), 1)
    missing = max((len(mark["signs"]) for mark in marks), default=0) - wrapping.count_text_columns(
        source
    )
    folded: list[str] = []
    start = 0
    for part in wrapping.split_at_columns(source + " " * missing, width):
        end = start + wrapping.count_text_columns(part)
        folded.append(((blank if start else head) + part).rstrip())
        for mark in marks:
            folded += [blank + line for line in _render_mark_lines(mark, start, end, width)]
        start = end
    return folded


def _render_mark_lines(mark: re.Match[str], start: int, end: int, width: int) -> list[str]:
    """Return the part of a mark between two columns; the label follows the last part."""
    signs = mark["signs"][start:end]
    if not signs.strip():
        return []
    label = mark["label"]
    if not label or len(mark["signs"]) > end:
        return [signs]
    if len(signs) + 1 + wrapping.count_text_columns(label) <= width:
        return [f"{signs} {label}"]
    return [signs, *wrapping.wrap_into_lines(label, width)]
