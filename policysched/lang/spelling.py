"""The nearest known name: "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable

MAX_DISTANCE = 2
MAX_SUGGESTIONS = 3
_SHORT_WORD = 3
"""Words up to this length may differ in one place only: `in` is not a misspelt `or`."""


def distance(left: str, right: str) -> int:
    """Return the edits between two words: insert, delete, replace, swap two neighbours."""
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


def nearest(word: str, names: Iterable[str]) -> list[str]:
    """Return up to three names within two edits of `word`, nearest first; case does not count."""
    folded = word.casefold()
    limit = 1 if len(word) <= _SHORT_WORD else MAX_DISTANCE
    found = []
    for name in sorted(set(names)):
        if abs(len(name) - len(word)) > limit:
            continue
        edits = distance(folded, name.casefold())
        if edits <= limit and edits < len(name):
            found.append((edits, name))
    return [name for _, name in sorted(found)[:MAX_SUGGESTIONS]]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return "did you mean `x`?" or "" if nothing is near."""
    found = [f"`{name}`" for name in nearest(word, names)]
    return f"did you mean {alternatives(found)}?" if found else ""


def alternatives(words: Iterable[str]) -> str:
    """Join words as `a`, `b` or `c`."""
    listed = list(words)
    if len(listed) < 2:  # noqa: PLR2004 - one word needs no joining
        return "".join(listed)
    return ", ".join(listed[:-1]) + " or " + listed[-1]
