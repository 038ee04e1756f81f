"""Formats decisions of a running scheduler as text.

The text is made only from the JSON form (schemas/decisions.schema.json).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from policysched.cli.render import output
from policysched.cli.reports import explain_text

Decision: TypeAlias = Mapping[str, Any]

_INDENT = "  "
_HASH_LENGTH = 8


def format_decision(decision: Decision) -> str:
    """Format the node of a pod and the reasons, or why it was not scheduled."""
    parts = [
        _format_decision_head(decision),
        _INDENT + _format_provenance(decision),
        _INDENT + _format_decision_times(decision),
    ]
    fitting = f"{decision['feasible']:,} of {decision['nodes']:,} nodes fit"
    parts.append(_INDENT + fitting)
    if decision["message"]:
        parts.append(_INDENT + decision["message"])
    if decision["nominatedNode"]:
        victims = output.join_names_briefly(decision["victims"]) or "no pods"
        parts.append(f"{_INDENT}preemption makes room on {decision['nominatedNode']}: {victims}")
    parts += [_INDENT + seen for seen in decision["evidence"]]
    if decision.get("skipped"):  # an older scheduler does not say
        skipped = ", ".join(decision["skipped"])
        parts.append(f"{_INDENT}skipped, no node had a valid sample of a metric: {skipped}")
    parts += [_INDENT + _format_extender(each) for each in decision.get("extenders", ())]
    if decision["rejections"]:
        parts += ["", _format_rejections(decision)]
    if decision["scores"]:
        best, scores = decision["best"], decision["scores"]
        parts += [
            "",
            *_format_winner_and_runner_up(decision),
            "",
            explain_text.format_score_table(scores, best),
        ]
    return "\n".join(parts)


def _format_decision_head(decision: Decision) -> str:
    results = {
        "scheduled": f"{decision['pod']} scheduled to {decision['node']}",
        "unschedulable": f"{decision['pod']} does not fit",
        "error": f"{decision['pod']} was not scheduled because of an error",
    }
    return f"{results[decision['result']]} (attempt {decision['attempt']}, {decision['time']})"


def _format_provenance(decision: Decision) -> str:
    if not decision["policyHash"]:
        return f"profile {decision['profile']}, without policies"
    named = output.join_names_briefly(decision["policies"])
    rollout = f", rollout of {decision['rolloutStage']}" if decision.get("rolloutStage") else ""
    return (
        f"profile {decision['profile']}: {named} ({decision['policyHash'][:_HASH_LENGTH]}){rollout}"
    )


def _format_decision_times(decision: Decision) -> str:
    waited = f"waited {_format_duration(decision['waitedSeconds'])}"
    decided = f"decided in {_format_duration(decision['decidedSeconds'])}"
    if decision["endedSeconds"] is None:
        return f"{waited}, {decided}, being bound"
    end = "bound" if decision["result"] == "scheduled" else "over"
    return f"{waited}, {decided}, {end} after {_format_duration(decision['endedSeconds'])}"


def _format_extender(asked: Mapping[str, Any]) -> str:
    problem = f", which failed: {asked['problem']}" if asked["problem"] else ""
    return f"asked extender {asked['url']}{problem}"


def _format_duration(seconds: float) -> str:
    """Format a duration in s, ms or µs."""
    if seconds >= 1:
        return f"{seconds:,.1f}s"
    return f"{seconds * 1e3:.1f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}µs"  # noqa: PLR2004 - units


def _format_rejections(decision: Decision) -> str:
    """Format a table of the reasons why nodes reject the pod."""
    rows = [
        (
            f"{each['nodes']:,}",
            explain_text.format_rejecting_plugin(each),
            reason,
            _format_rejected_nodes(each),
        )
        for each in decision["rejections"]
        for reason in each["reasons"]
    ]
    return output.format_table(("NODES", "REJECTED BY", "REASON", "WHICH"), rows, _INDENT)


def _format_rejected_nodes(rejection: Mapping[str, Any]) -> str:
    shown = ", ".join(rejection["examples"])
    rest = rejection["nodes"] - len(rejection["examples"])
    return f"{shown} and {rest:,} more" if rest else shown


def _format_winner_and_runner_up(decision: Decision) -> list[str]:
    """Format a line about the chosen node and a line about the runner-up, if any."""
    chosen, *others = decision["best"]
    scores = decision["scores"]
    lines = [f"{_INDENT}chosen: {chosen} with {scores[chosen]['total']} points"]
    if others:
        following = others[0]
        lead = (
            explain_text.format_points_difference(scores[chosen], scores[following])
            or "with equal points from all rules"
        )
        total = scores[following]["total"]
        lines.append(f"{_INDENT}runner-up: {following} with {total} points ({lead})")
    return lines
