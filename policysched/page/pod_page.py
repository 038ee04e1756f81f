"""The pod view: which filters reject which nodes, the points of the best nodes, what would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from policysched import clock as clocks
from policysched.cluster.pods import pod_shape
from policysched.explaining import pod_explaining
from policysched.framework import explanation
from policysched.framework.scoring import score_table
from policysched.observability.live_page import pod_verdicts
from policysched.offline import pod_report, sessions
from policysched.page import pod_profiles


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
            else _describe_placement(node, found, snap.nodes.names),
            "schedulerName": info.pod.spec.scheduler_name,
            "missingProfile": _describe_missing_profile(decider, info),
            "hasMetrics": bool(decider.policy_set.node_metrics),
            **pod_verdicts.describe_explanation(framework, found, snap),
        }


def _describe_missing_profile(decider: sessions.PodDecider, info: pod_shape.PodInfo) -> str:
    is_served = pod_profiles.is_served(decider, info)
    return "" if is_served else pod_profiles.describe_missing_profile(decider, info)


def _describe_placement(
    node: str, found: explanation.Explanation, names: Sequence[str]
) -> dict[str, Any]:
    """Return what a decision of now says about the node of a placed pod.

    `by` and `reason` are of the filter that rejects the node. If another node would win, `by` is
    the rule with the largest lead of the winner, `lead` this lead, and `totalLead` the lead of
    the totals, in points.
    """
    placement = pod_explaining.describe_placement(node, found)
    if not placement["fits"]:
        first = next((each.first for each in found.verdicts if each.name == node), None)
        reason = {"by": first.source_name, "reason": "; ".join(first.reasons)} if first else {}
        return placement | reason
    if placement["best"] or found.scores is None:
        return placement
    return placement | _describe_lead(found.scores, names, found.best[0], node)


def _describe_lead(
    scores: score_table.ScoreTable, names: Sequence[str], winner: str, loser: str
) -> dict[str, Any]:
    index_of = {names[row]: index for index, row in enumerate(scores.rows.tolist())}
    first, second = index_of[winner], index_of[loser]
    leads = {name: int(of[first] - of[second]) for name, of in scores.by_plugin.items()}
    by = max(leads, key=leads.__getitem__)
    return {
        "by": by,
        "lead": score_table.points(leads[by]),
        "totalLead": score_table.points(int(scores.totals[first] - scores.totals[second])),
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
