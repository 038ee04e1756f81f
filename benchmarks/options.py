"""Forms of command line options that the benchmarks share."""

from __future__ import annotations

import argparse


def numbers(text: str) -> list[int]:
    """Return the numbers of a list with commas."""
    return [int(word) for word in text.split(",")]


def words(text: str) -> list[str]:
    """Return the words of a list with commas."""
    return text.split(",")


def add_profile(parser: argparse.ArgumentParser) -> None:
    """Let the cycle be profiled: `--profile [LINES]`."""
    parser.add_argument(
        "--profile",
        type=int,
        nargs="?",
        const=30,
        metavar="LINES",
        help="say where the time goes, by functions",
    )
