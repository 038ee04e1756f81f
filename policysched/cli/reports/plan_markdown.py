"""Formats a plan as Markdown, short enough for a comment on a GitHub pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from policysched.cli.render import output
from policysched.cli.reports import plan_bindings_text, plan_text, plan_words

Report: TypeAlias = dict[str, Any]

MAX_CHARACTERS = 60_000
"""Below GitHub's limit for a comment, which is 65,536 characters."""
_ROWS = 50
_COUNTED = {
    "unschedulable": "become unschedulable",
    "profileRemoved": "lose their profile",
    "moved": "move",
    "schedulable": "become schedulable",
    "profileAdded": "get a profile",
    "victims": "other evictions",
    "nodes": "other nodes",
    "reason": "other reason",
}
"""Maps an outcome to its column; columns of profiles are omitted if no pod has the outcome."""
_FENCES = re.compile("`+")
_MAX_CELL = 200


def format_plan_markdown(report: Report) -> str:
    """Format a plan as Markdown; lists of pods are collapsed, and truncated if they are long."""
    counts = report["summary"]
    sides = f"{_format_inline_code(report['from'])} → {_format_inline_code(report['to'])}"
    numbers = ". ".join(plan_text.format_pod_and_binding_counts(report))
    blocks = ["## policysched plan", f"{sides}, {numbers}"]
    if "bindings" not in report or any(counts[phase]["pods"] for phase in ("running", "pending")):
        blocks.append(_format_outcome_table(counts))
    if report["edits"]:
        blocks.append(_format_profile_edits(report["edits"]))
    for key, words in (("rejects", "newly keep"), ("admits", "no longer keep")):
        if report[key]:
            blocks.append(
                _format_rejection_differences(report[key], f"Rules that {words} pods off nodes")
            )
    for outcome in plan_text.LISTED:
        changed = [each for each in report["changes"] if each["outcome"] == outcome]
        if changed:
            blocks.append(_format_pod_changes(outcome, changed))
    if "bindings" in report:
        blocks += _format_binding_changes(report["bindings"])
    if "rollout" in report:
        blocks.append(_format_rollout_stages(report["rollout"]))
    return _limit_comment_length(blocks)


def _format_rollout_stages(stages: list[Report]) -> str:
    """Format the stages through which the new policies come into force as a numbered list."""
    named = [
        f"{_format_inline_code(stage['pods'])} ({plan_text.format_stage_needs(stage)})"
        for stage in stages
    ]
    lines = [f"{number}. {text}" for number, text in enumerate([*named, "all pods"], 1)]
    return "\n".join(["With `run`, this change passes:", "", *lines])


def _format_binding_changes(bindings: Report) -> list[str]:
    """Format the blocks about the bindings of a Karmada control plane."""
    blocks = []
    if bindings["edits"]:
        rows = [
            (
                each["change"],
                _format_inline_code(each["name"]),
                _format_inline_code(plan_words.describe_profile_edit(each, _MAX_CELL)),
                f"{sum(each['bindings'].values()):,}",
            )
            for each in bindings["edits"][:_ROWS]
        ]
        table = _format_table(("", "what", "how", "bindings"), rows, len(bindings["edits"]))
        blocks.append(f"### Edits to cluster policies\n\n{table}")
    for outcome, changed in plan_bindings_text.group_bindings_by_outcome(bindings):
        listed = [_format_binding_change(each) for each in changed[:_ROWS]]
        head = plan_bindings_text.format_binding_outcome_count(outcome, len(changed))
        table = _format_table(("binding", "now", "from", "to", "cause"), listed, len(changed))
        blocks.append(f"<details><summary>{head}</summary>\n\n{table}\n\n</details>")
    return blocks


def _format_binding_change(change: Report) -> tuple[str, ...]:
    places = (_format_inline_code(each) for each in plan_bindings_text.format_binding_cells(change))
    return (_format_inline_code(change["binding"]), *places, _format_change_cause(change["cause"]))


def _limit_comment_length(blocks: list[str]) -> str:
    """Return the blocks that fit into a comment, and the number of omitted blocks."""
    shown: list[str] = []
    length = 0
    for block in blocks:
        if length + len(block) > MAX_CHARACTERS:
            left_out = len(blocks) - len(shown)
            shown.append(f"*{left_out} more parts are omitted; `-o json` lists all.*")
            break
        shown.append(block)
        length += len(block) + 2
    return "\n\n".join(shown)


def _format_outcome_table(counts: Report) -> str:
    """Format the number of pods for each phase and outcome."""
    phases = ("running", "pending")
    names = {
        head: name
        for head, name in _COUNTED.items()
        if not head.startswith("profile") or any(counts[phase][head] for phase in phases)
    }
    rows = [
        (phase, f"{counts[phase]['pods']:,}", *(f"{counts[phase][head]:,}" for head in names))
        for phase in phases
    ]
    return _format_table(("", "pods", *names.values()), rows)


def _format_profile_edits(edits: list[Report]) -> str:
    """Format a table of the edits with the numbers of pods that they affect."""
    rows = [
        (
            each["change"],
            _format_inline_code(each["name"]),
            _format_inline_code(plan_words.describe_profile_edit(each, _MAX_CELL)),
            *(f"{each['pods'][outcome]:,}" for outcome in ("unschedulable", "moved")),
        )
        for each in edits[:_ROWS]
    ]
    header = ("", "what", "how", "unschedulable", "moved")
    return "### Edits\n\n" + _format_table(header, rows, len(edits))


def _format_rejection_differences(verdicts: list[Report], head: str) -> str:
    """Format a table of the rules whose rejections of nodes differ."""
    rows = [
        (
            _format_inline_code(plan_text.format_rejecting_plugin(each)),
            _format_inline_code(output.join_names_briefly(each["nodes"])),
            f"{each['pods']:,}",
            _format_inline_code(each["reason"]),
        )
        for each in verdicts[:_ROWS]
    ]
    return f"### {head}\n\n" + _format_table(
        ("rule", "nodes", "pods", "reason"), rows, len(verdicts)
    )


def _format_pod_changes(outcome: str, changed: list[Report]) -> str:
    """Format a collapsed table of the pods with one outcome."""
    rows = [
        (
            _format_inline_code(each["pod"]),
            _format_node_name(each["node"], "pending"),
            _format_pod_fate(each["from"]),
            _format_pod_fate(each["to"]),
            _format_change_cause(each["cause"]),
        )
        for each in changed[:_ROWS]
    ]
    head = f"{len(changed):,} {plan_text.describe_pod_outcome(outcome, len(changed))}"
    table = _format_table(("pod", "now", "from", "to", "cause"), rows, len(changed))
    return f"<details><summary>{head}</summary>\n\n{table}\n\n</details>"


def _format_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]], number: int = 0) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    shown = ["| " + " | ".join(cells) + " |" for cells in lines]
    rest = number - len(rows)
    return "\n".join([*shown, *([f"\n*and {rest:,} more*"] if rest > 0 else [])])


def _format_node_name(name: str | None, otherwise: str = "–") -> str:
    return otherwise if name is None else _format_inline_code(name)


def _format_pod_fate(fate: Report) -> str:
    """Format the node of a pod and the pods that are evicted for it."""
    evicted = ", ".join(_format_inline_code(name) for name in fate["victims"])
    return _format_node_name(fate["node"]) + (f", evicts {evicted}" if evicted else "")


def _format_change_cause(cause: Report | None) -> str:
    """Format a cause; the text about a node is on a separate line."""
    if cause is None:
        return ""
    said = _format_inline_code(plan_words.describe_change_cause({**cause, "how": ""}))
    return f"{said}<br>{_format_inline_code(cause['how'])}" if cause["how"] else said


def _format_inline_code(words: str) -> str:
    """Format text as code, without links, mentions and tags, also within a table."""
    shown = plan_words.shorten_line(" ".join(words.split()), _MAX_CELL).replace("|", "\\|")
    longest = max((len(run) for run in _FENCES.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{shown}{pad}{fence}"
