"""Makes the report of `explain pod` about one pod, including its advice.

The report follows schemas/explain.schema.json; this module adds the optional keys.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from policysched import clock as clocks
from policysched.explaining import suggested_edit, trials, winner_comparison, winner_flips
from policysched.explaining.edits import (
    node_edits,
    placed_pod_removals,
    pod_edits,
    policy_edits,
    resource_release_edits,
    rule_pod_edits,
)
from policysched.explaining.facts import rejections
from policysched.framework import explanation, status
from policysched.framework.scoring import score_table
from policysched.offline import pod_report, preemption_report, sessions

_MOST_EDITS = 40
_MOST_ALIKE = 4
"""The maximum number of nodes to name that have the same obstacles as the nearest node."""


def explain_pod(
    decider: sessions.PodDecider,
    pod: str,
    clock: clocks.Clock,
    limits: trials.TrialLimits | None = None,
    node: str | None = None,
    evidence_of: Collection[str] | None = (),
) -> dict[str, Any]:
    """Return the report about the pod `namespace/name`, which can be pending or placed.

    If the pod does not fit on `node`, the advice is about that node. The report contains the
    evidence behind each reason for the nodes in `evidence_of`; None means all nodes.

    Raises:
        InputError: the pod does not exist, or no profile serves it.
    """
    with pod_report.make_pod_pending(decider.cluster, pod) as info:
        tried = trials.PodTrials(decider, info, clock, limits, node)
        return _make_report(tried, evidence_of)


def _make_report(tried: trials.PodTrials, evidence_of: Collection[str] | None) -> dict[str, Any]:
    decider, node = tried.decider, tried.only_node
    found = tried.framework.explain_pod(tried.info, tried.take_snapshot())
    report = decider.make_report_from_explanation(tried.framework, found, evidence_of)
    placed = decider.cluster.placed.get(found.pod.key)
    if placed is not None:
        report["placed"] = describe_placement(placed.pod.spec.node_name, found)
    if node is not None and not _fits_node(found, node):
        return report | _describe_edits_and_preemption(tried, found)
    if found.scores is not None:
        return report | _explain_winner(tried, found.scores)
    return report | _describe_edits_and_preemption(tried, found)


def _fits_node(found: explanation.Explanation, node: str) -> bool:
    return any(each.name == node and each.first.is_success for each in found.verdicts)


def describe_placement(node: str, found: explanation.Explanation) -> dict[str, Any]:
    """Return the node of a placed pod and whether the scheduler would choose it again."""
    verdict = next((each for each in found.verdicts if each.name == node), None)
    return {
        "node": node,
        "exists": verdict is not None,
        "fits": verdict is not None and verdict.first.is_success,
        "best": node in found.best,
    }


# --- a pod that fits -----------------------------------------------------------------------------


def _explain_winner(tried: trials.PodTrials, scores: score_table.ScoreTable) -> dict[str, Any]:
    """Return the points of the best nodes by rule, and the changes that make other nodes win."""
    ranked = winner_comparison.compare_winner_and_runner_up(tried, scores)
    runner_up = ranked[1]["node"] if len(ranked) > 1 else None
    found = winner_flips.FlipFinder(tried, scores, runner_up).find_flips()
    return {
        "ranking": ranked,
        "flips": [each.as_json() for each in found],
        "triedAll": not tried.is_limit_reached,
    }


# --- a pod that fits on no node ------------------------------------------------------------------


def _describe_edits_and_preemption(
    tried: trials.PodTrials, found: explanation.Explanation
) -> dict[str, Any]:
    """Return the edits that make the pod fit, smallest first, and the effect of preemption."""
    known = rejections.PodRejections.from_explanation(
        found, tried.framework.profile, tried.only_node
    )
    looking = (
        pod_edits.find_pod_edits,
        rule_pod_edits.find_rule_pod_edits,
        node_edits.find_node_edits,
        resource_release_edits.find_resource_release_edits,
        placed_pod_removals.find_placed_pod_removals,
        policy_edits.find_policy_edits,
    )
    edits = sorted(
        (each for look in looking for each in look(tried, known)),
        key=suggested_edit.get_edit_sort_key,
    )
    report: dict[str, Any] = {
        "edits": [each.as_json() for each in edits[:_MOST_EDITS]],
        "triedAll": not tried.is_limit_reached,
        "preemption": _simulate_preemption(tried) if found.feasible_count == 0 else None,
    }
    if found.feasible_count == 0:
        facts = preemption_report.find_preemption_facts(
            tried.framework, tried.info, tried.take_snapshot()
        )
        if facts.limits:
            report["preemptionLimits"] = [each.as_json() for each in facts.limits.values()]
    nearest = known.find_least_rejected_nodes()
    if not edits and nearest is not None:
        report["nearest"] = _describe_nearest_nodes(tried, *nearest)
    return report


def _describe_nearest_nodes(
    tried: trials.PodTrials, nodes: Sequence[str], answers: Collection[status.Status]
) -> dict[str, Any]:
    """Return the obstacles on the first of some nodes, and the nodes with the same evidence."""
    # PreFilter's anonymous rejection of a node is redundant if a plugin also rejects the node.
    told = [answer for answer in answers if rejections.get_rejecting_plugin(answer)] or answers
    snap = tried.take_snapshot()
    evidence = pod_report.collect_rejection_evidence(tried.framework, tried.info, snap)
    found = {
        name: [evidence.on_node(answer, snap.nodes.row_of[name]) for answer in told]
        for name in nodes
    }
    node, texts = nodes[0], found[nodes[0]]
    alike = [name for name in nodes[1:] if found[name] == texts]
    obstacles = [
        {
            "by": rejections.get_rejecting_plugin(answer),
            "reason": reason,
            **({"evidence": text} if text else {}),
        }
        for answer, about in zip(told, texts, strict=True)
        for reason, text in zip(answer.reasons, about, strict=True)
    ]
    return {
        "node": node,
        "alike": alike[:_MOST_ALIKE],
        "more": max(0, len(alike) - _MOST_ALIKE),
        "obstacles": obstacles,
    }


def _simulate_preemption(tried: trials.PodTrials) -> dict[str, Any] | None:
    """Return the victims of preemption and their node; None if preemption does not help."""
    snap = tried.take_snapshot()
    result = tried.framework.schedule_pod(tried.info, snap)
    if result.diagnosis is None:
        return None
    made = tried.framework.run_post_filter(result.state, tried.info, snap, result.diagnosis)
    if made is None or not made.status.is_success or not made.nominated_node_name:
        return None
    return {"node": made.nominated_node_name, "victims": [each.key for each in made.victims]}
