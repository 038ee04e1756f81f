"""Apply cluster policies: filter after all plugins, score, and complete placements.

The weighted points of all rules that act on a binding are summed in hundredths, rounded down to
whole points, and added to the scores of plugins; for comparison, ClusterLocality gives 100 points
to current targets. As in the scheduling of pods, the sum is never averaged.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from policysched.compiler import compiler
from policysched.compiler.nodes import node_masks
from policysched.compiler.pods import scope
from policysched.compiler.rules import base, node_affinity, outage_hold, reject, score
from policysched.framework import cycle_state, status
from policysched.framework.scoring import score_table
from policysched.karmada import errors, interface
from policysched.karmada.plugins import present_targets
from policysched.karmada.policies import (
    binding_shapes,
    cluster_rows,
    cluster_scores,
    cluster_view,
    permitted_clusters,
    placement_completion,
)
from policysched.plugins import names as plugin_names

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from policysched import clock as clocks
    from policysched.cluster import snapshot as node_snapshots
    from policysched.cluster.columns import columns
    from policysched.cluster.metrics import metric_table, metric_windows
    from policysched.cluster.pods import pod_shape
    from policysched.framework import interface as node_interface
    from policysched.karmada import objects
    from policysched.karmada.state import snapshot
    from policysched.lang.checked import checked, checked_cluster

FilterRule: TypeAlias = "reject.Reject | node_affinity.RequiredNodeAffinity"

_MAX_NAMES = 4
_HASH_LENGTH = 8


class ClusterPolicies:
    """The cluster policies of one profile; created once and called for many bindings.

    Attributes:
        name: the name of this plugin in reports.
        profile_name: the schedulerName of the profile; None if the texts declare no profile.
        in_force: names of the policies, sorted.
        metrics: metrics to query; `refresh_samples` receives their samples.
        metric_readers: readers of the same metrics, for reports.
        window_seconds: lengths of the windows over metrics, keyed by metric;
            `backfill_samples` receives samples from before the first refresh.
    """

    name = plugin_names.POLICY

    def __init__(
        self,
        profile: checked.CheckedProfile,
        program: checked.CheckedProgram,
        clock: clocks.Clock,
        rows: cluster_rows.ClusterRows | None = None,
    ) -> None:
        """Compile the cluster policies of one of the program's profiles.

        Rules and samples depend on the time of `clock`. `rows` may come from previous policies;
        they are unchanged until `keep_only_needed_samples` is called.
        """
        as_rows = dataclasses.replace(
            profile, policies=profile.cluster_policies, metrics=profile.cluster_metrics
        )
        compiled = compiler.compile_program(dataclasses.replace(program, profiles=(as_rows,)))
        (self._compiled,) = compiled.profiles
        self.profile_name = profile.name
        self.metrics = profile.cluster_metrics
        self.window_seconds = {
            key: need.seconds for key, need in compiled.metric_needs.histories.items()
        }
        self._needs, self._next_metric_change = compiled.metric_needs, compiled.next_metric_change
        self.metric_readers = tuple(compiled.metric_parts.readers())
        self._rows = rows or cluster_rows.ClusterRows(clock)
        if rows is None:
            self.keep_only_needed_samples()
        self._shapes = binding_shapes.BindingPodInfoCache(compiled.annotation_keys)
        in_force = [each for each in profile.cluster_policies if each.mode == "enforce"]
        in_force.sort(key=lambda policy: policy.name)
        self.in_force = tuple(each.name for each in in_force)
        self._policies = [(each, scope.PolicyScope(each.scope)) for each in in_force]
        self._groups = {
            (each.name, group.name): (group, node_masks.lower(group.selector))
            for each in in_force
            for group in (each.clusters.groups if each.clusters else ())
        }
        plugins = self._compiled.plugins
        self._filters: list[FilterRule] = [
            each
            for each in plugins
            if isinstance(each, reject.Reject | node_affinity.RequiredNodeAffinity)
        ]
        # Sorted, so that the reported reason does not depend on the order of the texts.
        self._filters.sort(key=lambda rule: rule.head.name)
        self._scores = [each for each in plugins if isinstance(each, base.ScoreRule)]
        self._hold = next((p for p in plugins if isinstance(p, outage_hold.OutageHold)), None)

    def keep_only_needed_samples(self) -> None:
        """Drop the windows, hysteresis and recent placements that no rule needs."""
        self._rows.keep_only_needed_samples(self._needs)

    # --- input ------------------------------------------------------------------------------------

    def refresh_samples(self, metric: str, samples: Mapping[str, metric_table.Sample]) -> None:
        """Replace all samples of the metric with the key `metric`, keyed by cluster."""
        self._rows.refresh_samples(metric, samples)

    def backfill_samples(self, metric: str, older: metric_windows.OlderSamples) -> None:
        """Add older samples of the metric with the key `metric`, for windows over it."""
        self._rows.backfill_samples(metric, older)

    def find_next_rule_change(self, now: datetime.datetime) -> datetime.datetime | None:
        """Return the time at which a rule next begins or ceases to act, or None for never."""
        return self._compiled.next_change(now)

    def find_next_staleness(
        self, clusters: snapshot.ControlPlaneSnapshot
    ) -> datetime.datetime | None:
        """Return the time at which a sample next becomes stale, or None for never."""
        return self._next_metric_change(self._rows.take_snapshot_of_clusters(clusters))

    # --- answers ----------------------------------------------------------------------------------

    def complete_placement(
        self, binding: objects.Binding, clusters: snapshot.ControlPlaneSnapshot
    ) -> objects.Placement:
        """Return the binding's placement, completed by policies; the binding must have one."""
        placement = cast("objects.Placement", binding.spec.placement)
        concerned = self._find_selecting_policies(
            binding, self._rows.take_snapshot_of_clusters(clusters)
        )
        if not concerned:
            return placement
        shape = self._shapes.make_pod_info(binding).shape
        granted = self._compiled.tolerations(shape, self._rows.take_snapshot_of_clusters(clusters))
        return placement_completion.complete_placement(placement, concerned, granted)

    def find_outage_failure(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> errors.PlacementFailure | None:
        """Return the failure if the binding must wait for a metric (`onOutage hold`), or None."""
        if self._hold is None:
            return None
        shape = self._shapes.make_pod_info(request.binding).shape
        found = self._hold.outage_of(shape, self._rows.take_snapshot_of_clusters(clusters))
        if found is None:
            return None
        rule, samples = found
        return errors.PlacementFailure(
            "unschedulable",
            f"binding waits for metric {samples.metric.name}, which policy {rule.head.name} "
            f"reads: no cluster has a valid sample",
            is_held=True,
        )

    def filter(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[str]:
        """Return `PASSES`, or the reason for exclusion, for each of `clusters.clusters`.

        Like taints, `reject` does not apply to the binding's current targets.
        """
        told: Sequence[str] = [interface.PASSES] * len(clusters.clusters)
        for answer in self.iterate_filter_reasons(request, clusters):
            told = [before or now for before, now in zip(told, answer.reasons, strict=True)]
        return told

    def score_clusters(
        self,
        request: interface.SchedulingRequest,
        clusters: snapshot.ControlPlaneSnapshot,
        feasible: Sequence[int],
    ) -> cluster_scores.ClusterScores:
        """Return the scores of the clusters at the indices `feasible` of the snapshot.

        Scores that compare clusters compare only these clusters.
        """
        given = {
            rule.head.name: rule.weight * hundredths
            for rule, hundredths in self.iterate_score_points(request, clusters, feasible)
        }
        total = sum(given.values(), np.zeros(len(feasible), np.int64))
        return cluster_scores.ClusterScores(
            [int(each) for each in total // score_table.HUNDREDTHS],
            self._compute_division_votes(
                request, self._rows.take_snapshot_of_clusters(clusters), given
            ),
        )

    # --- answers of each rule ---------------------------------------------------------------------

    @property
    def rules(self) -> Sequence[node_interface.Plugin]:
        """The compiled rules; each implements the plugin interface."""
        return self._compiled.plugins

    def take_snapshot_of_clusters(
        self, clusters: snapshot.ControlPlaneSnapshot
    ) -> node_snapshots.Snapshot:
        """Return the columns in which rules see the clusters, with the samples of metrics."""
        return self._rows.take_snapshot_of_clusters(clusters)

    def iterate_placements(self) -> Iterator[tuple[str, checked_cluster.ClusterPlacement]]:
        """Yield the placement statements of each policy that has some, with its name."""
        for policy, _ in self._policies:
            if policy.clusters is not None:
                yield policy.name, policy.clusters

    def make_binding_view(
        self, binding: objects.Binding, clusters: snapshot.ControlPlaneSnapshot
    ) -> cluster_view.BindingView:
        """Return the binding and the clusters in the form that rules evaluate."""
        snap = self._rows.take_snapshot_of_clusters(clusters)
        return cluster_view.BindingView(
            self._shapes.make_pod_info(binding), snap, self._rows.find_rows(clusters)
        )

    def find_selecting_policies(
        self, binding: objects.Binding, clusters: snapshot.ControlPlaneSnapshot
    ) -> list[checked.CheckedPolicy]:
        """Return the policies whose scope contains the binding, ordered by name."""
        return self._find_selecting_policies(
            binding, self._rows.take_snapshot_of_clusters(clusters)
        )

    def iterate_filter_reasons(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Iterator[cluster_view.ClusterFilterReasons]:
        """Yield the reasons of each filter that acts on the binding, in order of precedence."""
        seen = self.make_binding_view(request.binding, clusters)
        nodes = seen.clusters
        outside = self._make_cluster_group_reasons(request, seen.snap, nodes)
        if outside is not None:
            yield outside
        for rule in self._filters:
            state = cycle_state.CycleState()
            if not rule.applies_to(state, seen.pod.shape, seen.snap):
                continue
            passes = rule.filter(state, seen.pod, nodes).passes
            said: Sequence[str] = [
                interface.PASSES if p else _make_refusal_reason(rule) for p in passes
            ]
            if isinstance(rule, reject.Reject):
                said = present_targets.exempt_present_targets(said, request, clusters)
            yield cluster_view.ClusterFilterReasons(base.rule_ref(rule.head), said)

    def describe_refusal(
        self, ref: status.RuleRef, seen: cluster_view.BindingView, place: int
    ) -> str:
        """Return the values behind the refusal of a cluster by a rule; "" for a clusterGroup."""
        rule = next((each for each in self._filters if base.rule_ref(each.head) == ref), None)
        if rule is None:
            return ""
        cluster = seen.select_clusters([place])
        reason = rule.rejected.reasons[0]
        return rule.evidence_on(cycle_state.CycleState(), seen.pod, cluster, reason)

    def iterate_score_points(
        self,
        request: interface.SchedulingRequest,
        clusters: snapshot.ControlPlaneSnapshot,
        feasible: Sequence[int],
    ) -> Iterator[tuple[base.ScoreRule, columns.IntArray]]:
        """Yield each score rule with its unweighted points in hundredths, int64 (f,).

        f is the number of clusters at the indices `feasible`.
        """
        seen = self.make_binding_view(request.binding, clusters)
        nodes = seen.select_clusters(feasible)
        for rule in self._scores:
            if rule.applies_to(cycle_state.CycleState(), seen.pod.shape, seen.snap):
                yield rule, _score_in_hundredths(rule, seen.pod, nodes)

    def find_permitted_clusters(
        self, binding: objects.Binding, clusters: snapshot.ControlPlaneSnapshot
    ) -> permitted_clusters.PermittedClusters:
        """Return the clusters that the rules permit now; current targets are not exempt."""
        snap = self._rows.take_snapshot_of_clusters(clusters)
        nodes = snap.view_rows(self._rows.find_rows(clusters))
        pod = self._shapes.make_pod_info(binding)
        passes = np.ones(len(nodes), np.bool_)
        for rule in self._filters:
            state = cycle_state.CycleState()
            if rule.applies_to(state, pod.shape, snap):
                passes &= rule.filter(state, pod, nodes).passes
        is_held = self._hold is not None and self._hold.outage_of(pod.shape, snap) is not None
        return permitted_clusters.PermittedClusters(is_held, self._rows.names, passes.tobytes())

    def format_policy_provenance(
        self, binding: objects.Binding, clusters: snapshot.ControlPlaneSnapshot
    ) -> str:
        """Return ` (policies: NAMES; HASH)` for the binding's policies, or "" without policies."""
        names = [
            each.name
            for each in self._find_selecting_policies(
                binding, self._rows.take_snapshot_of_clusters(clusters)
            )
        ]
        if not names:
            return ""
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        said = ", ".join(names[:_MAX_NAMES]) + more
        return f" (policies: {said}; {self._compiled.policy_hash[:_HASH_LENGTH]})"

    # --- parts ------------------------------------------------------------------------------------

    def _find_selecting_policies(
        self, binding: objects.Binding, snap: node_snapshots.Snapshot
    ) -> list[checked.CheckedPolicy]:
        """Return the policies whose scope contains the binding, ordered by name."""
        shape = self._shapes.make_pod_info(binding).shape
        namespaces = snap.counts.namespaces
        return [p for p, about in self._policies if about.selects(shape, namespaces)]

    def _make_cluster_group_reasons(
        self,
        request: interface.SchedulingRequest,
        snap: node_snapshots.Snapshot,
        nodes: node_snapshots.NodeView,
    ) -> cluster_view.ClusterFilterReasons | None:
        """Return reasons that exclude clusters outside this attempt's group, or None."""
        placement = cast("objects.Placement", request.spec.placement)
        grouping = placement_completion.find_cluster_group_policy(
            placement, self._find_selecting_policies(request.binding, snap)
        )
        group = grouping and self._groups.get((grouping.name, request.affinity_name))
        if not grouping or not group:
            return None
        said, inside = group
        reason = f"cluster(s) not in clusterGroup {grouping.name}/{said.name}"
        return cluster_view.ClusterFilterReasons(
            status.RuleRef(grouping.name, said.name, said.span.line),
            [interface.PASSES if each else reason for each in inside.mask(nodes)],
        )

    def _compute_division_votes(
        self,
        request: interface.SchedulingRequest,
        snap: node_snapshots.Snapshot,
        given: Mapping[str, columns.IntArray],
    ) -> Sequence[int] | None:
        """Return the weights for a division by score; None for other divisions."""
        scheduling = request.placement.replica_scheduling
        weights = scheduling.weight_preference if scheduling else None
        if weights is None or weights.dynamic_weight != placement_completion.BY_SCORE:
            return None
        dividing = placement_completion.find_replica_division_policy(
            self._find_selecting_policies(request.binding, snap)
        )
        said = dividing.clusters.division if dividing and dividing.clusters else None
        if dividing is None or said is None:
            return None
        own = [
            each.head.name
            for each in dividing.rules
            if said.rule in (None, each.head.statement_name)
        ]
        return [int(each) for each in _sum_points(given[name] for name in own if name in given)]


def make_cluster_policies(
    program: checked.CheckedProgram,
    scheduler_name: str | None,
    clock: clocks.Clock,
    rows: cluster_rows.ClusterRows | None = None,
) -> ClusterPolicies | None:
    """Return the cluster policies in force for a scheduler name, or None if there are none."""
    profile = find_cluster_profile(program, scheduler_name)
    return ClusterPolicies(profile, program, clock, rows) if profile else None


def find_cluster_profile(
    program: checked.CheckedProgram, scheduler_name: str | None
) -> checked.CheckedProfile | None:
    """Return the profile whose cluster policies are in force, or None if there is none.

    A profile is selected by name; a text without profiles has an implied profile. The name None
    selects the first profile with cluster policies.
    """
    for profile in program.profiles:
        is_meant = scheduler_name is None or profile.name in (None, scheduler_name)
        if is_meant and profile.cluster_policies:
            return profile
    return None


def _make_refusal_reason(rule: FilterRule) -> str:
    if rule.head.message:
        return rule.head.message
    said = "rejected by" if isinstance(rule, reject.Reject) else "didn't match"
    return f"cluster(s) {said} policy {rule.head.name}"


def _score_in_hundredths(
    rule: base.ScoreRule, pod: pod_shape.PodInfo, nodes: node_snapshots.NodeView
) -> columns.IntArray:
    """Return a rule's unweighted points in hundredths, int64 (f,).

    Relative scores compare only the f feasible clusters.
    """
    state = cycle_state.CycleState()
    raw = cast("node_interface.ScorePlugin", rule).score(state, pod, nodes)
    if isinstance(rule, score.RelativeScore):
        return rule.normalize_score(state, pod, raw)
    return cast("columns.IntArray", raw)


def _sum_points(each: Iterable[columns.IntArray]) -> Iterable[int]:
    rows = list(each)
    return cast("Iterable[int]", np.sum(rows, axis=0)) if rows else ()
