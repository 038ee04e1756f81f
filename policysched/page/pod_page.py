"""The pod view: which filters reject which nodes, the points of the best nodes, what would help."""

from __future__ import annotations

from typing import Any

from policysched import clock as clocks
from policysched.explaining import pod_explaining
from policysched.observability.live_page import pod_verdicts
from policysched.offline import pod_report, sessions


def make_pod_page(decider: sessions.PodDecider, key: str) -> dict[str, Any]:
    """Return the decision about the pod `namespace/name`, which can be pending or placed.

    Raises:
        InputError: the pod does not exist, or no profile serves it.
    """
    with pod_report.make_pod_pending(decider.cluster, key) as info:
        framework = decider.choice.require_framework(info)
        snap = decider.cluster.cache.snapshot()
        found = framework.explain_pod(info, snap)
        placed = decider.cluster.placed.get(info.key)
        return {
            "placedOn": None if placed is None else placed.pod.spec.node_name,
            **pod_verdicts.describe_explanation(framework, found, snap),
        }


# --- one node, and what would help ---------------------------------------------------------------


def make_pod_node_page(decider: sessions.PodDecider, key: str, node: str) -> dict[str, Any]:
    """Return every rejection of a pod by a node with its evidence, and the points of the node.

    Raises:
        InputError: the pod does not exist, or no profile serves it.
        LookupError: the node does not exist.
    """
    report = decider.explain_pod(key, (node,))
    return {
        "pod": report["pod"],
        "node": node,
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
