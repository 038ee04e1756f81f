"""The best nodes of a cycle and their points: few numbers out of long arrays.

The arrays are live and the rows of nodes are used again, so what is kept is copied, with the names
of nodes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import numpy as np

from policysched.cluster.columns import columns
from policysched.framework.scoring import score_table

_LOWEST = np.iinfo(np.int64).min


class Standing(msgspec.Struct, frozen=True, gc=False):
    """The best nodes of a cycle, the chosen one first, then by points.

    Attributes:
        nodes: their names, m of them.
        totals: hundredths of a point.
        given: names of some plugins and rules, and what these gave, int64 (k, m) or what broadcasts
            to it. It is put together when somebody looks.
    """

    nodes: tuple[str, ...]
    totals: tuple[int, ...]
    given: tuple[tuple[tuple[str, ...], columns.IntArray], ...]

    @property
    def score_names(self) -> tuple[str, ...]:
        """The k plugins and rules that gave points."""
        return tuple(itertools.chain.from_iterable([names for names, _ in self.given]))

    @property
    def weighted(self) -> columns.IntArray:
        """Int64 (k, m) hundredths."""
        found = np.empty((len(self.score_names), len(self.nodes)), np.int64)
        first = 0
        for names, weighted in self.given:
            found[first : first + len(names)] = weighted
            first += len(names)
        return found


def find_standing(table: score_table.ScoreTable, names: Sequence[str], count: int) -> Standing:
    """Return the points of the chosen node and of those that come next, `count` in all."""
    positions, totals = _best(table, min(count, len(table.totals)))
    at = np.array(positions, np.intp)
    rows = table.rows[at]
    nodes = tuple([names[row] for row in rows.tolist()])
    given = tuple([(part.names, part.at(rows, at)) for part in table.parts])
    return Standing(nodes, tuple(totals), given)


def _best(table: score_table.ScoreTable, count: int) -> tuple[list[int], list[int]]:
    """Return positions among the feasible nodes, and their totals.

    Where points are equal the first row comes first. The totals are written to, and put right
    again: a copy would cost more than everything else here.
    """
    totals, chosen = table.totals, table.chosen
    best: list[int] = table.best_positions()[:count].tolist()
    positions = [chosen, *[each for each in best if each != chosen]][:count]
    points = [totals.item(position) for position in positions]
    if len(positions) == count:
        return positions, points
    try:
        for position in positions:
            totals[position] = _LOWEST
        while len(positions) < count:
            positions.append(int(totals.argmax()))
            points.append(totals.item(positions[-1]))
            totals[positions[-1]] = _LOWEST
    finally:
        for position, total in zip(positions, points, strict=False):
            totals[position] = total
    return positions, points
