"""Finds placed pods that block the pod by a host port or by anti-affinity."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from policysched.cluster import what_if
from policysched.cluster.pods import pod_shape
from policysched.compiler.rules import pod_affinity
from policysched.explaining import suggested_edit, trials
from policysched.explaining.edits import node_edits
from policysched.explaining.facts import rejections
from policysched.lang.checked import checked_expr
from policysched.plugins import names

_MOST_PODS = 20
"""The maximum number of pods to try; pods on the blocked nodes are tried first."""


def find_placed_pod_removals(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the removals of single placed pods that make the pod fit."""
    for info, node in _list_pods_to_remove(
        tried, _find_blocked_nodes(tried, known)[: node_edits.MOST_NODES]
    ):
        if tried.is_limit_reached:
            return
        fitting = _find_nodes_fitting_after_removal(tried, info, node)
        if fitting:
            text = f"remove the pod {info.key} from {node}"
            said = suggested_edit.SuggestedEdit(
                "node", "pod", "pods", info.key, None, text, suggested_edit.CHANGES_NODE
            )
            yield said.add_fitting_nodes(fitting)


def _find_blocked_nodes(tried: trials.PodTrials, known: rejections.PodRejections) -> list[str]:
    """Return the nodes that reject the pod because of ports or affinity, not requests alone."""
    rules = (
        plugin.head.name
        for plugin in tried.framework.profile.plugins
        if isinstance(plugin, pod_affinity.RequiredPodAntiAffinity | pod_affinity.RepellingPods)
    )
    whom = {names.NODE_PORTS, names.INTER_POD_AFFINITY, *rules}
    room = (rule.head.name for rule in known.find_rules_reading(checked_expr.NodeResource))
    nodes = known.find_nodes_rejected_only_by(*whom, names.NODE_RESOURCES_FIT, *room)
    return [node for node in nodes if known.by_node[node] & whom]


def _list_pods_to_remove(
    tried: trials.PodTrials, nodes: list[str]
) -> list[tuple[pod_shape.PodInfo, str]]:
    """Return up to `_MOST_PODS` pods with their nodes; pods on `nodes` come first.

    Pods on other nodes can block the pod if their node is in the same topology domain.
    """
    if not nodes:
        return []
    snap = tried.take_snapshot()
    first = [snap.nodes.row_of[name] for name in nodes]
    others = (row for row in range(snap.size) if snap.is_alive[row] and row not in first)
    found = (
        (info, snap.nodes.names[row])
        for row in (*first, *others)
        for info in snap.placed.get_pods(row)
    )
    return list(itertools.islice(found, _MOST_PODS))


def _find_nodes_fitting_after_removal(
    tried: trials.PodTrials, info: pod_shape.PodInfo, node: str
) -> tuple[str, ...]:
    """Return the nodes on which the pod fits without the placed pod `info`."""
    snap = tried.take_snapshot()
    with what_if.WhatIf(snap) as supposed:
        supposed.remove_pods([(info, snap.nodes.row_of[node])])
        return tried.find_feasible_nodes()
