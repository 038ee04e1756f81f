"""Formats the report of `explain` about one pod as text.

The text is made only from the JSON form (schemas/explain.schema.json), so the two agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from policysched.cli.render import output, styles
from policysched.cli.reports import explain_metrics_text

Report: TypeAlias = Mapping[str, Any]
Points: TypeAlias = Mapping[str, int | float]

_SHOWN_NODES = 5
"""The maximum number of columns in the score table; the best nodes are shown."""
_INDENT = "  "


def format_pod_report(report: Report) -> str:
    """Format the reasons why nodes reject the pod, and the points of the best nodes."""
    nodes: Mapping[str, Any] = report["nodes"]
    parts = [format_feasible_count(report)]
    parts += format_scheduling_gate(report)
    parts += format_extenders(report)
    if report["message"]:
        parts.append(_INDENT + report["message"])
    rejected = {name: verdict for name, verdict in nodes.items() if not verdict["ok"]}
    if rejected:
        parts += ["", format_rejection_table(rejected)]
    if report["scores"]:
        parts += [
            "",
            *format_best_nodes(report),
            "",
            format_score_table(report["scores"], _rank_nodes(report)),
        ]
    parts += explain_metrics_text.format_metric_table(report)
    parts += format_shadow_policies(report)
    return "\n".join(parts)


def format_extenders(report: Report) -> list[str]:
    """Format a line for each HTTP extender that `run` would ask about the pod."""
    return [
        f"{_INDENT}`run` would also ask the extender {each['url']} ({', '.join(each['verbs'])})"
        for each in report.get("extenders", ())
    ]


def format_feasible_count(report: Report) -> str:
    """Format the number of nodes on which a pod fits."""
    text = f"{report['pod']} fits on {report['feasible']:,} of {len(report['nodes']):,} nodes"
    return styles.mark_text_style(text, styles.GOOD if report["feasible"] else styles.BAD)


def format_node_report(report: Report, node: str) -> str:
    """Format the verdict, the points and the metrics of one pod on one node."""
    verdict = report["nodes"][node]
    if verdict["ok"] and not report["scores"]:
        head = styles.mark_text_style(
            f"{report['pod']} would fit on {node}, but is not placed", styles.WARNING
        )
        return "\n".join([head, *format_scheduling_gate(report), _INDENT + report["message"]])
    if verdict["ok"]:
        ranking = _rank_nodes(report)
        rank = ranking.index(node) + 1
        head = f"{report['pod']} fits on {node}: rank {rank:,} of {len(ranking):,} by points"
        shown = [node, *(name for name in ranking if name != node)]
        parts = [
            styles.mark_text_style(head, styles.GOOD),
            *format_scheduling_gate(report),
            "",
            format_score_table(report["scores"], shown),
        ]
        return "\n".join([*parts, *explain_metrics_text.format_node_metrics(report, node)])
    rows = [
        (format_rejecting_plugin(failure), failure["code"], format_rejection_reason(failure))
        for failure in verdict["all"]
    ]
    head = styles.mark_text_style(f"{report['pod']} does not fit on {node}", styles.BAD)
    table = output.format_table(("REJECTED BY", "CODE", "REASON"), rows, _INDENT)
    measured = explain_metrics_text.format_node_metrics(report, node)
    return "\n".join([head, *format_scheduling_gate(report), "", table, *measured])


def format_rejection_reason(failure: Mapping[str, Any]) -> str:
    """Format a rejection reason with its evidence, if there is any."""
    evidence = failure.get("evidence") or failure.get("measured")
    return f"{failure['reason']}: {evidence}" if evidence else failure["reason"]


def format_shadow_policies(report: Report) -> list[str]:
    """Format a line about each shadow policy that applies to the pod."""
    lines = [
        f"{_INDENT}shadow policy {each['policy']}: {format_shadow_verdict(each)}"
        for each in report.get("shadow", ())
    ]
    return ["", *lines] if lines else []


def format_shadow_verdict(verdict: Mapping[str, Any]) -> str:
    """Format the decision of a shadow policy for a pod."""
    node, message = verdict["node"], verdict["message"]
    return {
        "sameNode": "the same node",
        "otherNode": f"it would go to {node}",
        "newlySchedulable": f"it would be placed, on {node}",
        "newlyUnschedulable": f"it would stay pending: {message}",
        "stillUnschedulable": f"it would also stay pending: {message}",
        "failed": f"failed: {message}",
    }[verdict["outcome"]]


def format_scheduling_gate(report: Report) -> list[str]:
    """Format the scheduling gate of a pod, if it has one."""
    gate = report.get("gated")
    if gate is None:
        return []
    reasons = ", ".join(gate["reasons"])
    return [f"{_INDENT}but it is held back by {gate['plugin']}: {reasons}"]


def format_changing_times(report: Report) -> list[str]:
    """Format the times of a pod that will change the answers of rules."""
    return [
        f"{_INDENT}{format_rejecting_plugin(each)}: {each['time']}"
        for each in report.get("times", ())
    ]


# --- rejections ----------------------------------------------------------------------------------


def format_rejection_table(rejected: Mapping[str, Any], most: int | None = None) -> str:
    """Format a table of every reason and the nodes that it excludes, the most frequent first.

    `most` limits the number of rows.
    """
    which: dict[tuple[str, str], list[str]] = {}
    for name, verdict in rejected.items():
        for failure in verdict["all"]:
            which.setdefault((format_rejecting_plugin(failure), failure["reason"]), []).append(name)
    rows = [
        (f"{len(names):,}", *key, output.join_names_briefly(names))
        for key, names in sorted(which.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    shown = rows if most is None else rows[:most]
    table = output.format_table(("NODES", "REJECTED BY", "REASON", "WHICH"), shown, _INDENT)
    rest = len(rows) - len(shown)
    return f"{table}\n{_INDENT}and {output.format_count(rest, 'more reason')}" if rest else table


def format_rejecting_plugin(failure: Mapping[str, Any]) -> str:
    """Return the plugin, or the name and line of a policy rule."""
    if failure["rule"]:
        return f"{failure['policy']}/{failure['rule']} (line {failure['line']})"
    return failure["plugin"] or "(PreFilter)"


# --- scores --------------------------------------------------------------------------------------


def _rank_nodes(report: Report) -> list[str]:
    scores: Mapping[str, Points] = report["scores"]
    return sorted(scores, key=lambda name: (-scores[name]["total"], name))


def format_best_nodes(report: Report) -> list[str]:
    """Format lines about the best nodes, the runner-up and the difference between them."""
    best: Sequence[str] = report["best"]
    scores: Mapping[str, Points] = report["scores"]
    total = scores[best[0]]["total"]
    if len(best) > 1:
        head = f"{_INDENT}best: {len(best):,} nodes with {total} points each, one at random"
        return [f"{head}: {output.join_names_briefly(best)}"]
    ranking = _rank_nodes(report)
    if len(ranking) == 1:
        return [f"{_INDENT}best: {best[0]}, the only one that fits"]
    runner_up = ranking[1]
    lead = format_points_difference(scores[best[0]], scores[runner_up])
    return [
        f"{_INDENT}best: {best[0]} with {total} points",
        f"{_INDENT}runner-up: {runner_up} with {scores[runner_up]['total']} points ({lead})",
    ]


def format_points_difference(winner: Points, other: Points) -> str:
    """Format the differences in points by rule for another node, the largest difference first."""
    differences = {rule: round(other[rule] - winner[rule], 2) for rule in winner if rule != "total"}
    ordered = sorted(differences.items(), key=lambda item: (-abs(item[1]), item[0]))
    return ", ".join(f"{rule} {points:+,}" for rule, points in ordered if points)


def format_score_table(scores: Mapping[str, Points], ranking: Sequence[str]) -> str:
    """Format the weighted points rule by rule; nodes are columns, in the order of `ranking`."""
    shown = ranking[:_SHOWN_NODES]
    rules = sorted(rule for rule in scores[shown[0]] if rule != "total")
    rows = [(rule, *(scores[name][rule] for name in shown)) for rule in [*rules, "total"]]
    text = output.format_table(("POINTS", *shown), rows, _INDENT)
    rest = len(ranking) - len(shown)
    return f"{text}\n{_INDENT}and {output.format_count(rest, 'more node')}" if rest > 0 else text
