"""Formats the report of `explain binding` as text.

The text is made only from the JSON form (schemas/explain-binding.schema.json), so the two agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from policysched import amounts, spelling, units
from policysched.cli.render import output, styles
from policysched.cli.reports import explain_metrics_text, explain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Report: TypeAlias = dict[str, Any]

_INDENT = "  "
_SHOWN_CLUSTERS = 5
"""The maximum number of columns in the table of points; the best clusters are shown."""
_UNITS = {str(unit): unit for unit in units.NAMES}
_NO_LIMIT = 2**31 - 1
_ADDED = {
    "clusterGroup": "the groups of clusters",
    "spreadConstraint": "the spread constraints",
    "replicas": "the division of replicas",
}


def format_binding_report(report: Report) -> str:
    """Format the target clusters of a binding, the verdict on every cluster, and the steps."""
    parts = [
        *_format_placement_result(report),
        *_format_current_clusters(report),
        *_format_selecting_policies(report),
    ]
    attempts = report["attempts"]
    for attempt in attempts:
        parts += _format_attempt(attempt, is_one_of_many=len(attempts) > 1)
    return "\n".join(parts)


def _format_placement_result(report: Report) -> list[str]:
    if report["error"]:
        head = styles.mark_text_style(f"{report['binding']} gets no cluster", styles.BAD)
        return [head, _INDENT + report["error"]]
    told = format_target_clusters(report["clusters"]) or "no cluster, because it has no replicas"
    via = report["observedAffinity"]
    text = f"{report['binding']} goes to {told}" + (f", by {via}" if via else "")
    return [styles.mark_text_style(text, styles.GOOD)]


def format_target_clusters(found: Sequence[Mapping[str, Any]]) -> str:
    """Format clusters with their replicas, as `NAME:REPLICAS`."""
    return ", ".join(
        f"{each['name']}:{each['replicas']:,}" if each["replicas"] else each["name"]
        for each in found
    )


def _format_current_clusters(report: Report) -> list[str]:
    if not report["present"]:
        return []
    return [f"{_INDENT}it is at {format_target_clusters(report['present'])} now"]


def _format_selecting_policies(report: Report) -> list[str]:
    """Format a line about each policy that applies to the binding."""
    lines = []
    for policy in report["policies"]:
        adds = [_ADDED[statement] for statement in policy["adds"]]
        said = f" and defines {', '.join(adds)}" if adds else ""
        lines.append(f"{_INDENT}clusterPolicy {policy['policy']} applies{said}")
    return lines


# --- attempts ------------------------------------------------------------------------------------


def _format_attempt(attempt: Report, *, is_one_of_many: bool) -> list[str]:
    """Format one attempt: its refusals, its points, its steps and its metric evidence."""
    verdicts: Mapping[str, Any] = attempt["verdicts"]
    parts = [""]
    if is_one_of_many:
        ending = "fails: " + attempt["error"] if attempt["error"] else "succeeds"
        parts += [f"{_INDENT}{attempt['affinity']} {ending}", ""]
    feasible = attempt["feasible"]
    parts.append(
        f"{_INDENT}{output.format_count(len(verdicts), 'cluster')}, {feasible:,} pass all filters"
    )
    rejected = {name: verdict for name, verdict in verdicts.items() if not verdict["ok"]}
    if rejected:
        parts += ["", _format_refusal_reasons(rejected)]
    if attempt["ranking"]:
        parts += ["", _format_cluster_points(attempt["ranking"])]
    parts += _format_scheduling_steps(attempt)
    parts += explain_metrics_text.format_metric_table(_convert_to_node_report(attempt))
    return parts


def _format_refusal_reasons(rejected: Mapping[str, Any]) -> str:
    """Format a table of the refusal reasons; the most frequent reasons come first."""
    which: dict[tuple[str, str, str], dict[str, str]] = {}
    for name, verdict in rejected.items():
        for refusal in verdict["all"]:
            key = (
                explain_text.format_rejecting_plugin(refusal),
                refusal["reason"],
                refusal.get("measured", ""),
            )
            which.setdefault(key, {})[name] = refusal.get("evidence", "")
    rows = [
        (
            f"{len(evidence):,}",
            who,
            _format_refusal_reason(reason, measured, evidence),
            output.join_names_briefly(list(evidence)),
        )
        for (who, reason, measured), evidence in sorted(
            which.items(), key=lambda item: (-len(item[1]), item[0])
        )
    ]
    return output.format_table(("CLUSTERS", "REJECTED BY", "REASON", "WHICH"), rows, _INDENT)


def _format_refusal_reason(reason: str, measured: str, evidence: Mapping[str, str]) -> str:
    """Format a reason with the evidence of its clusters, or of the first one if they differ."""
    first, text = next(iter(evidence.items()))
    if len(set(evidence.values())) > 1:
        return f"{reason}, such as {first}: {text or measured}"
    told = text or measured
    return f"{reason}: {told}" if told else reason


def _format_cluster_points(ranking: Sequence[Report]) -> str:
    """Format the points by rule and the free capacity; clusters are columns, the best first."""
    shown = ranking[:_SHOWN_CLUSTERS]
    rows: list[Sequence[object]] = []
    for at, rule in enumerate(shown[0]["rules"]):
        name = rule["rule"] if rule["weight"] == 1 else f"{rule['rule']} × {rule['weight']}"
        rows.append((name, *(_format_rule_points(each["rules"][at]) for each in shown)))
    rows.append(("total, in whole points", *(f"{each['total']:,}" for each in shown)))
    rows.append(
        ("capacity for replicas", *(_format_available_replicas(each["room"]) for each in shown))
    )
    if any(each["present"] for each in shown):
        rows.append(("replicas there now", *(f"{each['present']:,}" for each in shown)))
    if any(each["tier"] for each in shown):
        rows.append(("overflow tier", *(f"{each['tier']:,}" for each in shown)))
    header = ("POINTS", *(each["cluster"] for each in shown))
    table = output.format_table(header, rows, _INDENT)
    rest = len(ranking) - len(shown)
    return (
        f"{table}\n{_INDENT}and {output.format_count(rest, 'more cluster')}" if rest > 0 else table
    )


def _format_rule_points(rule: Report) -> str:
    """Format the weighted points of a rule and the number from which they follow."""
    told = f"{rule['weighted']:,}"
    if "unit" not in rule:
        return told
    raw = rule["raw"]
    return (
        f"{told} (no data)" if raw is None else f"{told} ({_format_raw_score(raw, rule['unit'])})"
    )


def _format_raw_score(raw: float, unit: str) -> str:
    return amounts.format_amount(raw, _UNITS[unit]) if unit in _UNITS else f"{raw:,.6g}"


def _format_available_replicas(room: int) -> str:
    return "not asked" if room == _NO_LIMIT else f"{room:,}"


def _format_scheduling_steps(attempt: Report) -> list[str]:
    """Format the selection of clusters, the division of replicas and the result."""
    lines = []
    selection, division = attempt["selection"], attempt["division"]
    if selection is not None:
        names = output.join_names_briefly(selection["clusters"])
        lines.append(f"{_INDENT}chosen: {names} ({selection['how']})")
    if division is not None:
        count = f"{division['replicas']:,}, " if division["replicas"] else ""
        lines.append(
            f"{_INDENT}replicas: {count}{division['how']}{_format_division_weights(division)}"
        )
    if attempt["clusters"]:
        lines.append(f"{_INDENT}result: {format_target_clusters(attempt['clusters'])}")
    return ["", *lines] if lines else []


def _format_division_weights(division: Report) -> str:
    weights = division["weights"]
    if not weights:
        return ""
    scale = 100 if division["by"] == "score" else 1
    shown = [f"{name} {weight / scale:,.6g}" for name, weight in weights.items()]
    return f": {spelling.join_some_names(shown, _SHOWN_CLUSTERS)}"


def _convert_to_node_report(attempt: Report) -> Report:
    """Return the attempt in the form that `explain_metrics_text` reads, with clusters as nodes."""
    metrics = {
        name: {**metric, "nodes": metric["clusters"]}
        for name, metric in attempt.get("metrics", {}).items()
    }
    is_waiting = attempt["errorKind"] == "unschedulable" and not attempt["selection"]
    told = {**attempt, "metrics": metrics}
    return {**told, "prefilter": {} if is_waiting else None}
