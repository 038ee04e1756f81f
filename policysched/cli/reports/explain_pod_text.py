"""Formats the report of `explain pod` as text: the report of `explain --all` with advice.

The text is made only from the JSON form (schemas/explain.schema.json), so the two agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from policysched import amounts, units
from policysched.cli.render import output
from policysched.cli.reports import explain_metrics_text, explain_text

Report: TypeAlias = Mapping[str, Any]

_INDENT = "  "
_ITEM = "  - "
_MOST_REASONS = 20
_MOST_FLIPS = 5
_MOST_EDITS = 10
_NEVER_EDITED = frozenset(
    {"DynamicResources", "NodeVolumeLimits", "VolumeBinding", "VolumeRestrictions", "VolumeZone"}
)
_UNITS = {str(unit): unit for unit in units.NAMES}


def format_pod_explanation(report: Report, *, all_nodes: bool = False) -> str:
    """Format the rejections, the points of the best node, and changes that alter the result.

    The text is about a page long, regardless of the size of the cluster. `all_nodes` adds a line
    about each node.
    """
    nodes: Mapping[str, Any] = report["nodes"]
    parts = [explain_text.format_feasible_count(report)]
    parts += _format_current_node(report)
    parts += explain_text.format_scheduling_gate(report)
    parts += explain_text.format_extenders(report)
    if report["message"]:
        parts.append(_INDENT + report["message"])
    parts += explain_text.format_changing_times(report)
    rejected = {name: verdict for name, verdict in nodes.items() if not verdict["ok"]}
    if rejected:
        parts += [
            "",
            explain_text.format_rejection_table(rejected, None if all_nodes else _MOST_REASONS),
        ]
    if report["scores"]:
        parts += [
            "",
            *explain_text.format_best_nodes(report),
            "",
            _format_points_comparison(report["ranking"]),
        ]
        parts += _format_winner_flips(report)
    else:
        parts += _format_suggested_edits(report)
    parts += explain_metrics_text.format_metric_table(report)
    parts += explain_text.format_shadow_policies(report)
    if all_nodes:
        parts += ["", _format_all_node_verdicts(report)]
    return "\n".join(parts)


def format_node_explanation(report: Report, node: str) -> str:
    """Format the report about one pod on one node, with the edits that make it fit there."""
    parts = [explain_text.format_node_report(report, node), *_format_current_node(report)]
    if not report["nodes"][node]["ok"]:
        parts += _format_suggested_edits(report, f"on {node}")
    return "\n".join(parts)


def _format_current_node(report: Report) -> list[str]:
    """Format the node of a placed pod and whether the pod would be placed there again.

    The pod's own requests on that node do not count.
    """
    placed = report.get("placed")
    if placed is None:
        return []
    node, best = placed["node"], report["best"]
    if not placed["exists"]:
        said = f"it is on {node}, a node that the cluster does not have"
    elif not placed["fits"]:
        reasons = _format_node_rejection_reasons(report, node)
        said = f"it is on {node}, which would not be chosen now: {reasons}"
    elif not placed["best"]:
        others = output.join_names_briefly(best)
        said = f"it is on {node} and fits there, but {others} would be chosen now"
    elif len(best) > 1:
        said = f"it is on {node}, which could be chosen again: {len(best):,} nodes are as good"
    else:
        said = f"it is on {node}, which would be chosen again"
    return [f"{_INDENT}{said} (decided as if it had no node)"]


def _format_node_rejection_reasons(report: Report, node: str) -> str:
    verdict = report["nodes"].get(node)
    return ", ".join(verdict["reasons"]) if verdict else "see its verdict"


# --- scores --------------------------------------------------------------------------------------


def _format_points_comparison(ranking: Sequence[Report]) -> str:
    """Format the points of the winner and the runner-up by rule, side by side."""
    header = ["RULE", "WEIGHT"]
    for each in ranking:
        header += [f"{each['node']}: RAW", "NORMALISED", "POINTS"]
    of_rules = [{rule["rule"]: rule for rule in each["rules"]} for each in ranking]
    rows: list[list[object]] = []
    for name in sorted(of_rules[0]):
        row: list[object] = [name, of_rules[0][name]["weight"]]
        for rules in of_rules:
            row += [
                _format_raw_score(rules[name]),
                rules[name]["normalised"],
                rules[name]["points"],
            ]
        rows.append(row)
    total: list[object] = ["total", ""]
    for each in ranking:
        total += ["", "", each["total"]]
    return output.format_table(header, [*rows, total], _INDENT)


def _format_raw_score(rule: Report) -> str:
    raw = rule["raw"]
    if raw is None:
        return "_"
    if "unit" in rule and rule["unit"] in _UNITS:
        return amounts.format_amount(raw, _UNITS[rule["unit"]])
    return f"{raw:,}" if isinstance(raw, int) else f"{raw:,.6g}"


def _format_winner_flips(report: Report) -> list[str]:
    """Format the smallest changes that make other nodes win."""
    if len(report["scores"]) == len(report["best"]):
        return []
    flips = report["flips"]
    if not flips:
        return [
            "",
            (
                f"{_INDENT}no single change to a weight, a metric or requests "
                f"{_choose_no_flip_phrase(report)}"
            ),
        ]
    lines = [
        f"{_ITEM}{flip['text']}: {output.join_names_briefly(flip['winners'])}"
        for flip in flips[:_MOST_FLIPS]
    ]
    return ["", f"{_INDENT}the smallest changes that would make another node win:", *lines]


def _choose_no_flip_phrase(report: Report) -> str:
    return "flips it" if report["triedAll"] else "was found in time that flips it"


# --- suggested edits -----------------------------------------------------------------------------


def _format_suggested_edits(report: Report, where: str = "") -> list[str]:
    """Format the edits that make the pod fit, or else the obstacles on the least rejected nodes."""
    parts: list[str] = []
    edits = report.get("edits", [])
    place = f" {where}" if where else ""
    if edits:
        parts += ["", f"{_INDENT}it would fit{place} by one of these edits alone:"]
        shown = edits[:_MOST_EDITS]
        parts += [
            _ITEM + (each["text"] if where else _format_suggested_edit(each)) for each in shown
        ]
        rest = len(edits) - _MOST_EDITS
        parts += (
            [f"{_INDENT}and {output.format_count(rest, 'more edit')}: -o json"] if rest > 0 else []
        )
    nearest = report.get("nearest")
    if nearest is not None:
        parts += [
            "",
            (
                f"{_INDENT}no single edit to the pod, nodes or policies "
                f"{_choose_no_edit_phrase(report)}{place}"
            ),
        ]
        if any(each["by"] in _NEVER_EDITED for each in nearest["obstacles"]):
            parts[-1] += "; volumes and device claims are not edited"
    if nearest is not None and not where:
        parts.append(
            f"{_INDENT}the fewest obstacles are on {_format_least_rejected_nodes(nearest)}:"
        )
        parts += [
            f"{_ITEM}{each['by']}: {explain_text.format_rejection_reason(each)}"
            for each in nearest["obstacles"]
        ]
    preemption = report.get("preemption")
    if preemption is not None:
        victims = output.join_names_briefly(preemption["victims"]) or "no pods"
        parts += ["", f"{_INDENT}preemption would make room on {preemption['node']}: {victims}"]
    limits = report.get("preemptionLimits", [])
    if limits:
        parts += ["", *(f"{_INDENT}{format_preemption_limit(each)}" for each in limits)]
    return parts


def format_preemption_limit(limit: Report) -> str:
    """Format what a rule forbids preemption: to evict pods, or to make room on nodes."""
    nodes = output.format_count(limit["nodes"], "node")
    if not limit["pods"]:
        return f"policy {limit['rule']} allows no preemption on {nodes} that it rejects"
    pods = output.format_count(limit["pods"], "pod")
    more = limit["pods"] - len(limit["some"])
    named = ", ".join([*limit["some"], *([f"and {more:,} more"] if more else [])])
    return f"policy {limit['rule']} keeps {pods} of lower priority on {nodes}: {named}"


def _format_least_rejected_nodes(nearest: Report) -> str:
    """Format the node with the fewest obstacles, and other nodes with the same obstacles."""
    named = ", ".join([nearest["node"], *nearest["alike"]])
    return f"{named}, and {nearest['more']:,} more like it" if nearest["more"] else named


def _choose_no_edit_phrase(report: Report) -> str:
    return "lets it fit" if report["triedAll"] else "was found in time that lets it fit"


def _format_suggested_edit(edit: Report) -> str:
    nodes: Sequence[str] = edit["nodes"]
    if edit["target"] == "node":
        more = f", and {edit['more']:,} more like it" if edit["more"] else ""
        return f"{edit['text']}: {' or '.join(nodes)}{more}"
    count = output.format_count(len(nodes), "node")
    return f"{edit['text']}: fits on {count}, {output.join_names_briefly(nodes)}"


# --- every node ----------------------------------------------------------------------------------


def _format_all_node_verdicts(report: Report) -> str:
    """Format a line about each node: its points, or everything that rejects it."""
    scores: Mapping[str, Any] = report["scores"]
    rows = [
        (name, scores[name]["total"] if name in scores else "", _format_node_verdict(verdict))
        for name, verdict in report["nodes"].items()
    ]
    return output.format_table(("NODE", "POINTS", "REJECTED BY"), rows, _INDENT)


def _format_node_verdict(verdict: Report) -> str:
    return "; ".join(
        f"{explain_text.format_rejecting_plugin(each)}: {each['reason']}" for each in verdict["all"]
    )
