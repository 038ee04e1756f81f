"""Classes of texts that no requirement names, by the patterns that they match."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection

from policysched.lang.words import glob_patterns

MAX_PATTERNS = 6
"""The maximum number of patterns of one label or field that are compared with each other."""


@dataclasses.dataclass(frozen=True, slots=True)
class TextClass:
    """Texts that match some patterns, and none of the other patterns.

    Attributes:
        text: a text for the whole class: operators without patterns have the same answer for all.
        matched: the patterns that each of the texts matches.
    """

    text: str
    matched: frozenset[str]


def list_possible_sets(patterns: Collection[str]) -> list[frozenset[str]]:
    """Return each set of patterns that a text may match while it matches none of the others.

    Only pairs are compared, so there may be a set for which there is no text.
    """
    ordered = sorted(patterns)
    several = itertools.chain.from_iterable(
        itertools.combinations(ordered, count) for count in range(len(ordered) + 1)
    )
    return [frozenset(each) for each in several if _is_possible(each, ordered)]


def _is_possible(matched: Collection[str], patterns: Collection[str]) -> bool:
    """Return whether no pair of patterns excludes a text that matches exactly `matched`."""
    others = [each for each in patterns if each not in matched]
    if any(not each.strip("*") for each in others):
        return False  # every text matches `*`
    if any(glob_patterns.matches_pattern(wide, each) for wide in others for each in matched):
        return False
    return not any(itertools.starmap(glob_patterns.are_apart, itertools.combinations(matched, 2)))
