"""The rows of the nodes that node selectors select, found fast for very many selectors.

A cluster with local volumes has a selector a volume, each of which names one node. A mask over all
nodes for each would be nodes × volumes; here a selector of one label costs one look-up, and what
was found is kept until a label that was read changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns, label_column
from policysched.cluster.objects import selectors
from policysched.cluster.pods import node_terms
from policysched.plugins.kernels import node_selection

Rows: TypeAlias = npt.NDArray[np.intp]
"""intp (r,): rows of nodes, some of which may be dead."""
Terms: TypeAlias = tuple[node_terms.NodeTerm, ...] | None
"""Node selector terms that are ORed; None selects all nodes."""

_MAX_KEPT = 100_000


@dataclasses.dataclass(frozen=True, slots=True)
class _ReadLabel:
    """A label as it was when rows were found by it.

    Attributes:
        column: the column, which is another one after it was rebuilt.
        ids: int32 (N,), a copy of its values.
        by_value: intp (N,), the rows in the order of their values.
        starts: intp (V + 2,), where the rows of each value begin in `by_value`; entry 0 is of the
            rows without the label.
    """

    column: label_column.LabelColumn
    ids: columns.Int32Array
    by_value: Rows
    starts: Rows

    @classmethod
    def of(cls, column: label_column.LabelColumn, size: int) -> _ReadLabel:
        """Return the first `size` rows of a column."""
        ids = column.ids[:size].copy()
        starts = np.zeros(len(column.values) + 2, np.intp)
        np.cumsum(np.bincount(ids + 1, minlength=len(column.values) + 1), out=starts[1:])
        return cls(column, ids, np.argsort(ids, kind="stable"), starts)

    def rows(self, value: str) -> Rows:
        """Return the rows whose label has this value."""
        number = self.column.values.find(value)
        if number is None or number + 2 >= len(self.starts):
            return self.by_value[:0]
        return self.by_value[self.starts[number + 1] : self.starts[number + 2]]


class NodeRows:
    """Remembers which rows node selector terms select.

    Attributes:
        version: grows whenever what was found before does not hold any more.
    """

    def __init__(self) -> None:
        """Start with nothing found."""
        self.version = 0
        self._size = -1
        self._read: dict[str, _ReadLabel] = {}
        self._found: dict[Terms, Rows] = {}

    def refresh(self, snap: snapshot.Snapshot) -> None:
        """Forget everything when a label that was read changed, or the number of rows did."""
        is_current = snap.size == self._size and all(
            snap.nodes.get_label_column(key) is read.column
            and np.array_equal(read.column.ids[: snap.size], read.ids)
            for key, read in self._read.items()
        )
        if is_current and len(self._found) < _MAX_KEPT:
            return
        self.version += 1
        self._size = snap.size
        self._read.clear()
        self._found.clear()

    def rows(self, terms: Terms, snap: snapshot.Snapshot) -> Rows:
        """Return intp (r,): the rows that `terms` select; `refresh` comes first."""
        found = self._found.get(terms)
        if found is None:
            found = self._found[terms] = self._find(terms, snap)
        return found

    def mask(self, terms: Terms, snap: snapshot.Snapshot) -> columns.NodeMask:
        """Return bool (N,): the rows that `terms` select; `refresh` comes first."""
        selected = np.zeros(snap.size, np.bool_)
        selected[self.rows(terms, snap)] = True
        return selected

    def _find(self, terms: Terms, snap: snapshot.Snapshot) -> Rows:
        if terms is None:
            return snap.nodes.all_rows
        only = _only_requirement(terms)
        if only is not None:
            read = self._label(only.key, snap)
            return np.concatenate([read.rows(value) for value in sorted(only.values)])
        for term in terms:
            for requirement in term.labels.requirements:
                self._label(requirement.key, snap)
        return np.flatnonzero(node_selection.any_term_mask(terms, snap.view_all_rows()))

    def _label(self, key: str, snap: snapshot.Snapshot) -> _ReadLabel:
        read = self._read.get(key)
        if read is None:
            read = self._read[key] = _ReadLabel.of(snap.nodes.get_label_column(key), snap.size)
        return read


def _only_requirement(terms: tuple[node_terms.NodeTerm, ...]) -> selectors.Requirement | None:
    """Return the requirement, one that names values, of terms that are nothing else."""
    if len(terms) != 1 or terms[0].fields or len(terms[0].labels.requirements) != 1:
        return None
    requirement = terms[0].labels.requirements[0]
    is_in = requirement.operator is selectors.LabelOperator.IN and bool(requirement.values)
    return requirement if is_in else None


@dataclasses.dataclass(frozen=True, slots=True)
class Edges:
    """The rows of many selectors in one array.

    Attributes:
        rows: intp (E,): the rows of selector 0, then those of selector 1, and so on.
        starts: intp (S + 1,): where those of each selector begin.
    """

    rows: Rows
    starts: Rows

    @classmethod
    def of(cls, found: list[Rows]) -> Edges:
        """Return the rows of all selectors, in order."""
        starts = np.zeros(len(found) + 1, np.intp)
        np.cumsum([len(rows) for rows in found], out=starts[1:])
        return cls(np.concatenate(found) if found else np.zeros(0, np.intp), starts)

    def of_selectors(self, numbers: Rows) -> tuple[Rows, Rows]:
        """Return intp (e,) twice: the position in `numbers` of a selector, and one of its rows."""
        firsts = self.starts[numbers]
        lengths = self.starts[numbers + 1] - firsts
        positions = np.repeat(np.arange(len(numbers)), lengths)
        before = np.cumsum(lengths) - lengths
        within = np.arange(len(positions)) - np.repeat(before, lengths)
        return positions, self.rows[np.repeat(firsts, lengths) + within]

    def of_selector(self, number: int) -> Rows:
        """Return intp (r,): the rows of one selector."""
        return self.rows[self.starts[number] : self.starts[number + 1]]


class Reach:
    """Keeps the rows of a growing list of selectors."""

    def __init__(self) -> None:
        """Start with no selectors."""
        self._version = -1
        self._found: list[Rows] = []
        self._edges = Edges.of([])

    def edges(
        self, selectors_terms: Sequence[Terms], rows: NodeRows, snap: snapshot.Snapshot
    ) -> Edges:
        """Return the rows of all selectors; `selectors_terms` are those of the last time and more.

        Args:
            selectors_terms: the terms of each selector.
            rows: finds their rows; refreshed.
            snap: the nodes.
        """
        if rows.version != self._version:
            self._version = rows.version
            self._found.clear()
        elif len(self._found) == len(selectors_terms):
            return self._edges
        new = selectors_terms[len(self._found) :]
        self._found.extend(rows.rows(terms, snap) for terms in new)
        self._edges = Edges.of(self._found)
        return self._edges
