"""A plan as text for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from policysched.cli import output

Report: TypeAlias = dict[str, Any]

SHOWN = 10
_WIDTH = 78
_ARROW = " → "
_CONTEXT = 2
"""Words that are shown before those that differ."""
_HEADS = {
    "unschedulable": ("pod becomes unschedulable", "pods become unschedulable"),
    "moved": ("pod would move", "pods would move"),
    "schedulable": ("pod becomes schedulable", "pods become schedulable"),
    "reason": ("pod stays pending for another reason", "pods stay pending for another reason"),
    "nodes": ("pod stays, other nodes take it", "pods stay, other nodes take them"),
}
_LISTED = ("unschedulable", "moved", "schedulable", "reason")


def text(report: Report) -> str:
    """Return what a plan says."""
    parts = [summary(report)]
    if report["edits"]:
        rows = [
            (each["change"], each["name"], edit_words(each, _WIDTH)) for each in report["edits"]
        ]
        parts.append("edits\n" + output.table(("", "", ""), rows, "  ").split("\n", 1)[1])
    parts += [_verdicts(report[key], words) for key, words in _VERDICTS if report[key]]
    for outcome in _LISTED:
        changed = [each for each in report["changes"] if each["outcome"] == outcome]
        if changed:
            parts.append(_changes(outcome, changed))
    return "\n\n".join(parts)


_VERDICTS = (("rejects", "newly keeps pods off"), ("admits", "no longer keeps pods off"))


def summary(report: Report) -> str:
    """Return one sentence about both sides."""
    return f"{report['from']} → {report['to']}, {numbers(report)}"


def numbers(report: Report) -> str:
    """Return what changes, in numbers."""
    counts = report["summary"]
    looked_at = (
        f"{output.count(counts['running']['pods'], 'running pod')} and "
        f"{counts['pending']['pods']:,} pending"
    )
    said = [f"{number:,} {words(each, number)}" for each, number in _totals(counts)]
    said = said or ["nothing changes for any pod"]
    lost = counts["nodeLost"]
    tail = f"; the present node of {output.count(lost, 'pod')} no longer takes it" if lost else ""
    left = counts["unserved"]
    tail += f"; {output.count(left, 'pod')} served by no profile left out" if left else ""
    return f"{looked_at}: {', '.join(said)}{tail}"


def words(outcome: str, number: int) -> str:
    """Return what an outcome is called for a number of pods."""
    return _HEADS[outcome][number != 1]


def _totals(counts: Report) -> Iterable[tuple[str, int]]:
    for outcome in _HEADS:
        number = counts["running"][outcome] + counts["pending"][outcome]
        if number:
            yield outcome, number


def edit_words(edit: Report, width: int) -> str:
    """Return what an edit did; what is long is cut, but not the words that differ."""
    if edit["note"]:
        note = cut(f"({edit['note']})", width)
        rule = edit["new"] or edit["old"]
        return f"{cut(rule, max(width - len(note), width // 3))} {note}"
    if edit["change"] != "changed":
        return cut(edit["new"] or edit["old"], width)
    said = _ARROW.join((edit["old"], edit["new"]))
    if len(said) <= width:
        return said
    half = (width - len(_ARROW)) // 2
    return _ARROW.join(cut(each, half) for each in _differing(edit["old"], edit["new"]))


def _differing(old: str, new: str) -> tuple[str, str]:
    """Return the words that two texts do not share at their ends, with some before them."""
    before, after = old.split(), new.split()
    shortest = min(len(before), len(after))
    pairs = zip(before, after, strict=False)
    head = next((at for at, pair in enumerate(pairs) if pair[0] != pair[1]), shortest)
    backwards = zip(reversed(before), reversed(after), strict=False)
    tail = next((at for at, pair in enumerate(backwards) if pair[0] != pair[1]), shortest)
    tail = min(tail, shortest - head)
    first = max(head - _CONTEXT, 0)
    start, end = ["…"] if first else [], ["…"] if tail else []
    shown = ([*start, *each[first : len(each) - tail], *end] for each in (before, after))
    was, now = (" ".join(each) for each in shown)
    return was, now


def rule_name(verdict: Report) -> str:
    """Return who says a verdict."""
    if verdict["rule"] is not None:
        return f"{verdict['policy']}/{verdict['rule']}"
    return str(verdict["plugin"]) or "scheduler"


def cause_words(cause: Report | None) -> str:
    """Return a cause in a few words."""
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
        case _:
            said = "another profile"
    return f"{said}: {cause['how']}" if cause["how"] else said


def cut(line: str, width: int = _WIDTH) -> str:
    """Return a line, a long one cut short."""
    return line if len(line) <= width else line[: width - 1] + "…"


def place(name: str | None) -> str:
    """Return a node, or a dash for none."""
    return name or "-"


def _verdicts(verdicts: list[Report], head: str) -> str:
    lines = [
        f"  {rule_name(each)} {head} {output.names(each['nodes'])} "
        f"({output.count(each['pods'], 'pod')}): {each['reason']}"
        for each in verdicts[:SHOWN]
    ]
    return "\n".join(["nodes", *lines, *_more(len(verdicts))])


def _changes(outcome: str, changed: list[Report]) -> str:
    rows = [
        (
            each["pod"],
            each["phase"] if each["node"] is None else each["node"],
            place(each["from"]["node"]),
            place(each["to"]["node"]),
            cause_words(each["cause"]),
        )
        for each in changed[:SHOWN]
    ]
    head = f"{len(changed):,} {words(outcome, len(changed))}"
    table = output.table(("POD", "NOW", "FROM", "TO", "CAUSE"), rows, "  ")
    return "\n".join([head, table, *_more(len(changed))])


def _more(number: int) -> list[str]:
    rest = number - SHOWN
    return [f"  and {rest:,} more; `-o json` tells all"] if rest > 0 else []
