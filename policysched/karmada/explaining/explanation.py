"""Everything about a decision: what every filter and score says of every cluster, and the steps.

A decision is made as ever (`decide`); then each attempt that it made is asked about once more.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from policysched.framework import score_table
from policysched.karmada import errors, interface
from policysched.karmada.explaining import step_reports
from policysched.karmada.policies import completion
from policysched.karmada.steps import decide, select_clusters

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
class Refusal:
    """Why a cluster cannot take a binding.

    Attributes:
        plugin: who says it; `Policy` for rules and groups of policies.
        ref: the rule or group; None for another plugin.
    """

    plugin: str
    reason: str
    ref: status.RuleRef | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Points:
    """What one plugin, or one score of a policy, gives a cluster.

    Attributes:
        by: the plugin, or `POLICY/RULE`.
        weight: what the points are multiplied with.
        hundredths: of points, without the weight.
        rule: of a policy; None for a plugin.
    """

    by: str
    weight: int
    hundredths: int
    rule: base.ScoreRule | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, with all that was said in it.

    Attributes:
        request: the binding, with the term that counts.
        refusals: of each cluster, in the order in which they count; of none that passes.
        ranked: the clusters that pass, best first.
        points: of each cluster that passes.
        selection: which of them were chosen; None if none could be.
        division: how replicas are divided among these.
        result: what came of it.
    """

    request: interface.Request
    refusals: Mapping[str, Sequence[Refusal]]
    ranked: Sequence[candidates.Candidate]
    points: Mapping[str, Sequence[Points]]
    selection: step_reports.Selection | None
    division: step_reports.Division | None
    result: algorithms.Result


@dataclasses.dataclass(frozen=True, slots=True)
class Explanation:
    """A decision and how it came about.

    Attributes:
        attempts: that were made; the last one counts if it succeeded, else the first.
        about: the policies that are about the binding, by name.
        added: which of them says what is added to the placement, by statement.
    """

    binding: objects.Binding
    decision: decide.Decision
    attempts: Sequence[Attempt]
    about: Sequence[checked.CheckedPolicy] = ()
    added: Mapping[str, str] = dataclasses.field(default_factory=dict)


def explain(
    algorithm: algorithms.Algorithm, binding: objects.Binding, clusters: snapshot.Snapshot
) -> Explanation:
    """Return what is decided about a binding, and why."""
    decision = decide.decide(algorithm, binding, clusters)
    planned = decide.requests(algorithm, binding, clusters)
    if isinstance(planned, errors.Failure):
        return Explanation(binding, decision, ())
    is_placed = not isinstance(decision.result, errors.Failure)
    made = planned[: len(decision.failed_terms) + is_placed] or planned[:1]
    attempts = [_attempt(algorithm, request, clusters) for request in made]
    policies, own = algorithm.policies, binding.spec.placement
    if policies is None or own is None:
        return Explanation(binding, decision, attempts)
    about = policies.about(binding, clusters)
    return Explanation(binding, decision, attempts, about, completion.added(own, about))


def _attempt(
    algorithm: algorithms.Algorithm, request: interface.Request, clusters: snapshot.Snapshot
) -> Attempt:
    afresh = decide.reschedule_is_asked_for(request.binding)
    refusals = _refusals(algorithm, request, clusters)
    names = [each.metadata.name for each in clusters.clusters]
    feasible = [place for place, name in enumerate(names) if not refusals[name]]
    found = algorithm.candidates_among(request, clusters, feasible)
    result = algorithm.attempt(request, clusters, afresh=afresh)
    needed = algorithm.needed(request.spec)
    chosen = select_clusters.select(found, request.spec, request.placement, needed) if found else ()
    selection = division = None
    if chosen and not isinstance(chosen, errors.Failure):
        selection = step_reports.selection(request, chosen)
        division = step_reports.division(request, chosen, afresh=afresh)
    return Attempt(
        request,
        refusals,
        sorted(found, key=lambda candidate: candidate.rank),
        _points(algorithm, request, clusters, feasible),
        selection,
        division,
        result,
    )


def _refusals(
    algorithm: algorithms.Algorithm, request: interface.Request, clusters: snapshot.Snapshot
) -> dict[str, list[Refusal]]:
    names = [each.metadata.name for each in clusters.clusters]
    found: dict[str, list[Refusal]] = {name: [] for name in names}
    for plugin in algorithm.filters:
        if plugin is algorithm.policies:
            continue
        for name, reason in zip(names, plugin.filter(request, clusters), strict=True):
            if reason != interface.PASSES:
                found[name].append(Refusal(plugin.name, reason))
    if algorithm.policies is None:
        return found
    for answer in algorithm.policies.answers(request, clusters):
        for name, reason in zip(names, answer.reasons, strict=True):
            if reason != interface.PASSES:
                found[name].append(Refusal(algorithm.policies.name, reason, answer.ref))
    return found


def _points(
    algorithm: algorithms.Algorithm,
    request: interface.Request,
    clusters: snapshot.Snapshot,
    feasible: Sequence[int],
) -> dict[str, list[Points]]:
    names = [clusters.clusters[place].metadata.name for place in feasible]
    found: dict[str, list[Points]] = {name: [] for name in names}
    if not feasible:
        return found
    for plugin in algorithm.scorers:
        given = plugin.score(request, clusters)
        for name, place in zip(names, feasible, strict=True):
            found[name].append(Points(plugin.name, 1, given[place] * score_table.HUNDREDTHS))
    if algorithm.policies is None:
        return found
    for rule, hundredths in algorithm.policies.points(request, clusters, feasible):
        for name, each in zip(names, hundredths.tolist(), strict=True):
            found[name].append(Points(rule.head.name, rule.weight, each, rule))
    return found
