"""Suggestions for misspelt names ("did you mean"), and lists of names, for messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MAX_DISTANCE = 2
MAX_SUGGESTIONS = 3
_SHORT_WORD = 3
"""Words up to this length can differ by one edit only: `in` is not a misspelt `or`."""
_DOUBLED = re.compile(r"(.)\1+")
_LONG_WORD = 6
"""Shortest word for which one edit can be an unambiguous misspelling."""


def compute_edit_distance(left: str, right: str) -> int:
    """Return the number of edits between two words: insert, delete, replace, swap neighbours.

    This is the optimal string alignment distance.
    """
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, char in enumerate(left, start=1):
        current = [row]
        for column, other in enumerate(right, start=1):
            cost = min(
                previous[column] + 1,
                current[column - 1] + 1,
                previous[column - 1] + (char != other),
            )
            is_swap = (
                row > 1 and column > 1 and char == right[column - 2] and left[row - 2] == other
            )
            current.append(min(cost, before[column - 2] + 1) if is_swap else cost)
        before, previous = previous, current
    return previous[-1]


def find_nearest_names(word: str, names: Iterable[str]) -> list[str]:
    """Return up to three names within two edits of `word`, nearest first, ignoring case.

    If the word or the name has at most three letters, only one edit is allowed.
    """
    folded = word.casefold()
    found = []
    for name in sorted(set(names)):
        limit = 1 if min(len(word), len(name)) <= _SHORT_WORD else MAX_DISTANCE
        if abs(len(name) - len(word)) > limit:
            continue
        edits = compute_edit_distance(folded, name.casefold())
        if edits <= limit and edits < len(name):
            found.append((edits, name))
    return [name for _, name in sorted(found)[:MAX_SUGGESTIONS]]


def is_unambiguous_misspelling(word: str, meant: str, names: Iterable[str]) -> bool:
    """Return whether `meant` is the only name in `names` that `word` can be a misspelling of.

    A misspelling is unambiguous if only case or doubled letters differ (`Inn`), or if a long word
    is one edit away from `meant` and more than two edits away from every other name. Short words
    are too similar to each other: `Ge` is not `Gt`, and `asc` is not `as`.
    """
    others = {name for name in names if name != meant}
    folded = word.casefold()
    if any(_fold_case_and_doubles(name) == _fold_case_and_doubles(word) for name in others):
        return False
    if _fold_case_and_doubles(word) == _fold_case_and_doubles(meant):
        return True
    is_long = min(len(word), len(meant)) >= _LONG_WORD
    is_near = is_long and compute_edit_distance(folded, meant.casefold()) == 1
    return is_near and not any(
        compute_edit_distance(folded, name.casefold()) <= MAX_DISTANCE
        for name in others
        if abs(len(name) - len(word)) <= MAX_DISTANCE
    )


def _fold_case_and_doubles(word: str) -> str:
    """Return a word in lower case and without doubled letters."""
    return _DOUBLED.sub(r"\1", word.casefold())


def suggest_names(word: str, names: Iterable[str]) -> str:
    """Return "did you mean `x`?" with the nearest names, or "" if no name is near."""
    found = [f"`{name}`" for name in find_nearest_names(word, names)]
    return f"did you mean {join_alternatives(found)}?" if found else ""


def join_alternatives(words: Iterable[str]) -> str:
    """Join words with commas and a final "or", for messages."""
    listed = list(words)
    if len(listed) < 2:  # noqa: PLR2004 - one word needs no joining
        return "".join(listed)
    return ", ".join(listed[:-1]) + " or " + listed[-1]


def join_some_names(names: Sequence[str], most: int) -> str:
    """Join the first `most` names with commas and count the rest: `a, b and 3 more`."""
    shown = ", ".join(names[:most])
    rest = len(names) - most
    return f"{shown} and {rest:,} more" if rest > 0 else shown
