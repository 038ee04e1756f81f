"""Makes the report of `explain binding`: the target clusters of a binding and the reasons.

The report follows schemas/explain-binding.schema.json.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from policysched import errors, spelling, units
from policysched.compiler.rules import score
from policysched.framework import cycle_state, status
from policysched.framework.scoring import score_table
from policysched.karmada import errors as karmada_errors
from policysched.karmada.explaining import affinity_evidence, explanation
from policysched.karmada.plugins import cluster_affinity
from policysched.karmada.steps import capacity
from policysched.offline import metric_evidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from policysched.inputs import karmada_file
    from policysched.karmada import objects
    from policysched.karmada.policies import cluster_view
    from policysched.karmada.state import snapshot
    from policysched.karmada.steps import algorithm as algorithms
    from policysched.lang.checked import checked

Report: TypeAlias = dict[str, Any]

_MAX_NAMES_COMPARED = 2000
"""The maximum number of names to search for a similar one, which bounds the search time."""


def find_binding(plane: karmada_file.KarmadaControlPlane, key: str) -> objects.Binding:
    """Return the binding `namespace/name`, or the cluster-scoped binding `name`.

    If no ClusterResourceBinding is called `name`, the binding with this name in the namespace
    `default` is returned.

    Raises:
        InputError: the binding does not exist.
    """
    known = {binding.key: binding for binding in plane.bindings}
    found = known.get(key) or known.get(f"default/{key}")
    if found is not None:
        return found
    name = key.rsplit("/", 1)[-1]
    namesakes = [each for each in known if each.rsplit("/", 1)[-1] == name]
    # Karmada names a binding after the name and the kind of its resource: `web-deployment`.
    namesakes = namesakes or [each for each in known if f"/{each}".rfind(f"/{name}-") >= 0]
    if namesakes:
        advice = f"there is {spelling.join_alternatives(f'`{each}`' for each in namesakes[:3])}"
    else:
        advice = spelling.suggest_names(key, list(known)[:_MAX_NAMES_COMPARED])
    raise errors.InputError(f"`{key}`", "the control plane has no such binding", help=advice)


def make_binding_report(
    algorithm: algorithms.BindingAlgorithm,
    binding: objects.Binding,
    clusters: snapshot.ControlPlaneSnapshot,
) -> Report:
    """Return the report about a binding in the form of the schema."""
    found = explanation.explain_binding(algorithm, binding, clusters)
    return {
        "binding": binding.key,
        "replicas": binding.spec.replicas,
        "present": _render_targets(binding.spec.clusters),
        **_render_result(found.decision.result),
        "observedAffinity": found.decision.observed_affinity,
        "policies": [_render_policy_statements(each, found) for each in found.about],
        "attempts": [_render_attempt(algorithm, each, clusters) for each in found.attempts],
    }


def _render_result(result: algorithms.Result) -> Report:
    if isinstance(result, karmada_errors.PlacementFailure):
        return {"clusters": [], "errorKind": result.kind, "error": result.text}
    return {"clusters": _render_targets(result), "errorKind": "", "error": ""}


def _render_targets(targets: objects.Targets) -> list[Report]:
    return [{"name": each.name, "replicas": each.replicas} for each in targets]


def _render_policy_statements(
    policy: checked.CheckedPolicy, found: explanation.BindingExplanation
) -> Report:
    """Return the statements that this policy, and no other policy, adds to the placement."""
    adds = [statement for statement, name in found.added.items() if name == policy.name]
    return {"policy": policy.name, "adds": adds}


# --- attempts ------------------------------------------------------------------------------------


def _render_attempt(
    algorithm: algorithms.BindingAlgorithm,
    made: explanation.ExplainedAttempt,
    clusters: snapshot.ControlPlaneSnapshot,
) -> Report:
    """Return the report about one attempt to schedule a binding with one affinity."""
    policies = algorithm.policies
    seen = policies.make_binding_view(made.request.binding, clusters) if policies else None
    measured = None
    if policies is not None and seen is not None:
        measured = metric_evidence.PodMetricEvidence(
            policies.rules, seen.pod.shape, seen.snap, measured="cluster"
        )
    names = [each.metadata.name for each in clusters.clusters]
    rows = seen.rows.tolist() if seen else [0] * len(names)

    def find_evidence(refusal: explanation.ClusterRefusal, place: int) -> str:
        if refusal.ref is not None and policies is not None and seen is not None:
            return policies.describe_refusal(refusal.ref, seen, place)
        if refusal.plugin != cluster_affinity.ClusterAffinityPlugin.name:
            return ""
        wanted = cluster_affinity.list_accepted_affinities(made.request)
        return affinity_evidence.describe_mismatch(clusters.clusters[place], wanted)

    return {
        "affinity": made.request.affinity_name,
        "verdicts": {
            name: _render_verdict(
                [
                    _render_refusal(each, row, measured, find_evidence(each, place))
                    for each in made.refusals[name]
                ]
            )
            for place, (name, row) in enumerate(zip(names, rows, strict=True))
        },
        "feasible": len(made.ranked),
        "ranking": [_render_candidate(made, n, seen, names) for n in range(len(made.ranked))],
        "spreadConstraints": _render_spread_constraints(made),
        "selection": _render_selection(made),
        "division": _render_division(made),
        **_render_result(made.result),
        **(_rename_nodes_to_clusters(measured.as_json()) if measured else {}),
    }


def _rename_nodes_to_clusters(told: Mapping[str, Any]) -> Report:
    """Return the metric evidence with `clusters` in place of `nodes`."""
    metrics = {
        name: {"clusters" if key == "nodes" else key: value for key, value in metric.items()}
        for name, metric in told.get("metrics", {}).items()
    }
    return {**told, "metrics": metrics} if told else {}


def _render_verdict(refusals: Sequence[Report]) -> Report:
    """Return the verdict on one cluster, with every refusal; an accepted cluster has none."""
    first = refusals[0] if refusals else None
    return {
        "ok": first is None,
        "plugin": first["plugin"] if first else "",
        "code": status.Code.UNSCHEDULABLE.value if first else "",
        "reasons": [first["reason"]] if first else [],
        "all": refusals,
    }


def _render_refusal(
    refusal: explanation.ClusterRefusal,
    row: int,
    measured: metric_evidence.PodMetricEvidence | None,
    evidence: str,
) -> Report:
    """Return one reason for refusing a cluster, with its rule and the values that it compared."""
    ref = refusal.ref
    detail = measured.describe_rule_reading(ref, row) if measured else None
    return {
        "plugin": refusal.plugin,
        "code": status.Code.UNSCHEDULABLE.value,
        "reason": refusal.reason,
        "policy": ref.policy if ref else None,
        "rule": ref.rule if ref else None,
        "line": ref.line if ref else None,
        **({} if detail is None else {"measured": detail}),
        **({"evidence": evidence} if evidence not in ("", detail) else {}),
    }


def _render_candidate(
    made: explanation.ExplainedAttempt,
    place: int,
    seen: cluster_view.BindingView | None,
    names: Sequence[str],
) -> Report:
    """Return the ranking entry of a feasible cluster: its points and its free capacity."""
    candidate = made.ranked[place]
    at = names.index(candidate.name)
    return {
        "cluster": candidate.name,
        "total": candidate.score,
        "rules": [
            {
                "rule": each.by,
                **_render_raw_score(each, seen, at),
                "weight": each.weight,
                "points": score_table.points(each.hundredths),
                "weighted": score_table.points(each.hundredths * each.weight),
            }
            for each in made.points[candidate.name]
        ],
        "room": candidate.room,
        "present": candidate.available - candidate.room,
        "tier": candidate.overflow_order,
    }


def _render_raw_score(
    points: explanation.ClusterPoints, seen: cluster_view.BindingView | None, place: int
) -> Report:
    """Return the number behind the points of the cluster at index `place`, with its unit.

    For a rule that scores no number with a unit, the raw score is the rule's points.
    """
    rule = points.rule
    if not isinstance(rule, score.NumberScore) or rule.unit is None or seen is None:
        return {"raw": score_table.points(points.hundredths)}
    values = rule.compute_numbers(
        cycle_state.CycleState(), seen.pod.shape, seen.select_clusters([place])
    )
    value = values.item(0) / (units.CORES_SCALE if rule.unit == units.CORES else 1.0)
    return {"raw": None if math.isnan(value) else value, "unit": str(rule.unit)}


def _render_spread_constraints(made: explanation.ExplainedAttempt) -> list[Report]:
    """Return the spread constraints of the completed placement."""
    return [
        {
            "by": each.spread_by_field,
            "minGroups": each.min_groups,
            "maxGroups": None if each.max_groups == capacity.MAX_INT32 else each.max_groups,
        }
        for each in made.request.placement.spread_constraints
    ]


def _render_selection(made: explanation.ExplainedAttempt) -> Report | None:
    said = made.selection
    if said is None:
        return None
    return {"by": said.by, "how": said.how, "clusters": list(said.clusters)}


def _render_division(made: explanation.ExplainedAttempt) -> Report | None:
    """Return how replicas are divided among the clusters; None if they are not divided."""
    said = made.division
    if said is None:
        return None
    return {
        "by": said.by,
        "how": said.how,
        "replicas": said.replicas,
        "kept": dict(said.kept),
        "weights": dict(said.weights),
    }


def make_binding_reports(
    algorithm: algorithms.BindingAlgorithm,
    plane: karmada_file.KarmadaControlPlane,
    clusters: snapshot.ControlPlaneSnapshot,
) -> Iterator[Report]:
    """Yield the reports about all bindings, each considered alone."""
    for binding in plane.bindings:
        yield make_binding_report(algorithm, binding, clusters)
