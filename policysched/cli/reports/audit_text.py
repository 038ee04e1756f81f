"""Format the report of `audit` as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from policysched import amounts
from policysched.cli.options import offline_options
from policysched.cli.render import output, styles

_INDENT = "  "
_OUTCOME_STYLES = {
    "evicted": styles.GOOD,
    "planned": styles.GOOD,
    "refused": styles.BAD,
    "failed": styles.BAD,
}


def format_audit_text(report: Mapping[str, Any]) -> str:
    """Return the summary, a table of violations for each rule, and notes."""
    parts = [_format_summary(report), _format_policies(report)]
    names = Counter((rule["policy"], rule["rule"]) for rule in report["rules"])
    for rule in report["rules"]:
        names_profile = names[rule["policy"], rule["rule"]] > 1
        head = _format_rule_head(rule, names_profile=names_profile)
        parts += ["", head, _format_table(rule)]
    if "moves" in report:
        parts += ["", *_format_moves(report["moves"])]
    notes = list(_format_notes(report))
    return "\n".join([*parts, *([""] if notes else []), *notes])


def _format_summary(report: Mapping[str, Any]) -> str:
    judged = output.format_count(report["pods"], "running pod")
    if not report["rules"]:
        good = styles.mark_text_style("no violation", styles.GOOD)
        return f"{good} among {judged}"
    number = f"{report['violatingPods']:,}"
    verb = "violates" if report["violatingPods"] == 1 else "violate"
    names = {(rule["policy"], rule["rule"]) for rule in report["rules"]}
    rules = output.format_count(len(names), "rule")
    bad = styles.mark_text_style(f"{number} of {judged} {verb} {rules}", styles.BAD)
    return f"{bad}: the policies would not place them on their nodes"


def _format_policies(report: Mapping[str, Any]) -> str:
    files = sorted({rule["file"] for rule in report["rules"]})
    if files:
        return offline_options.format_policies_in_force(
            files, report["policies"], report["policyHash"]
        )
    named = output.join_names_briefly(report["policies"]) or "no policy in force"
    return f"judged by {named}"


def _format_rule_head(rule: Mapping[str, Any], *, names_profile: bool) -> str:
    name = styles.mark_text_style(f"{rule['policy']}/{rule['rule']}", styles.HEADING)
    pods = output.format_count(rule["pods"], "pod")
    nodes = output.format_count(len(rule["nodes"]), "node")
    place = f"{rule['file']}:{rule['line']}"
    profile = f" profile {rule['profile']}," if names_profile else ""
    return f"{name} ({place}),{profile} {pods} on {nodes}\n{_INDENT}{rule['text']}"


def _format_table(rule: Mapping[str, Any]) -> str:
    rows = [
        (
            node["node"],
            f"{pod['namespace']}/{pod['name']}",
            _format_workload(pod["workload"]),
            _format_age(pod),
            pod["evidence"] or pod["reason"],
        )
        for node in rule["nodes"]
        for pod in node["pods"]
    ]
    header = ("NODE", "POD", "WORKLOAD", "FOR", "EVIDENCE")
    return output.format_table(header, rows, _INDENT)


def _format_moves(moves: Mapping[str, Any]) -> Iterator[str]:
    """Yield a head, and a table with the outcome for each violator."""
    counts = Counter(each["outcome"] for each in moves["pods"])
    summary = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
    head = "moves (dry run, no pod is evicted)" if moves["dryRun"] else "moves"
    yield f"{styles.mark_text_style(head, styles.HEADING)}: {summary or 'none'}"
    if moves["pods"]:
        rows = [
            (
                f"{each['namespace']}/{each['name']}",
                each["node"],
                each["target"] or "-",
                each["outcome"],
                ", ".join(each["rules"]),
                each["reason"],
            )
            for each in moves["pods"]
        ]
        header = ("POD", "FROM", "TO", "OUTCOME", "RULES", "WHY NOT")
        shown = [_OUTCOME_STYLES.get(each["outcome"], "") for each in moves["pods"]]
        yield output.format_table(header, rows, _INDENT, shown)


def _format_workload(workload: Mapping[str, str] | None) -> str:
    return "none" if workload is None else f"{workload['kind']}/{workload['name']}"


def _format_age(pod: Mapping[str, Any]) -> str:
    """Return how long a violation has lasted, or the age of the pod as its limit."""
    if pod["ageSeconds"] is not None:
        least = "at least " if pod["isAgeMinimum"] else ""
        return least + amounts.format_age(pod["ageSeconds"])
    if pod["podAgeSeconds"] is not None:
        return f"at most {amounts.format_age(pod['podAgeSeconds'])}"
    return "unknown"


def _format_notes(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the pods and rules that were left out, with the reason."""
    for each in report["unknown"]:
        pods = output.format_count(each["pods"], "pod")
        lacking = "no valid sample, or no known state of `until`"
        yield f"not judged by {each['rule']}: {pods}, whose nodes have {lacking}"
    if report["attemptRules"]:
        names = output.join_names_briefly(report["attemptRules"])
        yield f"not audited: {names}, because `waiting` and `podAge` are about an attempt"
