"""PodTopologySpread: spread pods evenly over topology domains.

Sources: `plugins/podtopologyspread/filtering.go`, `scoring.go`, `plugin.go`. kube-scheduler visits
all placed pods for every pod. This plugin reads a count column and sums it by topology domain
(`domain_sums`). `filtering` implements Filter and `scoring` implements Score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import owner_selectors, pod_shape
from policysched.framework import apart, cycle_state, events, interface, status
from policysched.framework.answers import status_table
from policysched.framework.filtering import domain_filters
from policysched.plugins import arguments, names
from policysched.plugins.kernels import domain_verdicts, go_math, spreading
from policysched.plugins.pod_topology_spread import (
    domain_sums,
    filtering,
    queueing_hints,
    scoring,
    spread_constraints,
)

REASON = "node(s) didn't match pod topology spread constraints"
REASON_MISSING_LABEL = f"{REASON} (missing required label)"

_HARD_ERROR = "get constraints from pod: obtaining pod's hard topology spread constraints"
_SOFT_ERROR = "calculating preScoreState: obtaining pod's soft topology spread constraints"


class PodTopologySpread:
    """Rejects domains that would exceed maxSkew (DoNotSchedule); scores emptier domains higher."""

    name = names.POD_TOPOLOGY_SPREAD
    reads: ClassVar = interface.Reads.ANYTHING

    def __init__(
        self,
        owners: owner_selectors.OwnerSelectors,
        defaults: spread_constraints.SpreadDefaults | None = None,
    ) -> None:
        """Apply `defaults` to pods without constraints, with selectors from `owners`."""
        defaults = defaults or spread_constraints.SpreadDefaults()
        self._has_hard_defaults = any(
            c.when_unsatisfiable == spread_constraints.HARD for c in defaults.constraints
        )
        self._spreads = spreads = domain_sums.SpreadConstraintsByShape(owners, defaults)
        missing = status.unresolvable(self.name, REASON_MISSING_LABEL)
        violated = status.unschedulable(self.name, REASON)
        self.answers = (status.SUCCESS, missing, violated)
        self._hints = queueing_hints.TopologySpreadHints(
            lambda shape: spreads.get_constraints(shape, spread_constraints.HARD)
        )

    @classmethod
    def from_args(
        cls, args: arguments.Arguments, owners: owner_selectors.OwnerSelectors
    ) -> PodTopologySpread:
        """Create the plugin from `PodTopologySpreadArgs`."""
        given = arguments.decode_arguments(args, spread_constraints.PodTopologySpreadArgs)
        return cls(owners, spread_constraints.make_spread_defaults(given))

    # --- filter ----------------------------------------------------------------------------------

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Count matching pods by domain; skip Filter for pods without hard constraints."""
        if not (self._has_hard_defaults or pod.shape.spec.topology_spread_constraints):
            return interface.SKIP_FILTER  # the common case; avoids the lookup of owners
        error = self._spreads.find_constraint_error(pod.shape, spread_constraints.HARD)
        if error:
            text = f"{_HARD_ERROR}: {error}"
            answer = status.Status(status.Code.ERROR, (text,), self.name)
            return interface.PreFilterResult(answer)
        spreads = self._spreads.get_constraint_set(state, pod.shape, snap, spread_constraints.HARD)
        if spreads is None:
            return interface.SKIP_FILTER
        self._hints.record_tolerations(pod.shape, state.tolerations)
        state.write(self.name, filtering.refresh_domain_verdicts(spreads))
        return interface.ALL_NODES

    def domain_tables(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Sequence[domain_filters.DomainTable]:
        """Return the verdicts of PreFilter by domain."""
        del pod, snap
        return state.read(self.name, domain_verdicts.DomainVerdicts).tables

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes, from the first violated constraint."""
        del pod
        verdicts = state.read(self.name, domain_verdicts.DomainVerdicts)
        return verdicts.of_nodes(nodes.rows, self.answers)

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the missing labels, or the domain and the counts that exceed maxSkew."""
        if reason not in (REASON, REASON_MISSING_LABEL):
            return ""
        found = self._spreads.get_constraint_set(
            state, pod.shape, node.snapshot, spread_constraints.HARD
        )
        each = [] if found is None else found.each
        texts = (filtering.format_skew_evidence(spread, node) for spread in each)
        return "; ".join(text for text in texts if text)

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Copy the counts of all hard constraints, for `filter_apart`."""
        spreads = self._spreads.get_constraint_set(state, pod.shape, snap, spread_constraints.HARD)
        each = [] if spreads is None else spreads.each
        state.write(f"{self.name}/apart", [filtering.copy_constraint_counts(s, snap) for s in each])

    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return the status of each of the n nodes as if only its own pods had changed.

        Source: `filtering.go`, updateWithPod and criticalPaths.
        """
        del pod
        ids = np.zeros(len(nodes), np.int16)
        for spread, before in state.read(f"{self.name}/apart", list[filtering.Remembered]):
            ids = status_table.first_of(
                ids, filtering.compute_what_if_verdicts(spread, before, nodes)
            )
        return status.NodeStatuses(ids, list(self.answers))

    # --- score -----------------------------------------------------------------------------------

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Weight topologies by their number of feasible domains; skip pods without constraints."""
        error = self._spreads.find_constraint_error(pod.shape, spread_constraints.SOFT)
        if error:
            return status.Status(status.Code.ERROR, (f"{_SOFT_ERROR}: {error}",), self.name)
        found = self._spreads.get_constraint_set(
            state, pod.shape, nodes.snapshot, spread_constraints.SOFT
        )
        if found is None:
            return status.SKIP
        spreads = found.each
        is_ignored: columns.NodeMask | None = None
        lacking = [spread for spread in spreads if spread.has_outside]
        if lacking and self._spreads.requires_all_topology_keys(pod.shape):
            is_ignored = np.zeros(len(nodes), np.bool_)
            for spread in lacking:
                is_ignored |= spread.nodes.slots[nodes.rows] == 0
        sizes = [scoring.count_feasible_domains(s, nodes, is_ignored) for s in spreads]
        weights = [spreading.topology_weight(size) for size in sizes]
        state.write(f"{self.name}/score", scoring.SpreadScoreState(spreads, weights, is_ignored))
        return status.SUCCESS

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): the sum of the raw scores of the node's domains, rounded."""
        del pod
        found = state.read(f"{self.name}/score", scoring.SpreadScoreState)
        parts = [
            scoring.compute_raw_score_table(spread, weight, nodes)
            for spread, weight in zip(found.spreads, found.weights, strict=True)
        ]
        if len(parts) == 1:
            table, index = parts[0]
            raw = go_math.round_half_up(table).take(index)  # the table is shorter than `nodes`
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
        """Return int64 (f,): scores from 0 to 100, with the highest for the fewest pods."""
        del pod
        found = state.read(f"{self.name}/score", scoring.SpreadScoreState)
        return spreading.fewest_first(scores, found.is_ignored)

    def score_at_once(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        nodes: snapshot.NodeView,
        factor: int,
    ) -> columns.IntArray | int | status.Status:
        """Run PreScore, Score and NormalizeScore; return `factor` times the scores, int64 (f,).

        A single number means that all scores are equal. If PreScore would not succeed, its status
        is returned.
        """
        if not self._spreads.find_constraint_error(pod.shape, spread_constraints.SOFT):
            found = self._spreads.get_constraint_set(
                state, pod.shape, nodes.snapshot, spread_constraints.SOFT
            )
            if found is None:
                return status.SKIP
            if len(found.each) == 1 and scoring.has_domain_per_node(found.each[0]):
                return scoring.score_hostname_constraint(found.each[0], nodes, factor)
        answer = self.pre_score(state, pod, nodes)
        if not answer.is_success:
            return answer
        return factor * self.normalize_score(state, pod, self.score(state, pod, nodes))

    # --- events ----------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for added and removed pods that match, and for changed nodes."""
        return self._hints.make_registrations()


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = PodTopologySpread
    _pre_filter: type[interface.PreFilterPlugin] = PodTopologySpread
    _filter: type[interface.FilterPlugin] = PodTopologySpread
    _by_domain: type[domain_filters.DomainFilterPlugin] = PodTopologySpread
    _apart: type[apart.ApartFilterPlugin] = PodTopologySpread
    _pre_score: type[interface.PreScorePlugin] = PodTopologySpread
    _score: type[interface.ScorePlugin] = PodTopologySpread
    _normalize: type[interface.AtOnceScorePlugin] = PodTopologySpread
    _events: type[interface.EventsPlugin] = PodTopologySpread
