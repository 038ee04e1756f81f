"""The list of pending pods with the reason for each, and the search for names."""

from __future__ import annotations

from collections import Counter
from typing import Any

from policysched import clock as clocks
from policysched.observability.live_page import name_matches
from policysched.page import page_source, policies_page

_MOST_PODS = 1000
_MOST_SECONDS = 3.0


def make_pending_page(view: page_source.ClusterView, clock: clocks.Clock) -> dict[str, Any]:
    """Return the pending pods, each decided alone, and the nodes that each filter rejected.

    At most 1,000 pods are decided, within three seconds; of the others only the name is known.
    """
    decider = view.decider
    snap = decider.cluster.cache.snapshot()
    end_seconds = clock.monotonic_seconds() + _MOST_SECONDS
    rows = []
    rejected: Counter[str] = Counter()
    for info in decider.cluster.pending[:_MOST_PODS]:
        row: dict[str, Any] = {"pod": info.key, "priority": info.pod.spec.priority or 0}
        framework = decider.choice.choose_framework(info)
        if framework is None:
            row["message"] = f"no profile serves schedulerName {info.pod.spec.scheduler_name}"
        elif clock.monotonic_seconds() < end_seconds:
            gate = framework.pre_enqueue(info)
            result = framework.schedule_pod(info, snap)
            row |= {
                "profile": framework.profile.scheduler_name,
                "fits": result.node_name is not None and gate.is_success,
                "feasible": result.feasible_count,
                "message": result.message if gate.is_success else gate.message,
            }
            if result.diagnosis is not None and result.failures is not None:
                lost = snap.node_count - result.feasible_count
                for each in result.failures.list_rejections(snap.nodes.names, lost):
                    rejected[each.answer.source_name] += each.node_count
        rows.append(row)
    return {
        "generation": view.generation,
        "total": len(decider.cluster.pending),
        "pods": rows,
        "rejects": dict(rejected),
    }


def make_search_page(view: page_source.ClusterView, text: str) -> dict[str, Any]:
    """Return pods, nodes and rules whose name contains `text`: those that begin with it first."""
    decider = view.decider
    text = text.casefold()
    pods = [*(info.key for info in decider.cluster.pending), *decider.cluster.placed]
    nodes = [name for name in decider.cluster.cache.nodes.names if name]
    rules = sorted(set(policies_page.iterate_rule_names(decider)))
    return {
        "pods": name_matches.find_matches(pods, text),
        "nodes": name_matches.find_matches(nodes, text),
        "rules": name_matches.find_matches(rules, text),
    }
