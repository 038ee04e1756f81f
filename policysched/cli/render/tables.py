"""Formats tables for users: aligned columns, folded if they are wider than the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from policysched import control_characters
from policysched.cli.render import styles, wrapping

_GAP = "  "
_NUMBER = re.compile(r"[-+]?[\d,]+(\.\d+)?(%|Gi)?")
_LEAST_COLUMNS = (10, 8)
"""The minimum widths to which a column can be folded, the preferred width first."""


def format_table(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    indent: str,
    room: int | None,
    styles_of_rows: Sequence[str],
) -> str:
    """Format a table that fits into `room` terminal columns; None means any width.

    Cells that are too long are folded, so that no text is lost. If the columns would be too narrow
    to read, each row becomes a block of lines `HEADER: cell`.
    """
    cells = [[control_characters.escape_to_one_line(str(cell)) for cell in row] for row in rows]
    columns = [_TableColumn(title, [row[at] for row in cells]) for at, title in enumerate(header)]
    widths = _compute_column_widths(columns, None if room is None else room - len(indent))
    if widths is None:
        return _format_rows_as_blocks(header, cells, indent, room or 0)
    lines = []
    if any(header):
        lines += _render_row(header, columns, widths, indent, styles.HEADING)
    for number, row in enumerate(cells):
        style = styles_of_rows[number] if styles_of_rows else ""
        lines += _render_row(row, columns, widths, indent, style)
    return "\n".join(lines)


class _TableColumn:
    """A column and its possible widths.

    Attributes:
        is_number: whether its cells are only numbers and empty cells, with at least one number.
        natural: the width of the longest cell or of the title, whichever is larger.
    """

    def __init__(self, title: str, cells: Sequence[str]) -> None:
        self._title = title
        self._longest_cell = max(map(wrapping.count_text_columns, cells), default=0)
        self.is_number = any(cells) and all(map(_is_number, cells))
        self.natural = max(wrapping.count_text_columns(title), self._longest_cell)

    def compute_narrow_width(self, limit: int) -> int:
        """Return the smallest width; it exceeds `limit` only for numbers."""
        if not self.is_number:
            return min(self.natural, limit)
        return max(
            self._longest_cell, min(wrapping.measure_longest_unbreakable_part(self._title), limit)
        )


def _is_number(cell: str) -> bool:
    return not cell or _NUMBER.fullmatch(cell) is not None


def _compute_column_widths(columns: Sequence[_TableColumn], room: int | None) -> list[int] | None:
    """Return the widths of columns; None if they cannot be shown side by side."""
    natural = [column.natural for column in columns]
    gaps = len(_GAP) * (len(columns) - 1)
    if room is None or sum(natural) + gaps <= room:
        return natural
    for limit in _LEAST_COLUMNS:
        least = [column.compute_narrow_width(limit) for column in columns]
        spare = room - gaps - sum(least)
        if spare >= 0:
            return _distribute_spare_width(least, natural, spare)
    return None


def _distribute_spare_width(widths: list[int], natural: Sequence[int], spare: int) -> list[int]:
    """Distribute spare width in steps of 1, each to the narrowest column that needs more."""
    for _ in range(spare):
        needy = [at for at, width in enumerate(widths) if width < natural[at]]
        if not needy:
            break
        widths[min(needy, key=lambda at: widths[at])] += 1
    return widths


def _render_row(
    row: Sequence[str],
    columns: Sequence[_TableColumn],
    widths: Sequence[int],
    indent: str,
    style: str,
) -> list[str]:
    """Return the lines of a row, as many as its longest folded cell needs."""
    folded = [
        [cell]
        if wrapping.count_text_columns(cell) <= width
        else wrapping.wrap_into_lines(cell, width)
        for cell, width in zip(row, widths, strict=True)
    ]
    lines = []
    for number in range(max(map(len, folded), default=0)):
        padded = [
            _pad_cell(cell[number] if number < len(cell) else "", width, column)
            for cell, width, column in zip(folded, widths, columns, strict=True)
        ]
        line = _GAP.join(padded).rstrip()
        lines.append((indent + styles.mark_text_style(line, style)).rstrip())
    return lines


def _pad_cell(cell: str, width: int, column: _TableColumn) -> str:
    blanks = " " * (width - wrapping.count_text_columns(cell))
    return blanks + cell if column.is_number else cell + blanks


def _format_rows_as_blocks(
    header: Sequence[str], cells: Sequence[Sequence[str]], indent: str, room: int
) -> str:
    """Format rows as blocks separated by empty lines; empty cells are omitted."""
    blocks = []
    for row in cells:
        named = [(title, cell) for title, cell in zip(header, row, strict=True) if cell]
        lines = [f"{indent}{title}: {cell}" if title else indent + cell for title, cell in named]
        blocks.append(wrapping.wrap_text("\n".join(lines), room))
    return "\n\n".join(blocks)
