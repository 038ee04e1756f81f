"""Count the placed pods on each node that meet a condition, updated incrementally.

Affinity, anti-affinity and spread constraints all need the number of pods that meet a condition in
each topology domain. kube-scheduler visits all pods for every pod that it schedules. Here, each
condition in use has a `CountColumn` that is updated when a pod is added or removed, and a cycle
sums it by domain. There are two kinds of columns:

- *matching*: pods that a query selects (terms and constraints of incoming pods, policies);
- *owned*: pods that have a term themselves (their anti-affinity repels later pods, their
  preferred terms attract or repel them).

Placed pods are grouped by shape, so a query is evaluated once for each shape, not for each pod. The
labels that queries require are indexed on both sides: a new query is evaluated only for the shapes
that have its labels, and a new shape only for the queries that accept its labels.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter, OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol, TypeAlias

from policysched.cluster import count_column
from policysched.cluster.counters import count_columns_by_label, placed_shapes
from policysched.cluster.objects import selectors
from policysched.cluster.pods import pod_shape

_MAX_QUERIES = 1024
"""Rollouts create new queries (matchLabelKeys); the least recently used ones are dropped."""

NamespaceLabels: TypeAlias = Mapping[str, Mapping[str, str]]


class PodQuery(Hashable, Protocol):
    """A hashable condition on pods; equal queries share a column."""

    @property
    def counts_terminating(self) -> bool:
        """Whether terminating pods count."""
        ...

    @property
    def reads_namespace_labels(self) -> bool:
        """Whether the result depends on namespace labels."""
        ...

    @property
    def selector(self) -> selectors.Selector:
        """A selector that every counted pod matches; `selectors.EVERYTHING` if unknown."""
        ...

    def matches(self, shape: pod_shape.PodShape, namespaces: NamespaceLabels) -> bool:
        """Return whether pods of `shape` are counted."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class PodsMatchingAllTerms:
    """Pods that match all of some affinity terms.

    Required affinity counts only pods that match all terms together. Anti-affinity and preferred
    terms are queried one at a time.
    """

    terms: tuple[pod_shape.AffinityTerm, ...]
    counts_terminating = True

    @property
    def reads_namespace_labels(self) -> bool:
        """Whether a term selects namespaces by label."""
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
    """Non-terminating pods of one namespace that a selector matches (topology spread)."""

    namespace: str
    selector: selectors.Selector
    counts_terminating = False
    reads_namespace_labels = False

    def matches(self, shape: pod_shape.PodShape, namespaces: NamespaceLabels) -> bool:
        """Return whether a pod of `shape` is counted."""
        del namespaces
        return shape.namespace == self.namespace and self.selector.matches(shape.labels)


@dataclasses.dataclass(frozen=True, slots=True)
class HypotheticalPodsInNamespace:
    """Pods of one namespace that a what-if adds to a row, minus the pods that it removes.

    kube-scheduler counts in this way for a spread constraint with an empty selector: placed pods do
    not count, but pods that a what-if adds or removes do (`podtopologyspread/common.go`,
    countPodsMatchSelector, and `filtering.go`, updateWithPod).
    """

    namespace: str
    counts_terminating = True
    reads_namespace_labels = False
    selector = selectors.EVERYTHING

    def matches(self, shape: pod_shape.PodShape, namespaces: NamespaceLabels) -> bool:
        """Return whether a pod of `shape` counts when a what-if adds or removes it."""
        del namespaces
        return shape.namespace == self.namespace


class TermKind(enum.Enum):
    """The kinds of terms of placed pods that affect incoming pods."""

    REQUIRED_AFFINITY = enum.auto()
    REQUIRED_ANTI_AFFINITY = enum.auto()
    PREFERRED = enum.auto()


OwnedTerms: TypeAlias = dict[pod_shape.WeightedAffinityTerm, count_column.CountColumn]
_TermsByLabel = count_columns_by_label.CountColumnsByRequiredLabel[pod_shape.WeightedAffinityTerm]


class PodCounts:
    """All count columns, and the placed pods that they count."""

    def __init__(self) -> None:
        """Start without placed pods."""
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._placements = placed_shapes.PlacedShapes()
        self._queries: OrderedDict[PodQuery, count_column.CountColumn] = OrderedDict()
        self._queries_by_label = count_columns_by_label.CountColumnsByRequiredLabel[PodQuery]()
        self._owned: dict[TermKind, OwnedTerms] = {kind: {} for kind in TermKind}
        self._owned_by_label = {kind: _TermsByLabel() for kind in TermKind}
        self._owners: Counter[count_column.CountColumn] = Counter()
        self.owned_generation = 0
        """Increases when a term appears or disappears, but not when its count changes."""
        self.namespaces_generation = 0
        """Increases when the labels of a namespace change."""

    # --- pods -------------------------------------------------------------------------------------

    def add(self, info: pod_shape.PodInfo, row: int) -> None:
        """Count a placed pod on `row`."""
        placement = self._placements.by_index.get(info.shape.index)
        if placement is None:
            placement = self._add_placed_shape(info.shape)
        self._apply_pod_change(placement, row, 1, is_terminating=info.is_terminating)

    def remove(self, info: pod_shape.PodInfo, row: int) -> None:
        """Subtract a pod that `add` counted with the same `info`."""
        placement = self._placements.by_index[info.shape.index]
        self._apply_pod_change(placement, row, -1, is_terminating=info.is_terminating)
        self._drop_if_empty(placement)

    def suppose(self, pods: Sequence[tuple[pod_shape.PodInfo, int]], change: int) -> None:
        """Add (`change` 1) or subtract (-1) pods on rows, in a what-if.

        The caller must undo this with the opposite change. Terms that temporarily have no owner are
        kept, so that restoring a pod is cheap; see `forget_unplaced_shape`. Unlike in `add`,
        terminating pods count for `NonTerminatingPodsInNamespace`, as in kube-scheduler's PreFilter
        extensions (`podtopologyspread/filtering.go`, updateWithPod).
        """
        together: dict[tuple[pod_shape.PodShape, bool], list[int]] = {}
        for info, row in pods:
            together.setdefault((info.shape, info.is_terminating), []).append(row)
        for (shape, is_terminating), rows in together.items():
            placement = self._placements.by_index.get(shape.index)
            if placement is None:
                placement = self._add_placed_shape(shape)
            placement.change_row_counts(rows, change, is_terminating=is_terminating)
            for column in placement.list_what_if_columns(is_terminating=is_terminating):
                column.add_to_rows(rows, change)

    def forget_unplaced_shape(self, shape: pod_shape.PodShape) -> None:
        """Drop a shape that has no placed pods; call it after all what-if changes are undone."""
        placement = self._placements.by_index.get(shape.index)
        if placement is not None:
            self._drop_if_empty(placement)

    def _drop_if_empty(self, placement: placed_shapes.PlacedPodsOfShape) -> None:
        if placement.is_empty:
            self._placements.remove(placement)
            self._remove_owned_terms(placement.shape)

    def _apply_pod_change(
        self,
        placement: placed_shapes.PlacedPodsOfShape,
        row: int,
        change: int,
        *,
        is_terminating: bool,
    ) -> None:
        """Count a pod on a row (`change` 1) or subtract it (-1), in all columns of its shape."""
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

    def _add_placed_shape(self, shape: pod_shape.PodShape) -> placed_shapes.PlacedPodsOfShape:
        placement = placed_shapes.PlacedPodsOfShape(
            shape, {}, {}, self._add_owned_terms(shape), [], [], []
        )
        for column, query in self._queries_by_label.find_candidate_columns(shape.labels):
            if query.matches(shape, self._namespaces):
                _select_columns_for_query(placement, query).append(column)
        self._placements.add(placement)
        return placement

    # --- queries ----------------------------------------------------------------------------------

    def get_column(self, query: PodQuery) -> count_column.CountColumn:
        """Return the column of pods that match `query`; built on first use, then updated."""
        column = self._queries.get(query)
        if column is not None:
            self._queries.move_to_end(query)
            return column
        column = count_column.CountColumn()
        for placement in self._placements.find_candidates(query.selector):
            if query.matches(placement.shape, self._namespaces):
                _select_columns_for_query(placement, query).append(column)
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
        for placement in self._placements.find_candidates(query.selector):
            columns = _select_columns_for_query(placement, query)
            if any(c is column for c in columns):
                columns.remove(column)

    # --- terms of placed pods ---------------------------------------------------------------------

    @property
    def has_owned_terms(self) -> bool:
        """Whether any placed pod has a term that affects incoming pods."""
        return bool(self._owners)

    def get_term_owner_counts(self, kind: TermKind) -> OwnedTerms:
        """Return each distinct term of placed pods, with the number of its owners on each row.

        Required terms have weight 1.
        """
        return self._owned[kind]

    def find_terms_matching_incoming_pod(
        self, kind: TermKind, shape: pod_shape.PodShape
    ) -> list[tuple[pod_shape.WeightedAffinityTerm, count_column.CountColumn]]:
        """Return the terms of placed pods that match an incoming pod, with their columns."""
        namespace_labels = self._namespaces.get(shape.namespace, {})
        return [
            (owned, column)
            for column, owned in self._owned_by_label[kind].find_candidate_columns(shape.labels)
            if owned.term.matches_incoming_pod(shape.namespace, shape.labels, namespace_labels)
        ]

    def _add_owned_terms(self, shape: pod_shape.PodShape) -> list[count_column.CountColumn]:
        """Register a shape as owner of its terms; return the columns of these terms."""
        columns = []
        for kind, term in _list_terms_affecting_incoming_pods(shape):
            column = self._owned[kind].get(term)
            if column is None:
                column = self._owned[kind][term] = count_column.CountColumn()
                self._owned_by_label[kind].add(column, term, term.term.selector)
                self.owned_generation += 1
            self._owners[column] += 1
            columns.append(column)
        return columns

    def _remove_owned_terms(self, shape: pod_shape.PodShape) -> None:
        for kind, term in _list_terms_affecting_incoming_pods(shape):
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
        """Set the labels of a namespace, or remove the namespace if None.

        Columns that depend on namespace labels are dropped, and rebuilt on their next use.
        """
        if self._namespaces.get(name) == labels:
            return
        if labels is None:
            del self._namespaces[name]
        else:
            self._namespaces[name] = labels
        for query in [q for q in self._queries if q.reads_namespace_labels]:
            self._forget_column(query)
        self.namespaces_generation += 1


def _select_columns_for_query(
    placement: placed_shapes.PlacedPodsOfShape, query: PodQuery
) -> list[count_column.CountColumn]:
    if isinstance(query, HypotheticalPodsInNamespace):
        return placement.supposed_columns
    if query.counts_terminating:
        return placement.columns
    is_spread = isinstance(query, NonTerminatingPodsInNamespace)
    return placement.spread_columns if is_spread else placement.live_only_columns


def _add_placed_pods_to_column(
    column: count_column.CountColumn, placement: placed_shapes.PlacedPodsOfShape, query: PodQuery
) -> None:
    if isinstance(query, HypotheticalPodsInNamespace):
        return
    for row, count in placement.live_rows.items():
        column.add(row, count)
    if query.counts_terminating:
        for row, count in placement.terminating_rows.items():
            column.add(row, count)


def _list_terms_affecting_incoming_pods(
    shape: pod_shape.PodShape,
) -> list[tuple[TermKind, pod_shape.WeightedAffinityTerm]]:
    """Return the terms through which placed pods of `shape` affect incoming pods, with repeats."""
    weighted = pod_shape.WeightedAffinityTerm
    required = [(TermKind.REQUIRED_AFFINITY, weighted(t, 1)) for t in shape.affinity_terms]
    repelling = [
        (TermKind.REQUIRED_ANTI_AFFINITY, weighted(t, 1)) for t in shape.anti_affinity_terms
    ]
    preferred = [(TermKind.PREFERRED, t) for t in shape.preferred_terms]
    return required + repelling + preferred
