"""Which answers ruled out how many nodes in a cycle: few numbers out of a long array.

The array is live and the rows of nodes are used again, so what is kept is copied, with the names of
nodes; it takes some ten microseconds at 5,000 nodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from policysched.cluster.columns import columns
from policysched.framework import status
from policysched.framework.answers import status_table

MAX_REJECTIONS = 64
"""Distinct rejections that are kept of a cycle, those of the most nodes."""
MAX_REASON_CHARACTERS = 1024
"""Of the reasons of one rejection together."""
_CUT_MARK = " ..."
_EXAMPLES = 3
_FEW_STATUSES = 8
"""Up to here comparing with each one is faster than counting all together."""


class Rejection(msgspec.Struct, frozen=True, gc=False):
    """One answer that ruled out nodes, with the names of a few of them."""

    answer: status.Status
    node_count: int
    examples: tuple[str, ...]


def find_rejections(
    ids: status_table.StatusIds,
    statuses: Sequence[status.Status],
    names: Sequence[str],
    rejected_count: int,
) -> tuple[Rejection, ...]:
    """Return which answers ruled out how many nodes, the most frequent first.

    `ids`, int16 (N,), are numbers in `statuses`: 0 passes, -1 is no node. `rejected_count` nodes
    were ruled out, or fewer.
    """
    return _told(_found(ids, len(statuses), rejected_count, ()), statuses, names)


class KeptRejections:
    """What `find_rejections` finds in answers that are the same for a while."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._told: tuple[Rejection, ...] | None = None
        self._numbers: Sequence[int] = ()

    def forget(self) -> None:
        """Take note that answers, or names of nodes, are others than before."""
        self._told = None

    def of(
        self,
        ids: status_table.StatusIds,
        statuses: Sequence[status.Status],
        names: Sequence[str],
        rejected_count: int,
    ) -> tuple[Rejection, ...]:
        """Return what `find_rejections` does.

        Until something is forgotten, the arguments are the same; there may be further `statuses`.
        """
        if self._told is None:
            found = _found(ids, len(statuses), rejected_count, self._numbers)
            self._numbers = [-negative for _, negative, _ in found]
            self._told = _told(found, statuses, names)
        return self._told


def condensed(answer: status.Status) -> status.Status:
    """Return an answer with as many of its reasons as are kept, itself where that is all."""
    if sum(map(len, answer.reasons)) <= MAX_REASON_CHARACTERS:
        return answer
    left, kept = MAX_REASON_CHARACTERS, list[str]()
    for reason in answer.reasons:
        if left <= 0:
            break
        kept.append(cut(reason, left))
        left -= len(reason)
    if hidden := len(answer.reasons) - len(kept):
        kept.append(f"{hidden} more reasons")
    return dataclasses.replace(answer, reasons=tuple(kept))


def cut(text: str, limit_characters: int) -> str:
    """Return a text, its end replaced by an ellipsis where it is too long."""
    return text if len(text) <= limit_characters else text[:limit_characters] + _CUT_MARK


def _found(
    ids: status_table.StatusIds, statuses: int, rejected_count: int, likely: Sequence[int]
) -> list[tuple[int, int, columns.BoolArray]]:
    """Return for each answer on how many nodes it is, its number negated, and where it is.

    The most frequent come first. Where the `likely` numbers are on all rejected nodes, no other
    ones are looked for.
    """
    found: list[tuple[int, int, columns.BoolArray]] = []
    for number in _numbers(ids, statuses, likely):
        is_rejected = ids == number
        if count := int(np.count_nonzero(is_rejected)):
            found.append((count, -number, is_rejected))
            rejected_count -= count
            if rejected_count <= 0:
                break
    found.sort(key=_by_count, reverse=True)
    return found


def _numbers(ids: status_table.StatusIds, statuses: int, likely: Sequence[int]) -> Iterator[int]:
    """Yield the numbers of answers to look for: after the likely ones all of a few, else all."""
    yield from likely
    if statuses <= _FEW_STATUSES:
        every: Sequence[int] = range(1, statuses)
    else:
        every = np.flatnonzero(np.bincount(ids[ids > 0])).tolist()
    yield from (number for number in every if number not in likely)


def _told(
    found: Sequence[tuple[int, int, columns.BoolArray]],
    statuses: Sequence[status.Status],
    names: Sequence[str],
) -> tuple[Rejection, ...]:
    return tuple(
        [
            Rejection(condensed(statuses[-negative]), count, _examples(is_rejected, names))
            for count, negative, is_rejected in found[:MAX_REJECTIONS]
        ]
    )


def _by_count(found: tuple[int, int, columns.BoolArray]) -> tuple[int, int]:
    return found[:2]


def _examples(is_rejected: columns.BoolArray, names: Sequence[str]) -> tuple[str, ...]:
    """Return the first few names; of all ways to find them bytes are the fastest."""
    found: list[str] = []
    is_row = is_rejected.tobytes()
    row = is_row.find(1)
    while row >= 0 and len(found) < _EXAMPLES:
        found.append(names[row])
        row = is_row.find(1, row + 1)
    return tuple(found)
