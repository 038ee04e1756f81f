"""Forms of command line options that the benchmarks share."""

from __future__ import annotations


def numbers(text: str) -> list[int]:
    """Return the numbers of a list with commas."""
    return [int(word) for word in text.split(",")]


def words(text: str) -> list[str]:
    """Return the words of a list with commas."""
    return text.split(",")
