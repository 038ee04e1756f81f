"""Forms of command line options that the benchmarks share."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

EXIT_WRONG_INPUT, EXIT_USAGE = 2, 3
MOST = 1_000_000
"""Of anything: more than a machine has room for."""


class Parser(argparse.ArgumentParser):
    """Ends with 3 where words of the command line are wrong; 2 is for wrong files."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - those of argparse
        """Take no abbreviations."""
        super().__init__(allow_abbrev=False, **given)

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong, and end."""
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def at_least(least: int, most: int = MOST) -> Callable[[str], int]:
    """Return what reads one number that is neither smaller nor bigger."""

    def read(text: str) -> int:
        return _number(text, least, most)

    return read


def above_zero(text: str) -> float:
    """Return a number that is bigger than 0."""
    return _real(text, is_right=lambda number: 0 < number < math.inf, what="number above 0")


def share(text: str) -> float:
    """Return a number from 0 to 1."""
    return _real(text, is_right=lambda number: 0 <= number <= 1, what="share from 0 to 1")


def numbers(text: str) -> list[int]:
    """Return the numbers of a list with commas, all of them at least 1."""
    return [_number(word, 1) for word in text.split(",")]


def words(text: str) -> list[str]:
    """Return the words of a list with commas."""
    return text.split(",")


def some_of(known: list[str]) -> Callable[[str], list[str]]:
    """Return what reads a list with commas of words that are known."""

    def read(text: str) -> list[str]:
        for word in words(text):
            if word not in known:
                raise argparse.ArgumentTypeError(f"`{word}` is none of {', '.join(known)}")
        return words(text)

    return read


def add_profile(parser: argparse.ArgumentParser) -> None:
    """Let the cycle be profiled: `--profile [LINES]`."""
    parser.add_argument(
        "--profile",
        type=at_least(1),
        nargs="?",
        const=30,
        metavar="LINES",
        help="say where the time goes, by functions",
    )


def _number(text: str, least: int, most: int = MOST) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"`{text}` is no whole number from {least} on")
    if number > most:
        raise argparse.ArgumentTypeError(f"`{text}` is more than {most:,}")
    return number


def _real(text: str, *, is_right: Callable[[float], bool], what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not is_right(number):
        raise argparse.ArgumentTypeError(f"`{text}` is no {what}")
    return number
