"""One attempt to place a binding: filter, score, select clusters, divide replicas.

Source: Karmada v1.18.2 `pkg/scheduler/core/generic_scheduler.go`.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Protocol, TypeAlias

from policysched import errors as policysched_errors
from policysched.karmada import cluster_matching, errors, interface, objects
from policysched.karmada.policies import cluster_scores
from policysched.karmada.steps import (
    assignment,
    candidates,
    capacity,
    component_sets,
    select_clusters,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from policysched.karmada.policies import cluster_policies
    from policysched.karmada.state import snapshot

Result: TypeAlias = "objects.Targets | errors.PlacementFailure"
Estimator: TypeAlias = (
    "Callable[[objects.BindingSpec, snapshot.ControlPlaneSnapshot, Sequence[int]], capacity.Room]"
)


class DecisionObserver(Protocol):
    """Measures the progress of a decision; see `measurements.BindingMeasurements`."""

    def decision_began(self) -> None:
        """Record the start of a decision."""
        ...

    def plugin_ended(self, plugin: str, point: str) -> None:
        """Record that a plugin has returned at the extension point."""
        ...

    def step_ended(self, step: str) -> None:
        """Record the end of the step `Filter`, `Score`, `Select` or `AssignReplicas`."""
        ...


class _NullObserver:
    def decision_began(self) -> None:
        pass

    def plugin_ended(self, plugin: str, point: str) -> None:
        pass

    def step_ended(self, step: str) -> None:
        pass


@dataclasses.dataclass(frozen=True)
class BindingAlgorithm:
    """Decides on bindings; keeps no state between two decisions.

    Attributes:
        plugins: the plugins, in call order.
        estimator: computes the available replicas of each cluster.
        with_empty_clusters: whether the result includes selected clusters without replicas
            (`--enable-empty-workload-propagation`).
        observer: receives the progress of decisions.
        places_sets: whether workloads with several components are placed as a whole (the gate
            MultiplePodTemplatesScheduling); if so, the estimator must count sets.
        policies: the cluster policies in force, or None; they filter and score after the plugins.
    """

    plugins: Sequence[interface.ClusterPlugin]
    estimator: Estimator = capacity.count_available_replicas
    with_empty_clusters: bool = False
    observer: DecisionObserver = dataclasses.field(default_factory=_NullObserver)
    policies: cluster_policies.ClusterPolicies | None = None
    places_sets: bool = False

    def copy_without_observer(self) -> BindingAlgorithm:
        """Return an algorithm that makes the same decisions without measuring them."""
        return dataclasses.replace(self, observer=_NullObserver())

    @functools.cached_property
    def filters(self) -> list[interface.ClusterFilterPlugin]:
        """The filters, in call order."""
        asked = (*self.plugins, *((self.policies,) if self.policies else ()))
        return [each for each in asked if isinstance(each, interface.ClusterFilterPlugin)]

    @functools.cached_property
    def scorers(self) -> list[interface.ClusterScorePlugin]:
        """The plugins that score; the scores of policies are computed separately."""
        return [each for each in self.plugins if isinstance(each, interface.ClusterScorePlugin)]

    def attempt_placement(
        self,
        request: interface.SchedulingRequest,
        clusters: snapshot.ControlPlaneSnapshot,
        *,
        afresh: bool,
    ) -> Result:
        """Return the clusters of the binding with their replicas, or the failure.

        Args:
            request: the binding with the affinity term of this attempt.
            clusters: all clusters.
            afresh: whether to ignore the current placement of replicas, because a reschedule was
                requested.

        Raises:
            PluginFailure: a plugin failed, or did not return a value for each cluster.
        """
        self.observer.decision_began()
        waits = self.policies.find_outage_failure(request, clusters) if self.policies else None
        if waits is not None:
            return waits
        reasons = self._find_refusal_reasons(request, clusters)
        self.observer.step_ended("Filter")
        feasible = [i for i, reason in enumerate(reasons) if reason == interface.PASSES]
        if not feasible:
            return errors.make_no_fit_failure(clusters.all_count, reasons)
        found = self.make_candidate_clusters(request, clusters, feasible)
        self.observer.step_ended("Score")
        needed = self.count_needed_replicas(request.spec)
        chosen = select_clusters.select_clusters_for_binding(
            found, request.spec, request.placement, needed
        )
        if isinstance(chosen, errors.PlacementFailure):
            return chosen.add_step_prefix("failed to select clusters")
        self.observer.step_ended("Select")
        shares = assignment.assign_replicas(chosen, request, afresh=afresh)
        if isinstance(shares, errors.PlacementFailure):
            return shares.add_step_prefix("failed to assign replicas")
        self.observer.step_ended("AssignReplicas")
        if self.with_empty_clusters:
            shares |= {c.name: 0 for c in chosen if c.name not in shares}
        return tuple(objects.TargetCluster(name=n, replicas=r) for n, r in shares.items())

    def count_needed_replicas(self, spec: objects.BindingSpec) -> int:
        """Return the required capacity of the selected clusters: all replicas, or one set."""
        is_whole = self.places_sets and component_sets.is_placed_in_one_cluster(spec)
        return 1 if is_whole else spec.replicas

    def _find_refusal_reasons(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[str]:
        """Return the reason of the first filter that excludes each cluster, or `PASSES`."""
        told: Sequence[str] = [interface.PASSES] * len(clusters.clusters)
        for plugin in self.filters:
            try:
                said = plugin.filter(request, clusters)
                told = [before or now for before, now in zip(told, said, strict=True)]
            except Exception as error:
                raise _make_plugin_failure(plugin, "Filter", error) from error
            self.observer.plugin_ended(plugin.name, "Filter")
        return told

    def make_candidate_clusters(
        self,
        request: interface.SchedulingRequest,
        clusters: snapshot.ControlPlaneSnapshot,
        feasible: Sequence[int],
    ) -> list[candidates.CandidateCluster]:
        """Return the clusters at the indices `feasible` with the values used for selection."""
        scores = self._score_clusters(request, clusters)
        judged = self._score_clusters_by_policies(request, clusters, feasible)
        rooms = self.estimator(request.spec, clusters, feasible)
        present: dict[str, int] = {}
        for target in request.spec.clusters:
            present.setdefault(target.name, target.replicas)
        return [
            candidates.CandidateCluster(
                cluster := clusters.clusters[i],
                scores[i] + judged.points[place],
                _get_overflow_tier(cluster, request),
                rooms[i],
                rooms[i] + present.get(cluster.metadata.name, 0),
                judged.votes[place] if judged.votes else None,
            )
            for place, i in enumerate(feasible)
        ]

    def _score_clusters(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[int]:
        """Return the sum of all plugins' scores for each cluster."""
        total = [0] * len(clusters.clusters)
        for plugin in self.scorers:
            try:
                points = plugin.score(request, clusters)
                total = [a + b for a, b in zip(total, points, strict=True)]
            except Exception as error:
                raise _make_plugin_failure(plugin, "Score", error) from error
            self.observer.plugin_ended(plugin.name, "Score")
        return total

    def _score_clusters_by_policies(
        self,
        request: interface.SchedulingRequest,
        clusters: snapshot.ControlPlaneSnapshot,
        feasible: Sequence[int],
    ) -> cluster_scores.ClusterScores:
        if self.policies is None:
            return cluster_scores.ClusterScores([0] * len(feasible), None)
        judged = self.policies.score_clusters(request, clusters, feasible)
        self.observer.plugin_ended(self.policies.name, "Score")
        return judged


def _make_plugin_failure(
    plugin: interface.ClusterPlugin, point: str, error: Exception
) -> policysched_errors.PluginFailure:
    problem = f"{type(error).__name__}: {error}"
    return policysched_errors.PluginFailure(plugin.name, point, problem)


_MATCHES_NO_TERM = 1000


def _get_overflow_tier(cluster: objects.Cluster, request: interface.SchedulingRequest) -> int:
    """Return the tier of a cluster: 0 for the affinity term, n for its nth overflow affinity.

    The first matching overflow affinity is used. The tier is 0 without affinity terms, and 1000
    if no affinity matches or the term of this attempt is unknown.

    Source: Karmada `spreadconstraint/group_clusters.go` (`getClusterOverflowOrder`).
    """
    placement = request.placement
    if placement.cluster_affinity is not None or not placement.cluster_affinities:
        return 0
    term = request.affinity_term
    if term is None:
        return _MATCHES_NO_TERM
    for order, affinity in enumerate((term, *(term.overflow_affinities or ()))):
        if cluster_matching.matches_cluster_affinity(cluster, affinity):
            return order
    return _MATCHES_NO_TERM
