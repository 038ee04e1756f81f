"""Formats the part of a plan about bindings as text; `plan_markdown` uses some of its functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from policysched.cli.render import output, styles
from policysched.cli.reports import explain_binding_text, plan_words

if TYPE_CHECKING:
    from collections.abc import Sequence

Report: TypeAlias = dict[str, Any]

_HEADS = {
    "unschedulable": ("binding becomes unschedulable", "bindings become unschedulable"),
    "profileRemoved": ("binding loses its profile", "bindings lose their profile"),
    "clusters": ("binding would move to other clusters", "bindings would move to other clusters"),
    "replicas": ("binding would get other replicas", "bindings would get other replicas"),
    "schedulable": ("binding becomes schedulable", "bindings become schedulable"),
    "profileAdded": ("binding gets a profile", "bindings get a profile"),
    "reason": (
        "binding stays unscheduled for another reason",
        "bindings stay unscheduled for another reason",
    ),
    "present": ("binding leaves clusters that it has", "bindings leave clusters that they have"),
}
HEADER = ("BINDING", "NOW", "FROM", "TO", "CAUSE")


def format_binding_changes(bindings: Report) -> list[str]:
    """Format the blocks about bindings, without the summary."""
    parts = []
    if bindings["edits"]:
        rows = [
            (each["change"], each["name"], plan_words.describe_profile_edit(each, plan_words.WIDTH))
            for each in bindings["edits"]
        ]
        table = output.format_table(("", "", ""), rows, "  ")
        parts.append(f"edits to cluster policies\n{table}")
    for outcome, changed in group_bindings_by_outcome(bindings):
        shown = [_format_binding_row(each) for each in changed[: plan_words.SHOWN]]
        table = output.format_table(HEADER, shown, "  ")
        rest = len(changed) - plan_words.SHOWN
        more = [f"  and {rest:,} more; `-o json` lists all"] if rest > 0 else []
        title = styles.mark_text_style(
            format_binding_outcome_count(outcome, len(changed)), plan_words.STYLES.get(outcome, "")
        )
        parts.append("\n".join([title, table, *more]))
    return parts


def format_binding_counts(bindings: Report) -> str:
    """Summarise the changes to bindings in numbers."""
    counts = bindings["summary"]
    said = [format_binding_outcome_count(each, counts[each]) for each in _HEADS if counts[each]]
    said = said or ["nothing changes for any binding"]
    tail = _format_present_state(bindings["changes"])
    left = counts["unserved"]
    tail += f"; {output.format_count(left, 'binding')} of other schedulers left out" if left else ""
    return f"{output.format_count(counts['bindings'], 'binding')}: {', '.join(said)}{tail}"


def _format_present_state(changes: Sequence[Report]) -> str:
    """Say how many changes are of bindings without clusters, and when those of others show."""
    if not changes:
        return ""
    pending = sum(not each["present"] for each in changes)
    moving = sum(each["movesNow"] for each in changes)
    parts = [
        (pending, "pending"),
        (moving, "would change at the next attempt"),
        (len(changes) - pending - moving, "keep the clusters that they have"),
    ]
    told = ", ".join(f"{count:,} {text}" for count, text in parts if count)
    return f" (decided as if nothing were placed yet; now: {told})"


def group_bindings_by_outcome(bindings: Report) -> list[tuple[str, list[Report]]]:
    """Group the changes by outcome, the most severe outcome first."""
    changes = bindings["changes"]
    found = ((each, [c for c in changes if c["outcome"] == each]) for each in _HEADS)
    return [(outcome, changed) for outcome, changed in found if changed]


def format_binding_outcome_count(outcome: str, number: int) -> str:
    """Format the number of bindings with an outcome in words."""
    return f"{number:,} {_HEADS[outcome][number != 1]}"


def _format_binding_row(change: Report) -> tuple[str, ...]:
    return (
        change["binding"],
        *format_binding_cells(change),
        plan_words.describe_change_cause(change["cause"]),
    )


def format_binding_cells(change: Report) -> tuple[str, str, str]:
    """Format the clusters of a binding: now, with the old policies and with the new policies."""
    places = (change["present"], change["from"]["clusters"], change["to"]["clusters"])
    now, old, new = (explain_binding_text.format_target_clusters(each) or "-" for each in places)
    return now, old, new
