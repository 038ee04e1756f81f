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

from policysched.cluster import columns, count_column, owner_selectors, pod_shape, snapshot
from policysched.framework import (
    apart,
    cycle_state,
    events,
    interface,
    kept_domains,
    status,
    status_table,
)
from policysched.plugins import (
    arguments,
    memo,
    names,
    pod_topology_spread_hints,
    spread_constraints,
)
from policysched.plugins.kernels import (
    domain_verdicts,
    domains,
    go_math,
    node_selection,
    spreading,
    tolerations,
)

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
        column: the pods that count, by row; None where none does.
        sums: the same by domain.
        has_outside: whether any row has no domain.
    """

    constraint: spread_constraints.Constraint
    nodes: domains.Domains
    joined: domains.Domains
    counted: domains.Domains
    eligible: columns.BoolArray
    column: count_column.CountColumn | None
    sums: domains.DomainSums
    has_outside: bool


_Remembered: TypeAlias = "tuple[_Spread, spreading.SpreadBefore]"


@dataclasses.dataclass(slots=True)
class _Spreads:
    """All constraints of one kind of a shape.

    Attributes:
        verdicts: what hard ones mean for nodes, once Filter was prepared.
    """

    each: list[_Spread]
    verdicts: domain_verdicts.DomainVerdicts | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class _ScoreState:
    """What Score and NormalizeScore need.

    Attributes:
        weights: one a constraint.
        is_ignored: bool (f,), feasible nodes that lack a topology key; None where none does.
    """

    spreads: list[_Spread]
    weights: list[float]
    is_ignored: columns.NodeMask | None


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
        self._has_hard_defaults = any(
            c.when_unsatisfiable == spread_constraints.HARD for c in self._defaults.constraints
        )
        self._domains = domains.DomainsByKey()
        self._constraints = {
            action: memo.ShapeMemo[tuple[spread_constraints.Constraint, ...]]()
            for action in (spread_constraints.HARD, spread_constraints.SOFT)
        }
        self._errors = {action: memo.ShapeMemo[str]() for action in self._constraints}
        self._spreads = {action: memo.ShapeMemo[_Spreads]() for action in self._constraints}
        missing = status.unresolvable(self.name, REASON_MISSING_LABEL)
        violated = status.unschedulable(self.name, REASON)
        self.answers = (status.SUCCESS, missing, violated)
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
    ) -> _Spreads | None:
        """Return the constraints of a shape, None where there are none."""
        constraints = self._of_shape(shape, action)
        if not constraints:
            return None
        stamp = (domains.stamp_of(snap), snap.counts, constraints, state.tolerations)
        memo_of = self._spreads[action]

        def make() -> _Spreads:
            return _Spreads(self._make_spreads(state.tolerations, shape, snap, constraints))

        return memo_of.get(shape, stamp, make, _are_current)

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
            joined = domains.joined(nodes, snap, constraint.topology_key)
            counted = joined.only(included)
            query = constraint.query
            column = None if query is None else snap.counts.matching(query)
            sums = domains.DomainSums(counted, [] if column is None else [(column, 1)])
            has_outside = not nodes.slots.all()
            made.append(
                _Spread(
                    constraint, nodes, joined, counted, counted.present(), column, sums, has_outside
                )
            )
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
        if not (self._has_hard_defaults or pod.shape.spec.topology_spread_constraints):
            return interface.SKIP_FILTER  # most pods; owners do not matter
        error = self._error(pod.shape, spread_constraints.HARD)
        if error:
            text = f"{_HARD_ERROR}: {error}"
            answer = status.Status(status.Code.ERROR, (text,), self.name)
            return interface.PreFilterResult(answer)
        spreads = self._spreads_of(state, pod.shape, snap, spread_constraints.HARD)
        if spreads is None:
            return interface.SKIP_FILTER
        self._hints.note(pod.shape, state.tolerations)
        state.write(self.name, _current_verdicts(spreads))
        return interface.ALL_NODES

    def verdicts(self, state: cycle_state.CycleState) -> domain_verdicts.DomainVerdicts:
        """Return what PreFilter has found out about all nodes."""
        return state.read(self.name, domain_verdicts.DomainVerdicts)

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes: that of the first constraint that fails."""
        del pod
        return self.verdicts(state).of_nodes(nodes.rows, self.answers)

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Keep the counts of all hard constraints."""
        spreads = self._spreads_of(state, pod.shape, snap, spread_constraints.HARD)
        each = [] if spreads is None else spreads.each
        state.write(f"{self.name}/apart", [(s, _before(s, snap)) for s in each])

    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes, as if only its own pods had changed.

        Source: `filtering.go`, updateWithPod and criticalPaths.
        """
        del pod
        ids = np.zeros(len(nodes), np.int16)
        for spread, before in state.read(f"{self.name}/apart", list[_Remembered]):
            ids = status_table.first_of(ids, _judged_apart(spread, before, nodes))
        return status.NodeStatuses(ids, list(self.answers))

    # --- score -----------------------------------------------------------------------------------

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Weigh the topologies by their size among the feasible nodes; skip without constraints."""
        error = self._error(pod.shape, spread_constraints.SOFT)
        if error:
            return status.Status(status.Code.ERROR, (f"{_SOFT_ERROR}: {error}",), self.name)
        found = self._spreads_of(state, pod.shape, nodes.snapshot, spread_constraints.SOFT)
        if found is None:
            return status.SKIP
        spreads = found.each
        is_ignored: columns.NodeMask | None = None
        lacking = [spread for spread in spreads if spread.has_outside]
        if lacking and self._needs_all_keys(pod.shape):
            is_ignored = np.zeros(len(nodes), np.bool_)
            for spread in lacking:
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
        parts = [
            _points(spread, weight, nodes)
            for spread, weight in zip(found.spreads, found.weights, strict=True)
        ]
        if len(parts) == 1:
            table, index = parts[0]
            raw = go_math.round_half_up(table).take(index)  # the table is the shorter one
        else:
            total = np.zeros(len(nodes))
            for table, index in parts:
                total += table.take(index)
            raw = go_math.round_half_up(total)
        if found.is_ignored is not None:
            raw[found.is_ignored] = 0
        return raw

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.IntArray
    ) -> columns.IntArray:
        """Return int64 (f,): most points for the fewest pods."""
        del pod
        found = state.read(f"{self.name}/score", _ScoreState)
        return spreading.fewest_first(scores, found.is_ignored)

    def score_at_once(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        nodes: snapshot.NodeView,
        factor: int,
    ) -> columns.IntArray | int | status.Status:
        """Return int64 (f,): what the three come to."""
        if not self._error(pod.shape, spread_constraints.SOFT):
            found = self._spreads_of(state, pod.shape, nodes.snapshot, spread_constraints.SOFT)
            if found is None:
                return status.SKIP
            if len(found.each) == 1 and _is_by_host(found.each[0]):
                return _host_points(found.each[0], nodes, factor)
        answer = self.pre_score(state, pod, nodes)
        if not answer.is_success:
            return answer
        return factor * self.normalize_score(state, pod, self.score(state, pod, nodes))

    # --- events ----------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Wait for matching pods that come or go, and for nodes that change domain."""
        return self._hints.registrations()


def _are_current(spreads: _Spreads) -> bool:
    """Return whether pods are counted still in all sums."""
    for spread in spreads.each:  # noqa: SIM110 - `all` of a generator takes three times as long
        if not spread.sums.is_current:
            return False
    return True


def _counts(spread: _Spread, snap: snapshot.Snapshot) -> columns.IntArray:
    """Return int64 (N,): the pods that the constraint counts, by row."""
    if spread.column is None:
        return np.zeros(snap.size, np.int64)
    return spread.column.by_row(snap.size)


def _current_verdicts(spreads: _Spreads) -> domain_verdicts.DomainVerdicts:
    """Return what hard constraints mean for nodes now; only where pods came or went it changes."""
    verdicts, is_new = spreads.verdicts, spreads.verdicts is None
    if verdicts is None:
        verdicts = domain_verdicts.DomainVerdicts([spread.nodes for spread in spreads.each])
        spreads.verdicts = verdicts
    for spread, table in zip(spreads.each, verdicts.tables, strict=True):
        if spread.sums.refresh() != [] or is_new:
            table.replace(_judged(spread))
    return verdicts


def _judged(spread: _Spread) -> npt.NDArray[np.int16]:
    """Return int16 (D + 1,): what each domain means for the pod, by sums that are up to date."""
    constraint = spread.constraint
    violating = spreading.violating_domains(
        spread.sums.table,
        spread.eligible,
        own=constraint.own,
        max_skew=constraint.max_skew,
        min_domains=constraint.min_domains,
    )
    table: npt.NDArray[np.int16] = violating * np.int16(_VIOLATES)
    table[0] = _LACKS_LABEL
    return table


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


def _size(spread: _Spread, nodes: snapshot.NodeView, is_ignored: columns.NodeMask | None) -> int:
    """Return how many domains the feasible nodes that are not ignored lie in.

    Every node is a domain of its own for the hostname, whatever its label says. Nodes without the
    label (they are ignored unless constraints are system defaults) make one domain together.
    """
    if spread.constraint.topology_key == spread_constraints.HOSTNAME:
        return len(nodes) - (0 if is_ignored is None else int(np.count_nonzero(is_ignored)))
    slots = spread.joined.slots[nodes.rows]
    if is_ignored is not None:
        slots = slots[~is_ignored]
    return int(np.count_nonzero(np.bincount(slots)))


def _is_by_host(spread: _Spread) -> bool:
    """Whether each node has a domain of its own, and pods are counted there."""
    is_host = spread.constraint.topology_key == spread_constraints.HOSTNAME
    return is_host and not spread.has_outside and spread.column is not None


def _host_points(spread: _Spread, nodes: snapshot.NodeView, factor: int) -> columns.IntArray | int:
    """Return int64 (n,): `factor` times the final points by a single constraint of that kind."""
    on_node = _counts(spread, nodes.snapshot)
    if not isinstance(nodes.rows, slice):
        on_node = on_node.take(nodes.rows)
    fewest, most = on_node.item(on_node.argmin()), on_node.item(on_node.argmax())
    weight = spreading.topology_weight(len(nodes))
    table = spreading.final_points(fewest, most, weight, spread.constraint.max_skew)
    if fewest == most:
        return table.item(most) * factor
    return (table * factor).take(on_node)


def _points(
    spread: _Spread, weight: float, nodes: snapshot.NodeView
) -> tuple[columns.FloatArray, npt.NDArray[np.intp]]:
    """Return points, float64 (k,), and which of them each node gets, intp (n,)."""
    constraint = spread.constraint
    if constraint.topology_key != spread_constraints.HOSTNAME:
        spread.sums.refresh()
        table = spreading.domain_points(spread.sums.table, weight, constraint.max_skew)
        table[0] = 0.0
        return table, spread.nodes.at(nodes.rows)
    on_node = _counts(spread, nodes.snapshot)
    if not isinstance(nodes.rows, slice):
        on_node = on_node.take(nodes.rows)
    most = on_node.item(on_node.argmax())
    if not spread.has_outside:
        return spreading.domain_points(np.arange(most + 1), weight, constraint.max_skew), on_node
    points = spreading.domain_points(np.arange(-1, most + 1), weight, constraint.max_skew)
    points[0] = 0.0
    index = on_node + 1
    index[spread.nodes.at(nodes.rows) == 0] = 0
    return points, index


if TYPE_CHECKING:
    _pre_filter: type[interface.PreFilterPlugin] = PodTopologySpread
    _filter: type[interface.FilterPlugin] = PodTopologySpread
    _verdicts: type[kept_domains.DomainFilterPlugin] = PodTopologySpread
    _apart: type[apart.ApartFilterPlugin] = PodTopologySpread
    _pre_score: type[interface.PreScorePlugin] = PodTopologySpread
    _score: type[interface.ScorePlugin] = PodTopologySpread
    _normalize: type[interface.AtOnceScorePlugin] = PodTopologySpread
    _events: type[interface.EventsPlugin] = PodTopologySpread
