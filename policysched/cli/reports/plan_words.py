"""Describes edits and causes for all formats of plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from policysched.cli.render import styles

Report: TypeAlias = dict[str, Any]

SHOWN = 10
"""The maximum number of rows in a list."""
WIDTH = 78
STYLES = {
    "unschedulable": styles.BAD,
    "moved": styles.WARNING,
    "victims": styles.WARNING,
    "schedulable": styles.GOOD,
}
"""Maps an outcome to the style of its heading."""
_ARROW = " → "
_CONTEXT = 2
"""The number of words shown before the words that differ."""


def describe_profile_edit(edit: Report, width: int) -> str:
    """Describe an edit and its profiles; long texts are truncated."""
    profiles = shorten_line(_describe_profiles(edit.get("profiles", ())), width // 2)
    return _describe_edit_change(edit, width - len(profiles)) + profiles


def _describe_edit_change(edit: Report, width: int) -> str:
    """Describe what an edit changes; a long text is reduced to the words that differ."""
    if edit["note"]:
        note = shorten_line(f"({edit['note']})", width)
        rule = edit["new"] or edit["old"]
        return f"{shorten_line(rule, max(width - len(note), width // 3))} {note}"
    if edit["change"] != "changed":
        return shorten_line(edit["new"] or edit["old"], width)
    said = _ARROW.join((edit["old"], edit["new"]))
    if len(said) <= width:
        return said
    half = (width - len(_ARROW)) // 2
    context = _CONTEXT
    sides = _find_differing_words(edit["old"], edit["new"], context)
    while context and max(map(len, sides)) > half:
        context -= 1
        sides = _find_differing_words(edit["old"], edit["new"], context)
    return _ARROW.join(shorten_line(side, half) for side in sides)


def _describe_profiles(names: Sequence[str]) -> str:
    """Format the profiles of an edit, if it was not made in all of them."""
    said = ", ".join(f"`{name}`" for name in names)
    return f" (profile{'s'[: len(names) - 1]} {said})" if names else ""


def _find_differing_words(old: str, new: str, context: int) -> tuple[str, str]:
    """Return the differing middle parts of two texts, with `context` words before them."""
    before, after = old.split(), new.split()
    shortest = min(len(before), len(after))
    pairs = zip(before, after, strict=False)
    head = next((at for at, pair in enumerate(pairs) if pair[0] != pair[1]), shortest)
    backwards = zip(reversed(before), reversed(after), strict=False)
    tail = next((at for at, pair in enumerate(backwards) if pair[0] != pair[1]), shortest)
    tail = min(tail, shortest - head)
    first = max(head - context, 0)
    start, end = ["…"] if first else [], ["…"] if tail else []
    shown = ([*start, *each[first : len(each) - tail], *end] for each in (before, after))
    was, now = (" ".join(each) for each in shown)
    return was, now


def describe_change_cause(cause: Report | None) -> str:
    """Describe a cause in a few words."""
    if cause is None:
        return ""
    names = ", ".join(cause["edits"])
    match cause["kind"]:
        case "edit":
            said = names
        case "together":
            said = f"{names} together"
        case "several":
            said = f"each of {names}"
        case "earlierPods":
            said = "pods placed before it"
        case "profile":
            return str(cause["how"])
        case _:
            said = "unknown"
    return f"{said}: {cause['how']}" if cause["how"] else said


def describe_pod_fate(fate: Report) -> str:
    """Format the node of a pod, or a dash for none, and the pods that are evicted for it."""
    return f"{fate['node'] or '-'}{describe_evictions(fate)}"


def describe_evictions(fate: Report) -> str:
    """Format the pods that are evicted for a pod; "" for none."""
    return f", evicts {', '.join(fate['victims'])}" if fate["victims"] else ""


def shorten_line(line: str, width: int = WIDTH) -> str:
    """Truncate a line that is longer than `width` characters."""
    return line if len(line) <= width else line[: width - 1] + "…"
