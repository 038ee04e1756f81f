"""Index conditions on pods by a label that they require.

A cluster has about as many conditions as workloads with affinity or spread constraints, and each
applies to the pods of only a few workloads. Most conditions require a label with a given value. A
pod is therefore checked only against the conditions that require one of its labels, and against
those that require none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeAlias, TypeVar

from policysched.cluster import count_column
from policysched.cluster.objects import selectors

ConditionT = TypeVar("ConditionT")

_Label: TypeAlias = tuple[str, str]


class CountColumnsByRequiredLabel(Generic[ConditionT]):
    """Conditions and their count columns, indexed by one required label of each condition."""

    def __init__(self) -> None:
        """Start without conditions."""
        self._by_label: dict[_Label, dict[count_column.CountColumn, ConditionT]] = {}
        self._others: dict[count_column.CountColumn, ConditionT] = {}
        self._labels: dict[count_column.CountColumn, tuple[_Label, ...]] = {}

    def add(
        self,
        column: count_column.CountColumn,
        condition: ConditionT,
        selector: selectors.Selector,
    ) -> None:
        """Add a condition that no pod meets unless `selector` selects it."""
        found = (_list_accepted_labels(r) for r in selector.requirements)
        # Index by the rarest requirement, so that pods have few candidates.
        labels = min(filter(None, found), key=self._count_columns_requiring, default=())
        self._labels[column] = labels
        if not labels:
            self._others[column] = condition
        for label in labels:
            self._by_label.setdefault(label, {})[column] = condition

    def remove(self, column: count_column.CountColumn) -> None:
        """Remove the condition of a column."""
        labels = self._labels.pop(column)
        if not labels:
            del self._others[column]
        for label in labels:
            conditions = self._by_label[label]
            del conditions[column]
            if not conditions:
                del self._by_label[label]

    def find_candidate_columns(
        self, labels: Mapping[str, str]
    ) -> Iterator[tuple[count_column.CountColumn, ConditionT]]:
        """Yield each condition that a pod with these labels can meet, preceded by its column."""
        yield from self._others.items()
        for label in labels.items():
            found = self._by_label.get(label)
            if found is not None:
                yield from found.items()

    def _count_columns_requiring(self, labels: tuple[_Label, ...]) -> int:
        """Return the number of conditions that are indexed by one of these labels."""
        return sum(len(self._by_label.get(label, ())) for label in labels)


def _list_accepted_labels(requirement: selectors.Requirement) -> tuple[_Label, ...]:
    """Return the labels that an `In` requirement accepts; () for other operators."""
    if requirement.operator is not selectors.LabelOperator.IN:
        return ()
    return tuple((requirement.key, value) for value in sorted(requirement.values))
