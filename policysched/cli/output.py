"""How commands print: tables for people, JSON for programs, notes on stderr."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

HUMAN = "human"
JSON = "json"
_GAP = "  "
_MAX_NAMES = 6
_NUMBER = re.compile(r"[-+]?[\d,]+(\.\d+)?(%|Gi)?")


def add_option(parser: argparse.ArgumentParser, *, is_again: bool = False) -> None:
    """Add `-o`; left out it is None, so that a command can choose by its input.

    `is_again` is for a form of a command that has the option already.
    """
    parser.add_argument(
        "-o",
        "--output",
        choices=(HUMAN, JSON),
        default=argparse.SUPPRESS if is_again else None,
        help="human (the default) or json; JSON lines are answered by JSON lines",
    )


def write(text: str, stream: TextIO | None = None) -> None:
    """Print a text and hand it on at once: a reader may wait for each line."""
    print(text, file=stream or sys.stdout, flush=True)


def note(text: str) -> None:
    """Tell something on the side, on stderr."""
    write(f"policysched: note: {text}", sys.stderr)


def as_json(value: object) -> str:
    """Return a value as one line of JSON; a name of a file that is no UTF-8 has `?` in it."""
    import orjson  # noqa: PLC0415 - `--help` does without

    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        import json  # noqa: PLC0415 - hardly ever needed

        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace").decode()


def write_json_array(values: Iterable[object]) -> None:
    """Print values as one JSON array, each on a line of its own as soon as it is known."""
    before = "["
    for value in values:
        print(before, as_json(value), sep="", end="", flush=True)
        before = ",\n"
    write("[]" if before == "[" else "]")


def table(header: Sequence[str], rows: Iterable[Sequence[object]], indent: str = "") -> str:
    """Return aligned columns; those of numbers alone, or nothing, are aligned to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    is_number = [
        any(row[column] for row in cells) and all(_is_number(row[column]) for row in cells)
        for column in range(len(header))
    ]
    widths = [max(len(row[column]) for row in [header, *cells]) for column in range(len(header))]
    lines = []
    for row in [header, *cells]:
        padded = [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, is_number, strict=True)
        ]
        lines.append((indent + _GAP.join(padded)).rstrip())
    return "\n".join(lines)


def _is_number(cell: str) -> bool:
    return not cell or _NUMBER.fullmatch(cell) is not None


def names(listed: Sequence[str]) -> str:
    """Return names joined by commas, many of them cut short."""
    shown = ", ".join(listed[:_MAX_NAMES])
    rest = len(listed) - _MAX_NAMES
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def count(number: int, noun: str) -> str:
    """Return `1 pod`, `2 pods`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
