"""Finds values in lists that a pattern in the same list covers: `In ("web-*", web-prod)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policysched.lang.words import glob_patterns


def find_covered_values(values: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each value that another one makes redundant, with the pattern that matches it.

    A pattern that matches the text of another pattern also matches all texts of that pattern.
    """
    for value in values:
        for pattern in values:
            is_other_pattern = pattern != value and glob_patterns.is_pattern(pattern)
            if is_other_pattern and glob_patterns.matches_pattern(pattern, value):
                yield value, pattern
                break
