"""PodTopologySpread: pods of a set evenly over the domains of a topology.

Sources: `plugins/podtopologyspread/filtering.go`, `scoring.go`, `plugin.go`. Where kube-scheduler
walks all placed pods for every pod, this reads a count column and sums it by topology domain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import columns, owner_selectors, pod_shape, snapshot
from policysched.framework import apart, cycle_state, events, interface, status
from policysched.plugins import (
    arguments,
    memo,
    names,
    pod_topology_spread_hints,
    spread_constraints,
)
from policysched.plugins.kernels import domains, go_math, node_selection, spreading, tolerations

REASON = "node(s) didn't match pod topology spread constraints"
REASON_MISSING_LABEL = f"{REASON} (missing required label)"

_PASSES, _LACKS_LABEL, _VIOLATES = 0, 1, 2
_HARD_ERROR = "get constraints from pod: obtaining pod's hard topology spread constraints"
_SOFT_ERROR = "calculating preScoreState: obtaining pod's soft topology spread constraints"


@dataclasses.dataclass(frozen=True, slots=True)
class _Spread:
    """A constraint and the nodes it is about; depends on nodes alone, not on pods.

    Attributes:
        nodes: domains of all nodes that have the label.
        joined: the same, nodes without the label counted as having the empty value, if any has.
        counted: the same without nodes whose pods do not count: those without all topology keys,
            and those that the node inclusion policies leave out.
        eligible: bool (D + 1,), domains with a counted node.
    """

    constraint: spread_constraints.Constraint
    nodes: domains.Domains
    joined: domains.Domains
    counted: domains.Domains
    eligible: columns.BoolArray


_Remembered: TypeAlias = "tuple[_Spread, spreading.SpreadBefore]"


@dataclasses.dataclass(frozen=True, slots=True)
class _FilterState:
    """One table a constraint: int16 (D + 1,), what each domain means for the pod."""

    tables: list[tuple[domains.Domains, npt.NDArray[np.int16]]]


@dataclasses.dataclass(frozen=True, slots=True)
class _ScoreState:
    """What Score and NormalizeScore need.

    Attributes:
        weights: one a constraint.
        is_ignored: bool (f,), feasible nodes that lack a topology key.
    """

    spreads: list[_Spread]
    weights: list[float]
    is_ignored: columns.NodeMask


class PodTopologySpread:
    """Rejects domains that would exceed maxSkew (DoNotSchedule), scores fewer pods higher."""

    name = names.POD_TOPOLOGY_SPREAD
    reads: ClassVar = interface.Reads.ANYTHING

    def __init__(
        self,
        owners: owner_selectors.OwnerSelectors,
        defaults: spread_constraints.Defaults | None = None,
    ) -> None:
        """Take where the selectors of default constraints come from, and those constraints."""
        self._owners = owners
        self._defaults = defaults or spread_constraints.Defaults()
        self._domains = domains.DomainsByKey()
        self._constraints = {
            action: memo.ShapeMemo[tuple[spread_constraints.Constraint, ...]]()
            for action in (spread_constraints.HARD, spread_constraints.SOFT)
        }
        self._errors = {action: memo.ShapeMemo[str]() for action in self._constraints}
        self._spreads = {action: memo.ShapeMemo[list[_Spread]]() for action in self._constraints}
        self._hints = pod_topology_spread_hints.Hints(self._hard)

    @classmethod
    def from_args(
        cls, args: arguments.Arguments, owners: owner_selectors.OwnerSelectors
    ) -> PodTopologySpread:
        """Return the plugin for `PodTopologySpreadArgs`."""
        given = arguments.decode(args, spread_constraints.PodTopologySpreadArgs)
        return cls(owners, spread_constraints.defaults_from(given))

    # --- constraints -----------------------------------------------------------------------------

    def _hard(self, shape: pod_shape.PodShape) -> tuple[spread_constraints.Constraint, ...]:
        return self._of_shape(shape, spread_constraints.HARD)

    def _of_shape(
        self, shape: pod_shape.PodShape, action: str
    ) -> tuple[spread_constraints.Constraint, ...]:
        return self._constraints[action].get(
            shape,
            self._owners.generation,
            lambda: spread_constraints.of_shape(shape, action, self._defaults, self._owners),
        )

    def _error(self, shape: pod_shape.PodShape, action: str) -> str:
        """Return what cannot be read in the constraints of a pod, "" for nothing."""
        if not shape.spec.topology_spread_constraints:
            return ""
        return self._errors[action].get(
            shape, None, lambda: spread_constraints.selector_error(shape, action)
        )

    def _spreads_of(
        self,
        state: cycle_state.CycleState,
        shape: pod_shape.PodShape,
        snap: snapshot.Snapshot,
        action: str,
    ) -> list[_Spread]:
        constraints = self._of_shape(shape, action)
        if not constraints:
            return []
        nodes = snap.nodes
        stamp = (nodes, nodes.node_changes.generation, snap.size, constraints, state.tolerations)
        return self._spreads[action].get(
            shape,
            stamp,
            lambda: self._make_spreads(state.tolerations, shape, snap, constraints),
        )

    def _make_spreads(
        self,
        own: tolerations.Tolerations,
        shape: pod_shape.PodShape,
        snap: snapshot.Snapshot,
        constraints: Sequence[spread_constraints.Constraint],
    ) -> list[_Spread]:
        everywhere = snap.all_rows()
        by_key = [self._domains.get(snap, c.topology_key) for c in constraints]
        matches_affinity = node_selection.required_mask(shape, everywhere)
        is_tolerated = tolerations.TaintSetTable(tolerations.repels, own).at(everywhere) == 0
        has_keys = snap.is_alive.copy()
        if self._needs_all_keys(shape):
            has_keys &= np.logical_and.reduce([d.slots > 0 for d in by_key])
        made = []
        for constraint, nodes in zip(constraints, by_key, strict=True):
            included = has_keys
            if constraint.honors_affinity:
                included = included & matches_affinity
            if constraint.honors_taints:
                included = included & is_tolerated
            joined = _joined(nodes, snap, constraint.topology_key)
            counted = joined.only(included)
            made.append(_Spread(constraint, nodes, joined, counted, counted.present()))
        return made

    def _needs_all_keys(self, shape: pod_shape.PodShape) -> bool:
        """Whether nodes without some topology key are left out.

        Under system defaults they are not: nodes without a zone still spread by hostname.
        """
        return bool(shape.spec.topology_spread_constraints) or not self._defaults.is_system

    # --- filter ----------------------------------------------------------------------------------

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Count matching pods by domain; skip pods without hard constraints."""
        self._hints.note(pod.shape, state.tolerations)
        error = self._error(pod.shape, spread_constraints.HARD)
        if error:
            text = f"{_HARD_ERROR}: {error}"
            answer = status.Status(status.Code.ERROR, (text,), self.name)
            return interface.PreFilterResult(answer)
        spreads = self._spreads_of(state, pod.shape, snap, spread_constraints.HARD)
        if not spreads:
            return interface.PreFilterResult(status.SKIP)
        state.write(self.name, _FilterState([_filter_table(s, snap) for s in spreads]))
        return interface.PreFilterResult()

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes: that of the first constraint that fails."""
        del pod
        ids = np.zeros(len(nodes), np.int16)
        for by_key, table in state.read(self.name, _FilterState).tables:
            ids = np.where(ids == _PASSES, table[by_key.slots[nodes.rows]], ids)
        return self._answers(ids)

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Keep the counts of all hard constraints."""
        spreads = self._spreads_of(state, pod.shape, snap, spread_constraints.HARD)
        state.write(f"{self.name}/apart", [(s, _before(s, snap)) for s in spreads])

    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes, as if only its own pods had changed.

        Source: `filtering.go`, updateWithPod and criticalPaths.
        """
        del pod
        ids = np.zeros(len(nodes), np.int16)
        for spread, before in state.read(f"{self.name}/apart", list[_Remembered]):
            ids = np.where(ids == _PASSES, _judged_apart(spread, before, nodes), ids)
        return self._answers(ids)

    def _answers(self, ids: npt.NDArray[np.int16]) -> status.NodeStatuses:
        missing = status.unresolvable(self.name, REASON_MISSING_LABEL)
        violated = status.unschedulable(self.name, REASON)
        return status.NodeStatuses(ids, [status.SUCCESS, missing, violated])

    # --- score -----------------------------------------------------------------------------------

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Weigh the topologies by their size among the feasible nodes; skip without constraints."""
        error = self._error(pod.shape, spread_constraints.SOFT)
        if error:
            return status.Status(status.Code.ERROR, (f"{_SOFT_ERROR}: {error}",), self.name)
        spreads = self._spreads_of(state, pod.shape, nodes.snapshot, spread_constraints.SOFT)
        if not spreads:
            return status.SKIP
        is_ignored = np.zeros(len(nodes), np.bool_)
        if self._needs_all_keys(pod.shape):
            for spread in spreads:
                is_ignored |= spread.nodes.slots[nodes.rows] == 0
        sizes = [_size(s, nodes, is_ignored) for s in spreads]
        weights = [spreading.topology_weight(size) for size in sizes]
        state.write(f"{self.name}/score", _ScoreState(spreads, weights, is_ignored))
        return status.SUCCESS

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): the rounded sum of the points of the node's domains."""
        del pod
        found = state.read(f"{self.name}/score", _ScoreState)
        total = np.zeros(len(nodes))
        for spread, weight in zip(found.spreads, found.weights, strict=True):
            total += _points(spread, weight, nodes)
        raw = go_math.round_half_up(total)
        raw[found.is_ignored] = 0
        return raw

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.IntArray
    ) -> columns.IntArray:
        """Return int64 (f,): most points for the fewest pods."""
        del pod
        found = state.read(f"{self.name}/score", _ScoreState)
        return spreading.fewest_first(scores, found.is_ignored)

    # --- events ----------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Wait for matching pods that come or go, and for nodes that change domain."""
        return self._hints.registrations()


def _joined(nodes: domains.Domains, snap: snapshot.Snapshot, key: str) -> domains.Domains:
    """Return the domains with nodes that lack the label in the one of the value "", if it exists.

    kube-scheduler reads an absent label as the empty value when it sums up for the score; the
    filter never counts nodes that lack one.
    """
    empty = snap.nodes.label(key).values.find("")
    if empty is None:
        return nodes
    return domains.Domains(np.where(nodes.slots > 0, nodes.slots, empty + 1), nodes.count)


def _counts(spread: _Spread, snap: snapshot.Snapshot) -> columns.IntArray:
    """Return int64 (N,): the pods that the constraint counts, by row."""
    query = spread.constraint.query
    if query is None:
        return np.zeros(snap.size, np.int64)
    return snap.counts.matching(query).by_row(snap.size)


def _filter_table(
    spread: _Spread, snap: snapshot.Snapshot
) -> tuple[domains.Domains, npt.NDArray[np.int16]]:
    constraint = spread.constraint
    violating = spreading.violating_domains(
        spread.counted.sums(_counts(spread, snap)),
        spread.eligible,
        own=constraint.own,
        max_skew=constraint.max_skew,
        min_domains=constraint.min_domains,
    )
    table = np.where(violating, _VIOLATES, _PASSES).astype(np.int16)
    table[0] = _LACKS_LABEL
    return spread.nodes, table


def _before(spread: _Spread, snap: snapshot.Snapshot) -> spreading.SpreadBefore:
    counted = domains.Counted(spread.counted, _counts(spread, snap))
    return spreading.SpreadBefore(counted, spread.eligible, spread.constraint.min_domains)


def _judged_apart(
    spread: _Spread, before: spreading.SpreadBefore, nodes: snapshot.NodeView
) -> npt.NDArray[np.int16]:
    """Return int16 (n,): what one constraint says if only the pods of the node had changed."""
    constraint = spread.constraint
    slots = spread.nodes.slots[nodes.rows]
    skew = before.skew(slots, _counts(spread, nodes.snapshot), nodes.rows)
    judged = np.where(skew + constraint.own > constraint.max_skew, _VIOLATES, _PASSES)
    judged[slots == 0] = _LACKS_LABEL
    return judged.astype(np.int16)


def _size(spread: _Spread, nodes: snapshot.NodeView, is_ignored: columns.NodeMask) -> int:
    """Return how many domains the feasible nodes that are not ignored lie in.

    Every node is a domain of its own for the hostname, whatever its label says. Nodes without the
    label (they are ignored unless constraints are system defaults) make one domain together.
    """
    if spread.constraint.topology_key == spread_constraints.HOSTNAME:
        return len(nodes) - int(np.count_nonzero(is_ignored))
    slots = spread.joined.slots[nodes.rows][~is_ignored]
    return int(np.count_nonzero(np.bincount(slots)))


def _points(spread: _Spread, weight: float, nodes: snapshot.NodeView) -> columns.FloatArray:
    """Return float64 (n,): what one constraint adds to the score of each node."""
    constraint = spread.constraint
    counts = _counts(spread, nodes.snapshot)
    slots = spread.nodes.slots[nodes.rows]
    if constraint.topology_key == spread_constraints.HOSTNAME:
        on_node = counts[nodes.rows].astype(np.float64)
        points = spreading.domain_points(on_node, weight, constraint.max_skew)
        return np.where(slots > 0, points, 0.0)
    table = spreading.domain_points(spread.counted.sums(counts), weight, constraint.max_skew)
    table[0] = 0.0
    return table[slots]


if TYPE_CHECKING:
    _pre_filter: type[interface.PreFilterPlugin] = PodTopologySpread
    _filter: type[interface.FilterPlugin] = PodTopologySpread
    _apart: type[apart.ApartFilterPlugin] = PodTopologySpread
    _pre_score: type[interface.PreScorePlugin] = PodTopologySpread
    _score: type[interface.ScorePlugin] = PodTopologySpread
    _normalize: type[interface.NormalizeScorePlugin] = PodTopologySpread
    _events: type[interface.EventsPlugin] = PodTopologySpread
