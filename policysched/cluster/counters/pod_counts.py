"""How many placed pods of some kind each node holds, kept incrementally.

Affinity, anti-affinity and spread all ask the same question: how many pods that satisfy some
condition lie in each topology domain? kube-scheduler walks all pods for every pod it schedules;
here each condition in use has a `CountColumn` that follows single additions and removals, and a
cycle sums it by domain. Two kinds of columns:

- *matching*: pods that a query selects (the terms and constraints of incoming pods, policies);
- *owned*: pods that carry a term themselves (anti-affinity repels later pods, preferred terms
  attract or repel them).

Placed pods are grouped by shape: a query is decided once per shape, not once per pod.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter, OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol, TypeAlias

from policysched.cluster import count_column
from policysched.cluster.counters import count_columns_by_label
from policysched.cluster.objects import selectors
from policysched.cluster.pods import pod_shape

_MAX_QUERIES = 1024
"""Queries minted by rollouts (matchLabelKeys) are forgotten least recently used first."""

NamespaceLabels: TypeAlias = Mapping[str, Mapping[str, str]]


class PodQuery(Hashable, Protocol):
    """A hashable condition on pods; equal queries share one column."""

    @property
    def counts_terminating(self) -> bool:
        """Whether pods that are being deleted count."""
        ...

    @property
    def reads_namespace_labels(self) -> bool:
        """Whether the answer depends on labels of namespaces."""
        ...

    @property
    def selector(self) -> selectors.Selector:
        """What labels of all counted pods satisfy, `selectors.EVERYTHING` where that is unknown."""
        ...

    def matches(self, shape: pod_shape.PodShape, namespaces: NamespaceLabels) -> bool:
        """Return whether pods of `shape` are counted."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class PodsMatchingAllTerms:
    """Pods that match every one of some affinity terms.

    Required affinity counts only pods that match all terms together; anti-affinity and preferred
    terms are asked one at a time.
    """

    terms: tuple[pod_shape.AffinityTerm, ...]
    counts_terminating = True

    @property
    def reads_namespace_labels(self) -> bool:
        """Whether any term selects namespaces by label."""
        return any(t.namespace_selector is not None for t in self.terms)

    @property
    def selector(self) -> selectors.Selector:
        """The selector of the first term."""
        return self.terms[0].selector if self.terms else selectors.EVERYTHING

    def matches(self, shape: pod_shape.PodShape, namespaces: NamespaceLabels) -> bool:
        """Return whether a pod of `shape` matches all terms."""
        labels = namespaces.get(shape.namespace)
        return all(t.matches(shape.namespace, shape.labels, labels) for t in self.terms)


@dataclasses.dataclass(frozen=True, slots=True)
class NonTerminatingPodsInNamespace:
    """Running pods of one namespace that a selector matches (topology spread)."""

    namespace: str
    selector: selectors.Selector
    counts_terminating = False
    reads_namespace_labels = False

    def matches(self, shape: pod_shape.PodShape, namespaces: NamespaceLabels) -> bool:
        """Return whether a pod of `shape` is counted."""
        del namespaces
        return shape.namespace == self.namespace and self.selector.matches(shape.labels)


@dataclasses.dataclass(frozen=True, slots=True)
class SupposedPodsInNamespace:
    """Pods of one namespace that are supposed to be on a row, less those supposed to have left.

    So kube-scheduler counts for a spread constraint with an empty selector: no placed pod counts,
    but what comes and goes in a what-if question does (`podtopologyspread/common.go`,
    countPodsMatchSelector, and `filtering.go`, updateWithPod).
    """

    namespace: str
    counts_terminating = True
    reads_namespace_labels = False
    selector = selectors.EVERYTHING

    def matches(self, shape: pod_shape.PodShape, namespaces: NamespaceLabels) -> bool:
        """Return whether a pod of `shape` counts when it is supposed to come or go."""
        del namespaces
        return shape.namespace == self.namespace


class TermKind(enum.Enum):
    """Which terms of placed pods act on later pods."""

    REQUIRED_AFFINITY = enum.auto()
    REQUIRED_ANTI_AFFINITY = enum.auto()
    PREFERRED = enum.auto()


@dataclasses.dataclass(slots=True)
class _PlacedShape:
    """The placed pods of one shape, and the columns in which they count.

    Attributes:
        columns: those that count pods which are being deleted.
        spread_columns, live_only_columns: those that do not: of `NonTerminatingPodsInNamespace`,
            and all others.
        supposed_columns: those of `SupposedPodsInNamespace`.
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
        return not self.live_rows and not self.terminating_rows

    def shift_counts(self, rows: Sequence[int], change: int, *, is_terminating: bool) -> None:
        by_row = self.terminating_rows if is_terminating else self.live_rows
        for row in rows:
            by_row[row] = by_row.get(row, 0) + change
            if by_row[row] == 0:
                del by_row[row]

    def list_supposed_columns(self, *, is_terminating: bool) -> list[count_column.CountColumn]:
        """Return the columns in which pods count that are supposed to come or go."""
        found = self.columns + self.spread_columns + self.supposed_columns
        return found if is_terminating else found + self.live_only_columns


OwnedTerms: TypeAlias = dict[pod_shape.WeightedAffinityTerm, count_column.CountColumn]
_TermsByLabel = count_columns_by_label.CountColumnsByRequiredLabel[pod_shape.WeightedAffinityTerm]


class PodCounts:
    """All count columns, and the placed pods they are made of."""

    def __init__(self) -> None:
        """Start with no pod placed."""
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._placements: dict[int, _PlacedShape] = {}
        self._queries: OrderedDict[PodQuery, count_column.CountColumn] = OrderedDict()
        self._queries_by_label = count_columns_by_label.CountColumnsByRequiredLabel[PodQuery]()
        self._owned: dict[TermKind, OwnedTerms] = {kind: {} for kind in TermKind}
        self._owned_by_label = {kind: _TermsByLabel() for kind in TermKind}
        self._owners: Counter[count_column.CountColumn] = Counter()
        self.owned_generation = 0
        """Grows when a term appears or disappears (not when its count changes)."""
        self.namespaces_generation = 0
        """Grows when labels of a namespace change."""

    # --- pods -------------------------------------------------------------------------------------

    def add(self, info: pod_shape.PodInfo, row: int) -> None:
        """Count a placed pod on `row`."""
        placement = self._placements.get(info.shape.index)
        if placement is None:
            placement = self._add_placed_shape(info.shape)
        self._apply_pod_change(placement, row, 1, is_terminating=info.is_terminating)

    def remove(self, info: pod_shape.PodInfo, row: int) -> None:
        """Take back what `add` counted for the same `info`."""
        placement = self._placements[info.shape.index]
        self._apply_pod_change(placement, row, -1, is_terminating=info.is_terminating)
        self._drop_if_empty(placement)

    def suppose(self, pods: Sequence[tuple[pod_shape.PodInfo, int]], change: int) -> None:
        """Count pods on rows once more (1) or once less (-1), until the opposite is supposed.

        What nobody owns in between stays, so that coming back costs nothing; see `settle`. Pods
        that are being deleted count for `NonTerminatingPodsInNamespace` here, though they did not
        before: so do kube-scheduler's extensions of PreFilter (`podtopologyspread/filtering.go`,
        updateWithPod).
        """
        together: dict[tuple[pod_shape.PodShape, bool], list[int]] = {}
        for info, row in pods:
            together.setdefault((info.shape, info.is_terminating), []).append(row)
        for (shape, is_terminating), rows in together.items():
            placement = self._placements.get(shape.index)
            if placement is None:
                placement = self._add_placed_shape(shape)
            placement.shift_counts(rows, change, is_terminating=is_terminating)
            for column in placement.list_supposed_columns(is_terminating=is_terminating):
                column.add_to_rows(rows, change)

    def forget_unplaced_shape(self, shape: pod_shape.PodShape) -> None:
        """Forget a shape if no pod of it is placed, now that nothing is supposed any more."""
        placement = self._placements.get(shape.index)
        if placement is not None:
            self._drop_if_empty(placement)

    def _drop_if_empty(self, placement: _PlacedShape) -> None:
        if placement.is_empty:
            del self._placements[placement.shape.index]
            self._remove_owned_terms(placement.shape)

    def _apply_pod_change(
        self, placement: _PlacedShape, row: int, change: int, *, is_terminating: bool
    ) -> None:
        by_row = placement.terminating_rows if is_terminating else placement.live_rows
        count = by_row.get(row, 0) + change
        if count:
            by_row[row] = count
        else:
            del by_row[row]
        for column in placement.columns:
            column.add(row, change)
        if not is_terminating:
            for column in placement.spread_columns:
                column.add(row, change)
            for column in placement.live_only_columns:
                column.add(row, change)

    def _add_placed_shape(self, shape: pod_shape.PodShape) -> _PlacedShape:
        placement = _PlacedShape(shape, {}, {}, self._add_owned_terms(shape), [], [], [])
        for column, query in self._queries_by_label.find_candidate_columns(shape.labels):
            if query.matches(shape, self._namespaces):
                _list_counting_columns(placement, query).append(column)
        self._placements[shape.index] = placement
        return placement

    # --- queries ----------------------------------------------------------------------------------

    def get_column(self, query: PodQuery) -> count_column.CountColumn:
        """Return the column of the pods that `query` selects; counted on first use, then kept."""
        column = self._queries.get(query)
        if column is not None:
            self._queries.move_to_end(query)
            return column
        column = count_column.CountColumn()
        for placement in self._placements.values():
            if query.matches(placement.shape, self._namespaces):
                _list_counting_columns(placement, query).append(column)
                _add_placed_pods_to_column(column, placement, query)
        self._queries[query] = column
        self._queries_by_label.add(column, query, query.selector)
        if len(self._queries) > _MAX_QUERIES:
            self._forget_column(next(iter(self._queries)))
        return column

    def _forget_column(self, query: PodQuery) -> None:
        column = self._queries.pop(query)
        self._queries_by_label.remove(column)
        column.is_current = False
        for placement in self._placements.values():
            columns = _list_counting_columns(placement, query)
            if any(c is column for c in columns):
                columns.remove(column)

    # --- terms of placed pods ---------------------------------------------------------------------

    def get_terms_of_placed_pods(self, kind: TermKind) -> OwnedTerms:
        """Return, for each distinct term of placed pods, where the pods that carry it are.

        Required terms have weight 1.
        """
        return self._owned[kind]

    def find_terms_acting_on(
        self, kind: TermKind, shape: pod_shape.PodShape
    ) -> list[tuple[pod_shape.WeightedAffinityTerm, count_column.CountColumn]]:
        """Return those of `owned` that mean pods of `shape`."""
        namespace_labels = self._namespaces.get(shape.namespace, {})
        return [
            (owned, column)
            for column, owned in self._owned_by_label[kind].find_candidate_columns(shape.labels)
            if owned.term.matches_incoming_pod(shape.namespace, shape.labels, namespace_labels)
        ]

    def _add_owned_terms(self, shape: pod_shape.PodShape) -> list[count_column.CountColumn]:
        columns = []
        for kind, term in _list_acting_terms(shape):
            column = self._owned[kind].get(term)
            if column is None:
                column = self._owned[kind][term] = count_column.CountColumn()
                self._owned_by_label[kind].add(column, term, term.term.selector)
                self.owned_generation += 1
            self._owners[column] += 1
            columns.append(column)
        return columns

    def _remove_owned_terms(self, shape: pod_shape.PodShape) -> None:
        for kind, term in _list_acting_terms(shape):
            column = self._owned[kind][term]
            self._owners[column] -= 1
            if not self._owners[column]:
                del self._owners[column], self._owned[kind][term]
                self._owned_by_label[kind].remove(column)
                self.owned_generation += 1

    # --- namespaces -------------------------------------------------------------------------------

    @property
    def namespaces(self) -> NamespaceLabels:
        """Labels of every known namespace."""
        return self._namespaces

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """Set the labels of a namespace, None when it is gone; affected columns are recounted."""
        if self._namespaces.get(name) == labels:
            return
        if labels is None:
            del self._namespaces[name]
        else:
            self._namespaces[name] = labels
        for query in [q for q in self._queries if q.reads_namespace_labels]:
            self._forget_column(query)
        self.namespaces_generation += 1


def _list_counting_columns(
    placement: _PlacedShape, query: PodQuery
) -> list[count_column.CountColumn]:
    if isinstance(query, SupposedPodsInNamespace):
        return placement.supposed_columns
    if query.counts_terminating:
        return placement.columns
    is_spread = isinstance(query, NonTerminatingPodsInNamespace)
    return placement.spread_columns if is_spread else placement.live_only_columns


def _add_placed_pods_to_column(
    column: count_column.CountColumn, placement: _PlacedShape, query: PodQuery
) -> None:
    if isinstance(query, SupposedPodsInNamespace):
        return
    for row, count in placement.live_rows.items():
        column.add(row, count)
    if query.counts_terminating:
        for row, count in placement.terminating_rows.items():
            column.add(row, count)


def _list_acting_terms(
    shape: pod_shape.PodShape,
) -> list[tuple[TermKind, pod_shape.WeightedAffinityTerm]]:
    """Return the terms with which placed pods of `shape` act on later pods, with repeats."""
    weighted = pod_shape.WeightedAffinityTerm
    required = [(TermKind.REQUIRED_AFFINITY, weighted(t, 1)) for t in shape.affinity_terms]
    repelling = [
        (TermKind.REQUIRED_ANTI_AFFINITY, weighted(t, 1)) for t in shape.anti_affinity_terms
    ]
    preferred = [(TermKind.PREFERRED, t) for t in shape.preferred_terms]
    return required + repelling + preferred
