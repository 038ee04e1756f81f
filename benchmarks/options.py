"""Command line options that the benchmarks share."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from tests import whole_numbers

EXIT_WRONG_INPUT, EXIT_USAGE = 2, 3
MOST = 1_000_000
"""The upper limit of every number; no machine has room for more objects."""


class Parser(argparse.ArgumentParser):
    """A parser that exits with 3 on usage errors; 2 is for invalid files."""

    def __init__(self, **arguments: Any) -> None:  # noqa: ANN401 - arguments of argparse
        """Disable abbreviated options."""
        super().__init__(allow_abbrev=False, **arguments)

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error, and exit."""
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def at_least(least: int, most: int = MOST) -> Callable[[str], int]:
    """Return an argparse type for whole numbers from `least` to `most`."""

    def read(text: str) -> int:
        return _parse_number(text, least, most)

    return read


def above_zero(text: str) -> float:
    """Parse a finite number above 0."""
    return _parse_real(
        text, is_valid=lambda number: 0 < number < math.inf, expected="number above 0"
    )


def share(text: str) -> float:
    """Parse a number from 0 to 1."""
    return _parse_real(text, is_valid=lambda number: 0 <= number <= 1, expected="share from 0 to 1")


def numbers(text: str) -> list[int]:
    """Parse whole numbers separated by commas, each at least 1."""
    return [_parse_number(word, 1) for word in text.split(",")]


def words(text: str) -> list[str]:
    """Parse words separated by commas."""
    return text.split(",")


def some_of(known: list[str]) -> Callable[[str], list[str]]:
    """Return an argparse type for known words separated by commas."""

    def read(text: str) -> list[str]:
        for word in words(text):
            if word not in known:
                raise argparse.ArgumentTypeError(f"`{word}` is not one of {', '.join(known)}")
        return words(text)

    return read


def add_profile(parser: argparse.ArgumentParser) -> None:
    """Add `--profile [LINES]`, which profiles the cycle."""
    parser.add_argument(
        "--profile",
        type=at_least(1),
        nargs="?",
        const=30,
        metavar="LINES",
        help="print the time of the cycle by function",
    )


def _parse_number(text: str, least: int, most: int = MOST) -> int:
    number = whole_numbers.at_least(least)(text)
    if number > most:
        raise argparse.ArgumentTypeError(f"`{text}` is more than {most:,}")
    return number


def _parse_real(text: str, *, is_valid: Callable[[float], bool], expected: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not is_valid(number):
        raise argparse.ArgumentTypeError(f"`{text}` is not a {expected}")
    return number
