"""Points of the feasible nodes, plugin by plugin."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import columns

HUNDREDTHS = 100
"""Totals are fixed-point hundredths of a point: policy scores need them, sums stay exact."""


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """What a plugin gave to the feasible nodes.

    Attributes:
        names: its score name.
        weighted: int64 (f,) hundredths.
    """

    names: tuple[str, ...]
    weighted: columns.IntArray

    def at(self, rows: npt.NDArray[np.intp], positions: npt.NDArray[np.intp]) -> columns.IntArray:
        """Return int64 (m,) for rows at `positions`, intp (m,), among the feasible."""
        del rows
        found: columns.IntArray = self.weighted.take(positions)
        return found


class RowPart(NamedTuple):
    """What some plugins gave to all rows, as it lies in memory; valid within the cycle alone.

    Attributes:
        names: score names of the k plugins.
        weighted: int64 (k, N) hundredths.
    """

    names: tuple[str, ...]
    weighted: columns.IntArray

    def at(self, rows: npt.NDArray[np.intp], positions: npt.NDArray[np.intp]) -> columns.IntArray:
        """Return int64 (k, m) for `rows`, intp (m,)."""
        del positions
        found: columns.IntArray = self.weighted.take(rows, axis=1)
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class SlotPart:
    """What some plugins gave, by slots that rows share; valid within the cycle alone.

    Attributes:
        names: score names of the k plugins.
        tables: for some of them int64 (j, S) hundredths, and intp (N,), the slot of each row; None
            if each row is a slot of its own.
    """

    names: tuple[str, ...]
    tables: Sequence[tuple[columns.IntArray, npt.NDArray[np.intp] | None]]

    def at(self, rows: npt.NDArray[np.intp], positions: npt.NDArray[np.intp]) -> columns.IntArray:
        """Return int64 (k, m) for `rows`, intp (m,)."""
        del positions
        found = []
        for table, slot_of_row in self.tables:
            slots = rows if slot_of_row is None else slot_of_row.take(rows)
            found.append(table.take(slots, axis=1))
        return np.concatenate(found)


@dataclasses.dataclass(frozen=True, slots=True)
class SamePart:
    """What some plugins gave to all nodes alike.

    Attributes:
        names: score names of the k plugins.
        weighted: int64 (k, 1) hundredths.
    """

    names: tuple[str, ...]
    weighted: columns.IntArray

    def at(self, rows: npt.NDArray[np.intp], positions: npt.NDArray[np.intp]) -> columns.IntArray:
        """Return the same for each of them."""
        del rows, positions
        return self.weighted


AnyPart: TypeAlias = "Part | RowPart | SlotPart | SamePart"


@dataclasses.dataclass(frozen=True, slots=True)
class Detail:
    """How the weighted points of one plugin came about.

    Attributes:
        raw: (f,) int64 or float64, what Score said; NaN marks a node without data.
        final: int64 (f,), units after normalisation.
        units_per_point: how many units are a point.
    """

    raw: npt.NDArray[Any]
    final: columns.IntArray
    units_per_point: int


@dataclasses.dataclass(slots=True)
class ScoreTable:
    """Weighted points in hundredths.

    Attributes:
        rows: intp (f,), rows of the feasible nodes.
        by_plugin: score name → int64 (f,), weight × points × 100; empty unless it was asked for.
        totals: int64 (f,), the sum over all plugins.
        parts: the same by plugin, to be looked up for single nodes.
        details: score name → how its points came about; like `by_plugin`.
        chosen: where among `rows` the chosen node stands, once `choose` was asked.
    """

    rows: npt.NDArray[np.intp]
    by_plugin: dict[str, columns.IntArray]
    totals: columns.IntArray
    parts: Sequence[AnyPart] = ()
    details: Mapping[str, Detail] = dataclasses.field(default_factory=dict)
    chosen: int = -1
    _best: npt.NDArray[np.intp] | None = None

    def best_positions(self) -> npt.NDArray[np.intp]:
        """Return where among the feasible nodes the highest total stands, intp (b,)."""
        if self._best is None:
            if len(self.totals) == 0:
                return self.rows
            highest = self.totals.item(self.totals.argmax())  # faster than `max`
            (self._best,) = (self.totals == highest).nonzero()
        return self._best

    def best_rows(self) -> npt.NDArray[np.intp]:
        """Return the rows with the highest total, intp (b,)."""
        return self.rows[self.best_positions()]

    def choose(self, names: Sequence[str], rng: random.Random | None) -> str:
        """Return one of the best nodes: at random, or the smallest name without `rng`."""
        best = self.best_positions()
        if rng is None:
            positions: list[int] = best.tolist()
            self.chosen = min(positions, key=lambda each: names[self.rows.item(each)])
        else:
            self.chosen = best.item(rng.randrange(len(best)))
        return names[self.rows.item(self.chosen)]


def points(hundredths: int) -> int | float:
    """Return hundredths as points: an int where they are whole, as without policies."""
    whole, rest = divmod(int(hundredths), HUNDREDTHS)
    return whole if rest == 0 else int(hundredths) / HUNDREDTHS
