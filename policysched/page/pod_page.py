"""The pod view: which filters reject which nodes, the points of the best nodes, what would help."""

from __future__ import annotations

from typing import Any

from policysched import clock as clocks
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.explaining import pod_explaining
from policysched.framework import explanation, runtime
from policysched.framework.scoring import score_table
from policysched.observability.live_page import pod_verdicts
from policysched.offline import metric_evidence, pod_report, sessions
from policysched.page import pod_facts, pod_profiles
from policysched.profiles import named_profile


def make_pod_page(decider: sessions.PodDecider, key: str) -> dict[str, Any]:
    """Return the decision about the pod `namespace/name`, which can be pending or placed.

    Raises:
        InputError: the pod does not exist, or no profile serves it.
    """
    with pod_report.make_pod_pending(decider.cluster, key) as info:
        framework = pod_profiles.require_framework(decider, info)
        snap = decider.cluster.cache.snapshot()
        found = framework.explain_pod(info, snap)
        placed = decider.cluster.placed.get(info.key)
        node = None if placed is None else placed.pod.spec.node_name
        return {
            "placedOn": node,
            "placement": None
            if node is None
            else _describe_placement(framework, found, snap, node),
            "schedulerName": info.pod.spec.scheduler_name,
            "missingProfile": _describe_missing_profile(decider, info),
            "hasMetrics": _reads_metrics(decider, framework),
            **pod_facts.describe_pod(info),
            **pod_verdicts.describe_explanation(framework, found, snap),
        }


def _describe_missing_profile(decider: sessions.PodDecider, info: pod_shape.PodInfo) -> str:
    is_served = decider.choice.serves(info)
    return "" if is_served else pod_profiles.describe_missing_profile(decider, info)


def _reads_metrics(decider: sessions.PodDecider, framework: runtime.Framework) -> bool:
    name = framework.profile.scheduler_name
    return bool(named_profile.list_profile_node_metrics(decider.policy_set, name))


def _describe_placement(
    framework: runtime.Framework,
    found: explanation.Explanation,
    snap: snapshot.Snapshot,
    node: str,
) -> dict[str, Any]:
    """Return what a decision of now says about the node of a placed pod.

    `by`, `reason` and `measured` are of the filter that rejects the node. If another node would
    win, `by` is the rule with the largest lead of the winner, `lead` this lead, `totalLead` the
    lead of the totals, in points, and `ranked` the points of the node as in `ranking`.
    """
    placement = pod_explaining.describe_placement(node, found)
    if not placement["fits"]:
        return placement | _describe_rejection(framework, found, snap, node)
    if placement["best"] or found.scores is None:
        return placement
    return placement | _describe_lead(found.scores, snap, found.best[0], node)


def _describe_rejection(
    framework: runtime.Framework,
    found: explanation.Explanation,
    snap: snapshot.Snapshot,
    node: str,
) -> dict[str, Any]:
    """Return which filter rejects a node first; {} if the cluster does not have the node."""
    answer = next((each.first for each in found.verdicts if each.name == node), None)
    if answer is None:
        return {}
    measured = metric_evidence.PodMetricEvidence(framework.profile.plugins, found.pod.shape, snap)
    return {
        "by": answer.source_name,
        "reason": "; ".join(answer.reasons),
        "measured": measured.describe_rule_reading(answer.rule, snap.nodes.row_of[node]) or "",
    }


def _describe_lead(
    scores: score_table.ScoreTable, snap: snapshot.Snapshot, winner: str, loser: str
) -> dict[str, Any]:
    names = snap.nodes.names
    index_of = {names[row]: index for index, row in enumerate(scores.rows.tolist())}
    first, second = index_of[winner], index_of[loser]
    leads = {name: int(of[first] - of[second]) for name, of in scores.by_plugin.items()}
    by = max(leads, key=leads.__getitem__)
    return {
        "by": by,
        "lead": score_table.points(leads[by]),
        "totalLead": score_table.points(int(scores.totals[first] - scores.totals[second])),
        "ranked": pod_verdicts.describe_node_points(scores, second, snap),
    }


# --- one node, and what would help ---------------------------------------------------------------


def make_pod_node_page(decider: sessions.PodDecider, key: str, node: str) -> dict[str, Any]:
    """Return every rejection of a pod by a node with its evidence, and the points of the node.

    Raises:
        InputError: the pod does not exist, or no profile serves it.
        LookupError: the node does not exist.
    """
    report = decider.explain_pod(key, (node,))
    placed = decider.cluster.placed.get(report["pod"])
    return {
        "pod": report["pod"],
        "node": node,
        "isOnNode": placed is not None and placed.pod.spec.node_name == node,
        "fits": report["nodes"][node]["ok"],
        "rejections": report["nodes"][node]["all"],
        "points": report["scores"].get(node),
    }


def make_study_page(decider: sessions.PodDecider, key: str, clock: clocks.Clock) -> dict[str, Any]:
    """Return the report of `explain pod`: flips and edits, without the verdicts of all nodes.

    Raises:
        InputError: the pod does not exist, or no profile serves it.
    """
    report = make_pod_report(decider, key, clock)
    return {name: value for name, value in report.items() if name not in ("nodes", "scores")}


def make_pod_report(decider: sessions.PodDecider, key: str, clock: clocks.Clock) -> dict[str, Any]:
    """Return the report of `explain pod` in the form of schemas/explain.schema.json.

    Raises:
        InputError: the pod does not exist, or no profile serves it.
    """
    return pod_explaining.explain_pod(decider, key, clock)
