"""Explain a decision: the result of every filter and score for every cluster, and the steps.

The decision is made as usual (`decide_binding`). Then each of its attempts is evaluated again with
all filters, including filters that the decision did not need.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from policysched.framework.scoring import score_table
from policysched.karmada import errors, interface
from policysched.karmada.explaining import step_reports
from policysched.karmada.policies import placement_completion
from policysched.karmada.steps import binding_decision, select_clusters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from policysched.compiler.rules import base
    from policysched.framework import status
    from policysched.karmada import objects
    from policysched.karmada.state import snapshot
    from policysched.karmada.steps import algorithm as algorithms
    from policysched.karmada.steps import candidates
    from policysched.lang.checked import checked


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterRefusal:
    """The reason why a cluster cannot take a binding.

    Attributes:
        plugin: the plugin that excludes the cluster; `Policy` for rules and groups of policies.
        reason: the reason that the plugin or the policy gives.
        ref: the rule or group of a policy; None for a plugin.
    """

    plugin: str
    reason: str
    ref: status.RuleRef | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterPoints:
    """The score of one plugin, or of one rule of a policy, for a cluster.

    Attributes:
        by: name of the plugin, or `POLICY/RULE`.
        weight: factor by which the points are multiplied.
        hundredths: hundredths of points, without the weight.
        rule: the rule of a policy; None for a plugin.
    """

    by: str
    weight: int
    hundredths: int
    rule: base.ScoreRule | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ExplainedAttempt:
    """One attempt with the results of all plugins and rules.

    Attributes:
        request: the binding, with the affinity term of the attempt.
        refusals: refusals in order of precedence, keyed by cluster; empty for a cluster that
            passes.
        ranked: the clusters that pass, best first.
        points: points of each plugin and rule, keyed by cluster, for the clusters that pass.
        selection: how clusters were selected, or None if the selection failed.
        division: how replicas were divided, or None if the selection failed.
        result: the clusters with their replicas, or the failure.
    """

    request: interface.SchedulingRequest
    refusals: Mapping[str, Sequence[ClusterRefusal]]
    ranked: Sequence[candidates.CandidateCluster]
    points: Mapping[str, Sequence[ClusterPoints]]
    selection: step_reports.ClusterSelectionReport | None
    division: step_reports.ReplicaDivisionReport | None
    result: algorithms.Result


@dataclasses.dataclass(frozen=True, slots=True)
class BindingExplanation:
    """A decision and its reasons.

    Attributes:
        attempts: the attempts in order; the last attempt counts if it succeeded, else the first.
        about: the policies whose scope contains the binding, ordered by name.
        added: names of the policies that complete the placement, keyed by statement.
    """

    binding: objects.Binding
    decision: binding_decision.BindingDecision
    attempts: Sequence[ExplainedAttempt]
    about: Sequence[checked.CheckedPolicy] = ()
    added: Mapping[str, str] = dataclasses.field(default_factory=dict)


def explain_binding(
    algorithm: algorithms.BindingAlgorithm,
    binding: objects.Binding,
    clusters: snapshot.ControlPlaneSnapshot,
) -> BindingExplanation:
    """Return the decision about a binding, and the reasons for it."""
    decision = binding_decision.decide_binding(algorithm, binding, clusters)
    planned = binding_decision.list_placement_attempts(algorithm, binding, clusters)
    if isinstance(planned, errors.PlacementFailure):
        return BindingExplanation(binding, decision, ())
    is_placed = not isinstance(decision.result, errors.PlacementFailure)
    made = planned[: len(decision.failed_terms) + is_placed] or planned[:1]
    attempts = [_explain_binding_attempt(algorithm, request, clusters) for request in made]
    policies, own = algorithm.policies, binding.spec.placement
    if policies is None or own is None:
        return BindingExplanation(binding, decision, attempts)
    about = policies.find_selecting_policies(binding, clusters)
    return BindingExplanation(
        binding,
        decision,
        attempts,
        about,
        placement_completion.list_placement_additions(own, about),
    )


def _explain_binding_attempt(
    algorithm: algorithms.BindingAlgorithm,
    request: interface.SchedulingRequest,
    clusters: snapshot.ControlPlaneSnapshot,
) -> ExplainedAttempt:
    """Evaluate one attempt with all filters and scores, and report its steps."""
    afresh = binding_decision.is_reschedule_requested(request.binding)
    refusals = _collect_refusals(algorithm, request, clusters)
    names = [each.metadata.name for each in clusters.clusters]
    feasible = [place for place, name in enumerate(names) if not refusals[name]]
    found = algorithm.make_candidate_clusters(request, clusters, feasible)
    result = algorithm.attempt_placement(request, clusters, afresh=afresh)
    needed = algorithm.count_needed_replicas(request.spec)
    chosen = (
        select_clusters.select_clusters_for_binding(found, request.spec, request.placement, needed)
        if found
        else ()
    )
    selection = division = None
    if chosen and not isinstance(chosen, errors.PlacementFailure):
        selection = step_reports.report_cluster_selection(request, chosen)
        division = step_reports.report_replica_division(request, chosen, afresh=afresh)
    return ExplainedAttempt(
        request,
        refusals,
        sorted(found, key=lambda candidate: candidate.sort_key),
        _collect_points(algorithm, request, clusters, feasible),
        selection,
        division,
        result,
    )


def _collect_refusals(
    algorithm: algorithms.BindingAlgorithm,
    request: interface.SchedulingRequest,
    clusters: snapshot.ControlPlaneSnapshot,
) -> dict[str, list[ClusterRefusal]]:
    """Return the refusals of all filters and policies, keyed by cluster."""
    names = [each.metadata.name for each in clusters.clusters]
    found: dict[str, list[ClusterRefusal]] = {name: [] for name in names}
    for plugin in algorithm.filters:
        if plugin is algorithm.policies:
            continue
        for name, reason in zip(names, plugin.filter(request, clusters), strict=True):
            if reason != interface.PASSES:
                found[name].append(ClusterRefusal(plugin.name, reason))
    if algorithm.policies is None:
        return found
    for answer in algorithm.policies.iterate_filter_reasons(request, clusters):
        for name, reason in zip(names, answer.reasons, strict=True):
            if reason != interface.PASSES:
                found[name].append(ClusterRefusal(algorithm.policies.name, reason, answer.ref))
    return found


def _collect_points(
    algorithm: algorithms.BindingAlgorithm,
    request: interface.SchedulingRequest,
    clusters: snapshot.ControlPlaneSnapshot,
    feasible: Sequence[int],
) -> dict[str, list[ClusterPoints]]:
    """Return the points of all plugins and rules, keyed by feasible cluster."""
    names = [clusters.clusters[place].metadata.name for place in feasible]
    found: dict[str, list[ClusterPoints]] = {name: [] for name in names}
    if not feasible:
        return found
    for plugin in algorithm.scorers:
        given = plugin.score(request, clusters)
        for name, place in zip(names, feasible, strict=True):
            found[name].append(ClusterPoints(plugin.name, 1, given[place] * score_table.HUNDREDTHS))
    if algorithm.policies is None:
        return found
    for rule, hundredths in algorithm.policies.iterate_score_points(request, clusters, feasible):
        for name, each in zip(names, hundredths.tolist(), strict=True):
            found[name].append(ClusterPoints(rule.head.name, rule.weight, each, rule))
    return found
