"""The pod view: which filters reject which nodes, the points of the best nodes, what would help."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from policysched import clock as clocks
from policysched.explaining import pod_explaining
from policysched.observability.live_page import pod_verdicts
from policysched.offline import pod_report, sessions


@contextlib.contextmanager
def _keep_on_node(decider: sessions.PodDecider, key: str) -> Iterator[None]:
    """Put a placed pod back on its node afterwards: an explanation takes it away."""
    cache = decider.cluster.cache
    placed = decider.cluster.placed.get(key if "/" in key else f"default/{key}")
    try:
        yield
    finally:
        if placed is not None and cache.get_pod(placed.uid) is None:
            cache.add_pod(placed)


def make_pod_page(decider: sessions.PodDecider, key: str) -> dict[str, Any]:
    """Return the decision about the pod `namespace/name`, which can be pending or placed.

    Raises:
        InputError: the pod does not exist, or no profile serves it.
    """
    with _keep_on_node(decider, key):
        info = pod_report.find_pod(decider.cluster, key)
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
    with _keep_on_node(decider, key):
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
    with _keep_on_node(decider, key):
        return pod_explaining.explain_pod(decider, key, clock)
