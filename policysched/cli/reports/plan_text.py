"""Formats a plan as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from policysched.cli.render import output, styles
from policysched.cli.reports import plan_bindings_text, plan_words

Report: TypeAlias = dict[str, Any]

_HEADS = {
    "unschedulable": ("pod becomes unschedulable", "pods become unschedulable"),
    "profileRemoved": ("pod loses its profile", "pods lose their profile"),
    "moved": ("pod would move", "pods would move"),
    "schedulable": ("pod becomes schedulable", "pods become schedulable"),
    "profileAdded": ("pod gets a profile", "pods get a profile"),
    "victims": ("pod stays, its evictions change", "pods stay, their evictions change"),
    "reason": ("pod stays pending for another reason", "pods stay pending for another reason"),
    "nodes": ("pod stays, with other feasible nodes", "pods stay, with other feasible nodes"),
}
LISTED = (
    "unschedulable",
    "profileRemoved",
    "moved",
    "schedulable",
    "profileAdded",
    "victims",
    "reason",
)
"""The outcomes whose pods are listed."""


def format_plan_text(report: Report) -> str:
    """Format the summary, the edits, the changed rejections and the changed pods and bindings."""
    parts = [format_plan_summary(report)]
    if report["edits"]:
        rows = [
            (each["change"], each["name"], plan_words.describe_profile_edit(each, plan_words.WIDTH))
            for each in report["edits"]
        ]
        parts.append("edits\n" + output.format_table(("", "", ""), rows, "  "))
    parts += [
        _format_rejection_differences(report[key], words) for key, words in _VERDICTS if report[key]
    ]
    for outcome in LISTED:
        changed = [each for each in report["changes"] if each["outcome"] == outcome]
        if changed:
            parts.append(_format_pod_changes(outcome, changed))
    if "bindings" in report:
        parts += plan_bindings_text.format_binding_changes(report["bindings"])
    if "rollout" in report:
        parts.append(format_rollout_stages(report["rollout"]))
    return "\n\n".join(parts)


_VERDICTS = (("rejects", "newly keeps pods off"), ("admits", "no longer keeps pods off"))


def format_plan_summary(report: Report) -> str:
    """Format one sentence with both sides and the numbers of changes."""
    return f"{report['from']} → {report['to']}, {'. '.join(format_pod_and_binding_counts(report))}"


def format_rollout_stages(stages: list[Report]) -> str:
    """Format one sentence with the stages through which the new policies come into force."""
    named = [
        f"{number}. {stage['pods']} ({format_stage_needs(stage)})"
        for number, stage in enumerate(stages, 1)
    ]
    return f"with `run`, this change passes: {', '.join(named)}, then all pods"


def format_stage_needs(stage: Report) -> str:
    """Format the duration and the number of judged pods that a stage needs."""
    pods = output.format_count(stage["minPods"], "pod")
    return pods if stage["duration"] == "0s" else f"{stage['duration']}, {pods}"


def format_pod_and_binding_counts(report: Report) -> list[str]:
    """Format the summaries of pods, and of bindings if the cluster is a Karmada control plane."""
    counts, bindings = report["summary"], report.get("bindings")
    has_pods = counts["running"]["pods"] or counts["pending"]["pods"] or counts["unserved"]
    said = [format_pod_counts(report)] if has_pods or bindings is None else []
    return said if bindings is None else [*said, plan_bindings_text.format_binding_counts(bindings)]


def format_pod_counts(report: Report) -> str:
    """Summarise the changes to pods in numbers."""
    counts = report["summary"]
    looked_at = (
        f"{output.format_count(counts['running']['pods'], 'running pod')} and "
        f"{counts['pending']['pods']:,} pending"
    )
    said = [
        f"{number:,} {describe_pod_outcome(each, number)}"
        for each, number in _count_pods_by_outcome(counts)
    ]
    said = said or ["nothing changes for any pod"]
    lost = counts["nodeLost"]
    tail = (
        f"; the current node of {output.format_count(lost, 'pod')} no longer accepts "
        f"{'it' if lost == 1 else 'them'}"
        if lost
        else ""
    )
    left = counts["unserved"]
    tail += f"; {output.format_count(left, 'pod')} of other schedulers left out" if left else ""
    return f"{looked_at}: {', '.join(said)}{tail}"


def describe_pod_outcome(outcome: str, number: int) -> str:
    """Return the phrase for an outcome; `number` selects singular or plural."""
    return _HEADS[outcome][number != 1]


def _count_pods_by_outcome(counts: Report) -> Iterable[tuple[str, int]]:
    for outcome in _HEADS:
        number = counts["running"][outcome] + counts["pending"][outcome]
        if number:
            yield outcome, number


def format_rejecting_plugin(verdict: Report) -> str:
    """Return the plugin or rule of a rejection."""
    if verdict["rule"] is not None:
        return f"{verdict['policy']}/{verdict['rule']}"
    return str(verdict["plugin"]) or "scheduler"


def _format_rejection_differences(verdicts: list[Report], head: str) -> str:
    lines = [
        f"  {format_rejecting_plugin(each)} {head} {output.join_names_briefly(each['nodes'])} "
        f"({output.format_count(each['pods'], 'pod')}): {each['reason']}"
        for each in verdicts[: plan_words.SHOWN]
    ]
    return "\n".join(["nodes", *lines, *_format_omitted_count(len(verdicts))])


def _format_pod_changes(outcome: str, changed: list[Report]) -> str:
    """Format a table of the pods with one outcome."""
    rows = [
        (
            each["pod"],
            each["phase"] if each["node"] is None else each["node"],
            plan_words.describe_pod_fate(each["from"]),
            plan_words.describe_pod_fate(each["to"]),
            plan_words.describe_change_cause(each["cause"]),
        )
        for each in changed[: plan_words.SHOWN]
    ]
    head = f"{len(changed):,} {describe_pod_outcome(outcome, len(changed))}"
    table = output.format_table(("POD", "NOW", "FROM", "TO", "CAUSE"), rows, "  ")
    head = styles.mark_text_style(head, plan_words.STYLES.get(outcome, ""))
    return "\n".join([head, table, *_format_omitted_count(len(changed))])


def _format_omitted_count(number: int) -> list[str]:
    rest = number - plan_words.SHOWN
    return [f"  and {rest:,} more; `-o json` lists all"] if rest > 0 else []
