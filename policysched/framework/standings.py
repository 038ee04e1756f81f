"""What is worth keeping of a cycle when it is over: few numbers out of long arrays.

The arrays are live and the rows of nodes are used again, so all of it is copied, with the names of
the nodes; it takes some ten microseconds at 5,000 nodes.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from policysched.cluster import columns
from policysched.framework import score_table, status, status_table

MAX_REJECTIONS = 64
"""Distinct rejections that are kept of a cycle, those of the most nodes."""
MAX_REASON_CHARACTERS = 1024
"""Of the reasons of one rejection together."""
_CUT_MARK = " ..."
_EXAMPLES = 3
_FEW_STATUSES = 8
"""Up to here comparing with each one is faster than counting all together."""
_LOWEST = np.iinfo(np.int64).min


class Rejection(msgspec.Struct, frozen=True, gc=False):
    """One answer that ruled out nodes, with the names of a few of them."""

    answer: status.Status
    node_count: int
    examples: tuple[str, ...]


class Standing(msgspec.Struct, frozen=True, gc=False):
    """The best nodes of a cycle, the chosen one first, then by points.

    Attributes:
        nodes: their names, m of them.
        totals: int64 (m,) hundredths of a point.
        score_names: of the k plugins and rules that gave points.
        weighted: int64 (k, m) hundredths.
    """

    nodes: tuple[str, ...]
    totals: columns.IntArray
    score_names: tuple[str, ...]
    weighted: columns.IntArray


def rejections(
    ids: status_table.StatusIds, statuses: Sequence[status.Status], names: Sequence[str]
) -> tuple[Rejection, ...]:
    """Return which answers ruled out how many nodes, the most frequent first.

    `ids`, int16 (N,), are numbers in `statuses`: 0 passes, -1 is no node.
    """
    found: list[tuple[int, int, columns.BoolArray]] = []
    for number in _present(ids, len(statuses)):
        is_rejected = ids == number
        if count := int(np.count_nonzero(is_rejected)):
            found.append((count, -number, is_rejected))
    found.sort(key=_by_count, reverse=True)
    return tuple(
        Rejection(condensed(statuses[-negative]), count, _examples(is_rejected, names))
        for count, negative, is_rejected in found[:MAX_REJECTIONS]
    )


class KeptRejections:
    """What `rejections` finds in answers that are the same for a while."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._found: tuple[Rejection, ...] | None = None

    def forget(self) -> None:
        """Take note that answers, or names of nodes, are others than before."""
        self._found = None

    def of(
        self, ids: status_table.StatusIds, statuses: Sequence[status.Status], names: Sequence[str]
    ) -> tuple[Rejection, ...]:
        """Return what `rejections` does; the arguments are the same until something is forgotten.

        There may be further `statuses`, though.
        """
        if self._found is None:
            self._found = rejections(ids, statuses, names)
        return self._found


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


def _present(ids: status_table.StatusIds, statuses: int) -> Sequence[int]:
    """Return the numbers of answers to look for: all of a few, else those that there are."""
    if statuses <= _FEW_STATUSES:
        return range(1, statuses)
    numbers: list[int] = np.flatnonzero(np.bincount(ids[ids > 0])).tolist()
    return numbers


def _by_count(found: tuple[int, int, columns.BoolArray]) -> tuple[int, int]:
    return found[:2]


def _examples(is_rejected: columns.BoolArray, names: Sequence[str]) -> tuple[str, ...]:
    """Return the first few names; looking for one ends where it is found, which is mostly soon.

    The array is written to.
    """
    found: list[str] = []
    row = int(is_rejected.argmax())
    while is_rejected[row] and len(found) < _EXAMPLES:
        found.append(names[row])
        is_rejected[row] = False
        row += int(is_rejected[row:].argmax())
    return tuple(found)


def standing(
    table: score_table.ScoreTable, chosen_row: int, names: Sequence[str], count: int
) -> Standing:
    """Return the points of the chosen node and of those that come next, `count` in all."""
    positions = _best_positions(table, chosen_row, count)
    rows = table.rows[positions]
    score_names = tuple(itertools.chain.from_iterable([part.names for part in table.parts]))
    weighted = np.empty((len(score_names), len(positions)), np.int64)
    first = 0
    for part in table.parts:
        end = first + len(part.names)
        weighted[first:end] = part.at(rows, positions)
        first = end
    nodes = tuple(names[row] for row in rows.tolist())
    return Standing(nodes, table.totals[positions], score_names, weighted)


def _best_positions(
    table: score_table.ScoreTable, chosen_row: int, count: int
) -> npt.NDArray[np.intp]:
    """Return positions among the feasible nodes; where points are equal, the first row's."""
    chosen = int(table.rows.searchsorted(chosen_row))
    count = min(count, len(table.rows))
    best = table.best_positions()
    if len(best) >= count:
        others = [position for position in best[:count].tolist() if position != chosen]
        return np.array([chosen, *others[: count - 1]], np.intp)
    left = table.totals.copy()
    positions = [chosen]
    for _ in range(count - 1):
        left[positions[-1]] = _LOWEST
        positions.append(int(left.argmax()))
    return np.array(positions, np.intp)
