"""Describe the explanation of one pod: rejections of all nodes, and the points of the best ones.

Answers about nodes are arrays in the order of `cluster_columns.list_rows`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.compiler.rules import base
from policysched.framework import explanation, runtime, status
from policysched.framework.scoring import score_table
from policysched.observability.live_page import (
    cluster_columns,
    filter_funnel,
    rules_without_samples,
)

_FITS = -1
_BEST_NODES = 32
_MOST_NAMES = 20


def describe_explanation(
    framework: runtime.Framework, found: explanation.Explanation, snap: snapshot.Snapshot
) -> dict[str, Any]:
    """Return the explanation of a pod in the form of schemas/page-explain.schema.json."""
    info = found.pod
    return {
        "pod": info.key,
        "profile": framework.profile.scheduler_name,
        "policies": list(framework.profile.policies),
        "priority": info.pod.spec.priority or 0,
        "gate": None if found.gate is None else found.gate.message,
        "message": found.message,
        "nodeCount": snap.node_count,
        "feasible": found.feasible_count,
        "best": found.best[:_MOST_NAMES],
        "bestCount": len(found.best),
        "rulesWithoutSamples": rules_without_samples.MetricRules(framework.profile).list_lost(
            snap, lambda: info.shape
        ),
        **_describe_rejections(framework, found, snap),
        **_describe_points(framework, found.scores, snap),
    }


# --- rejections ----------------------------------------------------------------------------------


def _describe_rejections(
    framework: runtime.Framework, found: explanation.Explanation, snap: snapshot.Snapshot
) -> dict[str, Any]:
    """Return the first rejection of each node, and the nodes that each filter takes away."""
    answers: dict[int, int] = {}
    distinct: list[status.Status] = []
    by_name: dict[str, int] = {}
    for verdict in found.verdicts:
        answer = verdict.first
        if answer.is_success:
            by_name[verdict.name] = _FITS
            continue
        if id(answer) not in answers:
            answers[id(answer)] = len(distinct)
            distinct.append(answer)
        by_name[verdict.name] = answers[id(answer)]
    names = [snap.nodes.names[row] for row in cluster_columns.list_rows(snap).tolist()]
    return {
        "of": [by_name[name] for name in names],
        "why": [_describe_rejection(answer) for answer in distinct],
        "funnel": make_funnel(framework, found, snap.node_count),
    }


def _describe_rejection(answer: status.Status) -> dict[str, Any]:
    return {
        "by": answer.source_name,
        "line": _find_line(answer),
        "code": answer.code.value,
        "reason": "; ".join(answer.reasons),
    }


def make_funnel(
    framework: runtime.Framework, found: explanation.Explanation, node_count: int
) -> list[dict[str, Any]]:
    """Return the filters that reject nodes, in the order in which they act, and what they leave."""
    funnel = filter_funnel.FilterFunnel()
    for failures, count in _count_failures(found.verdicts):
        funnel.add_nodes([(each.source_name, _find_line(each)) for each in failures], count)
    order = {name: number for number, name in enumerate(_list_filter_names(framework))}
    names = sorted(funnel.list_filters(), key=lambda name: order.get(name, -1))
    return funnel.make_steps(names, node_count)


def _find_line(answer: status.Status) -> int | None:
    return answer.rule.line if answer.rule else None


def _count_failures(
    verdicts: list[explanation.NodeVerdict],
) -> list[tuple[tuple[status.Status, ...], int]]:
    """Return the distinct failures of nodes, the deciding one first, with the number of nodes."""
    keys = [(id(each.first), *map(id, each.all_failures)) for each in verdicts]
    verdict_of = dict(zip(keys, verdicts, strict=True))
    return [
        ((verdict_of[key].first, *verdict_of[key].all_failures), count)
        for key, count in Counter(keys).items()
        if not verdict_of[key].first.is_success
    ]


def _list_filter_names(framework: runtime.Framework) -> list[str]:
    """Return the plugins and rules (`POLICY/RULE`) of a profile in the order in which they act."""
    return [
        plugin.head.name if isinstance(plugin, base.PolicyRule) else plugin.name
        for plugin in framework.profile.plugins
    ]


# --- points --------------------------------------------------------------------------------------


def _describe_points(
    framework: runtime.Framework,
    table: score_table.ScoreTable | None,
    snap: snapshot.Snapshot,
) -> dict[str, Any]:
    """Return the totals of all feasible nodes, and the points of the best ones by rule."""
    rows = cluster_columns.list_rows(snap)
    if table is None:
        return {"totals": [None] * len(rows), "rules": [], "ranking": []}
    position = {row: number for number, row in enumerate(rows.tolist())}
    totals: list[int | float | None] = [None] * len(rows)
    for row, total in zip(table.rows.tolist(), table.totals.tolist(), strict=True):
        totals[position[row]] = score_table.points(total)
    weights = framework.profile.weights
    return {
        "totals": totals,
        "rules": [{"name": name, "weight": weights[name]} for name in table.by_plugin],
        "ranking": [describe_node_points(table, i, snap) for i in _list_best(table, snap)],
    }


def _list_best(table: score_table.ScoreTable, snap: snapshot.Snapshot) -> list[int]:
    """Return the indices of the best nodes; nodes with equal totals in the order of their names.

    If all of these share the most points, the last is the best node with fewer.
    """
    names = [snap.nodes.names[row] for row in table.rows.tolist()]
    order: npt.NDArray[np.intp] = np.lexsort((names, -table.totals))
    best: list[int] = order[:_BEST_NODES].tolist()
    next_best = int((table.totals == table.totals.max()).sum())
    if _BEST_NODES <= next_best < len(order):
        best[-1] = int(order[next_best])
    return best


def describe_node_points(
    table: score_table.ScoreTable, i: int, snap: snapshot.Snapshot
) -> dict[str, Any]:
    """Return the points of the node at index `i` of the table, in the form of `RankedNode`."""
    return {
        "node": snap.nodes.names[int(table.rows[i])],
        "total": score_table.points(int(table.totals[i])),
        "points": [score_table.points(int(of[i])) for of in table.by_plugin.values()],
    }
