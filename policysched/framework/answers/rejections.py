"""Which answers ruled out how many nodes in a cycle: few numbers out of a long array.

The array is live and the rows of nodes are used again, so what is kept is copied, with the names of
nodes; it takes some ten microseconds at 5,000 nodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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


class CountedRejection(NamedTuple):
    """An answer by its number, and where it is: bool (N,)."""

    node_count: int
    number: int
    is_rejected: columns.BoolArray


def count_rejections(
    ids: status_table.StatusIds, status_count: int, rejected_count: int, likely: Sequence[int]
) -> list[CountedRejection]:
    """Return on how many nodes each answer is, the most frequent first.

    `ids`, int16 (N,), are numbers below `status_count`: 0 passes, -1 is no node. The search ends
    when the counts add up to `rejected_count`; `likely` numbers come first.
    """
    found: list[CountedRejection] = []
    for number in _numbers(ids, status_count, likely):
        is_rejected = ids == number
        if count := int(np.count_nonzero(is_rejected)):
            found.append(CountedRejection(count, number, is_rejected))
            rejected_count -= count
            if rejected_count <= 0:
                break
    found.sort(key=_by_count)
    return found


def _numbers(ids: status_table.StatusIds, statuses: int, likely: Sequence[int]) -> Iterator[int]:
    """Yield the likely numbers, then others: of many statuses only those that occur in `ids`."""
    yield from likely
    if statuses <= _FEW_STATUSES:
        every: Sequence[int] = range(1, statuses)
    else:
        every = np.flatnonzero(np.bincount(ids[ids > 0])).tolist()
    yield from (number for number in every if number not in likely)


def describe_rejections(
    found: Sequence[CountedRejection],
    statuses: Sequence[status.Status],
    names: Sequence[str],
) -> tuple[Rejection, ...]:
    """Return rejections with their answers and the names of a few nodes."""
    return tuple(
        [
            Rejection(condensed(statuses[number]), count, _examples(is_rejected, names))
            for count, number, is_rejected in found[:MAX_REJECTIONS]
        ]
    )


def _by_count(found: CountedRejection) -> tuple[int, int]:
    return -found.node_count, found.number


def _examples(is_rejected: columns.BoolArray, names: Sequence[str]) -> tuple[str, ...]:
    """Return the first few names; of all ways to find them bytes are the fastest."""
    found: list[str] = []
    is_row = is_rejected.tobytes()
    row = is_row.find(1)
    while row >= 0 and len(found) < _EXAMPLES:
        found.append(names[row])
        row = is_row.find(1, row + 1)
    return tuple(found)
