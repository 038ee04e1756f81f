"""Decisions of a running scheduler, for people.

Everything is drawn from the JSON form (schemas/decisions.schema.json).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from policysched.cli.render import output
from policysched.cli.reports import explain_text

Decision: TypeAlias = Mapping[str, Any]

_INDENT = "  "
_HASH_LENGTH = 8


def text(decision: Decision) -> str:
    """Return where a pod went and why, or why it went nowhere."""
    parts = [_head(decision), _INDENT + _provenance(decision), _INDENT + _times(decision)]
    fitting = f"{decision['feasible']:,} of {decision['nodes']:,} nodes fit"
    parts.append(_INDENT + fitting)
    if decision["message"]:
        parts.append(_INDENT + decision["message"])
    if decision["nominatedNode"]:
        victims = output.names(decision["victims"]) or "nobody"
        parts.append(f"{_INDENT}room is made on {decision['nominatedNode']}, of {victims}")
    parts += [_INDENT + seen for seen in decision["evidence"]]
    if decision["rejections"]:
        parts += ["", _rejections(decision)]
    if decision["scores"]:
        best, scores = decision["best"], decision["scores"]
        parts += ["", *_lead(decision), "", explain_text.score_table(scores, best)]
    return "\n".join(parts)


def _head(decision: Decision) -> str:
    results = {
        "scheduled": f"{decision['pod']} scheduled to {decision['node']}",
        "unschedulable": f"{decision['pod']} does not fit",
        "error": f"{decision['pod']} was not scheduled for an error",
    }
    return f"{results[decision['result']]} (attempt {decision['attempt']}, {decision['time']})"


def _provenance(decision: Decision) -> str:
    if not decision["policyHash"]:
        return f"profile {decision['profile']}, without policies"
    named = output.names(decision["policies"])
    return f"profile {decision['profile']}: {named} ({decision['policyHash'][:_HASH_LENGTH]})"


def _times(decision: Decision) -> str:
    waited = f"waited {_duration(decision['waitedSeconds'])}"
    decided = f"decided in {_duration(decision['decidedSeconds'])}"
    if decision["endedSeconds"] is None:
        return f"{waited}, {decided}, being bound"
    end = "bound" if decision["result"] == "scheduled" else "over"
    return f"{waited}, {decided}, {end} after {_duration(decision['endedSeconds'])}"


def _duration(seconds: float) -> str:
    """Return seconds in the unit in which they are a number of few digits."""
    if seconds >= 1:
        return f"{seconds:,.1f}s"
    return f"{seconds * 1e3:.1f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}µs"  # noqa: PLR2004 - units


def _rejections(decision: Decision) -> str:
    rows = [
        (f"{each['nodes']:,}", explain_text.who(each), reason, _examples(each))
        for each in decision["rejections"]
        for reason in each["reasons"]
    ]
    return output.table(("NODES", "REJECTED BY", "REASON", "WHICH"), rows, _INDENT)


def _examples(rejection: Mapping[str, Any]) -> str:
    shown = ", ".join(rejection["examples"])
    rest = rejection["nodes"] - len(rejection["examples"])
    return f"{shown} and {rest:,} more" if rest else shown


def _lead(decision: Decision) -> list[str]:
    """Return lines about the chosen node and the one that came next."""
    chosen, *others = decision["best"]
    scores = decision["scores"]
    lines = [f"{_INDENT}chosen: {chosen} with {scores[chosen]['total']} points"]
    if others:
        following = others[0]
        lead = explain_text.difference(scores[chosen], scores[following]) or "equal in all rules"
        total = scores[following]["total"]
        lines.append(f"{_INDENT}runner-up: {following} with {total} points ({lead})")
    return lines
