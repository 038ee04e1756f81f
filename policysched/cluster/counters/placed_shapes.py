"""The placed pods of each shape, indexed by the labels that queries require.

A query in use for the first time is evaluated for the placed shapes. Most queries require a label
with one of a few values, so they are evaluated only for the shapes that have it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from policysched.cluster import count_column
from policysched.cluster.objects import selectors
from policysched.cluster.pods import pod_shape


@dataclasses.dataclass(slots=True)
class PlacedPodsOfShape:
    """The placed pods of one shape, and the columns in which they count.

    Attributes:
        columns: columns that count terminating pods.
        spread_columns: columns of `NonTerminatingPodsInNamespace`, which do not count them.
        live_only_columns: columns of all other queries that do not count them.
        supposed_columns: columns of `HypotheticalPodsInNamespace`.
    """

    shape: pod_shape.PodShape
    live_rows: dict[int, int]
    terminating_rows: dict[int, int]
    columns: list[count_column.CountColumn]
    spread_columns: list[count_column.CountColumn]
    live_only_columns: list[count_column.CountColumn]
    supposed_columns: list[count_column.CountColumn]

    @property
    def is_empty(self) -> bool:
        """Whether no pod of the shape is placed."""
        return not self.live_rows and not self.terminating_rows

    def change_row_counts(self, rows: Sequence[int], change: int, *, is_terminating: bool) -> None:
        """Count pods on `rows` (`change` 1), or subtract them (-1)."""
        by_row = self.terminating_rows if is_terminating else self.live_rows
        for row in rows:
            by_row[row] = by_row.get(row, 0) + change
            if by_row[row] == 0:
                del by_row[row]

    def list_what_if_columns(self, *, is_terminating: bool) -> list[count_column.CountColumn]:
        """Return the columns that change when a what-if adds or removes a pod."""
        found = self.columns + self.spread_columns + self.supposed_columns
        return found if is_terminating else found + self.live_only_columns


_ByIndex: TypeAlias = dict[int, PlacedPodsOfShape]


class PlacedShapes:
    """The placed pods, grouped by shape.

    Attributes:
        by_index: the placed pods by the index of their shape; changed by `add` and `remove` only.
    """

    def __init__(self) -> None:
        """Start without pods."""
        self.by_index: _ByIndex = {}
        self._by_key: dict[str, dict[str, _ByIndex]] = {}
        """By label key and value; only keys that a query required."""

    def add(self, pods: PlacedPodsOfShape) -> None:
        """Add the pods of a shape that is unknown so far."""
        self.by_index[pods.shape.index] = pods
        for key, by_value in self._by_key.items():
            _add_to_index(by_value, key, pods)

    def remove(self, pods: PlacedPodsOfShape) -> None:
        """Forget a shape."""
        index = pods.shape.index
        del self.by_index[index]
        for key, by_value in self._by_key.items():
            value = pods.shape.labels.get(key)
            if value is not None:
                del by_value[value][index]
                if not by_value[value]:
                    del by_value[value]

    def find_candidates(self, selector: selectors.Selector) -> Iterable[PlacedPodsOfShape]:
        """Return the pods of all shapes that `selector` may match."""
        found = [
            self._find_with_label(each.key, each.values)
            for each in selector.requirements
            if each.operator is selectors.LabelOperator.IN
        ]
        if not found:
            return self.by_index.values()
        fewest = min(found, key=lambda groups: sum(map(len, groups)))
        return [pods for group in fewest for pods in group.values()]

    def _find_with_label(self, key: str, values: Iterable[str]) -> list[_ByIndex]:
        """Return the pods of shapes whose label `key` has one of `values`, by value."""
        by_value = self._by_key.get(key)
        if by_value is None:
            by_value = self._by_key[key] = {}
            for pods in self.by_index.values():
                _add_to_index(by_value, key, pods)
        return [by_value[value] for value in sorted(values) if value in by_value]


def _add_to_index(by_value: dict[str, _ByIndex], key: str, pods: PlacedPodsOfShape) -> None:
    value = pods.shape.labels.get(key)
    if value is not None:
        by_value.setdefault(value, {})[pods.shape.index] = pods
