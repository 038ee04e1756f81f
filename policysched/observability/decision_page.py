"""Serve /debug/decisions: the latest decisions with the verdicts of all rules, as JSON.

The schema is schemas/decisions.schema.json. `policysched explain --decisions` reads the page.
With `form=rows`, `decision_rows` answers instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import orjson

from policysched.framework import status
from policysched.framework.answers import rejections
from policysched.framework.scoring import score_table, standings
from policysched.scheduler import counters, decisions
from policysched.serving import http_server

PATH = "/debug/decisions"

_DEFAULT_LIMIT = 100
_RESULTS = tuple(result.value for result in counters.AttemptResult)


class DecisionPage:
    """Makes the page from a decision log."""

    def __init__(self, log: decisions.DecisionLog, limit: int) -> None:
        """Show the decisions of `log`, which keeps the latest `limit` decisions."""
        self._log = log
        self._limit = limit

    def make_page(self, query: http_server.QueryParameters) -> http_server.HttpPage:
        """Return the page, newest decision first, or status 400 for an invalid query.

        Query parameters: `pod=NAMESPACE/NAME`, `result=scheduled|unschedulable|error`, `limit=N`
        (default 100).
        """
        problem = _find_query_problem(query)
        if problem:
            return http_server.HttpPage(f"{problem}\n".encode(), status=400)
        limit = int(query.get_one("limit", str(_DEFAULT_LIMIT)))
        chosen = itertools.islice(self._select_decisions(query), limit)
        body = {
            "kept": len(self._log),
            "limit": self._limit,
            "decisions": [make_decision_document(decision) for decision in chosen],
        }
        return http_server.HttpPage(orjson.dumps(body), "application/json")

    def _select_decisions(
        self, query: http_server.QueryParameters
    ) -> Iterator[decisions.SchedulingDecision]:
        pod, result = query.get_one("pod"), query.get_one("result")
        for decision in reversed(self._log):
            if pod not in ("", decision.pod) or result not in ("", decision.result.value):
                continue
            yield decision


def _find_query_problem(query: http_server.QueryParameters) -> str:
    limit, result = query.get_one("limit", str(_DEFAULT_LIMIT)), query.get_one("result")
    if not (limit.isascii() and limit.isdigit()) or len(limit) > len(str(_DEFAULT_LIMIT)) + 6:
        return "`limit` must be a whole number"
    if result and result not in _RESULTS:
        return f"`result` must be one of {', '.join(_RESULTS)}"
    if query.get_one("pod").count("/") > 1 or ("pod" in query and "/" not in query.get_one("pod")):
        return "`pod` must be NAMESPACE/NAME"
    return ""


def make_decision_document(decision: decisions.SchedulingDecision) -> dict[str, object]:
    """Return a decision as an item of schemas/decisions.schema.json."""
    ended = decision.ended_seconds
    return {
        "pod": decision.pod,
        "uid": decision.uid,
        "attempt": decision.attempt,
        "time": decision.decided_at.isoformat(),
        "waitedSeconds": _round_to_microseconds(decision.waited_seconds),
        "decidedSeconds": _round_to_microseconds(decision.duration_seconds),
        "endedSeconds": None
        if ended is None
        else _round_to_microseconds(ended - decision.started_seconds),
        "points": _list_extension_points(decision),
        "profile": decision.scheduler_name,
        "policies": decision.policies,
        "policyHash": decision.policy_hash,
        "result": decision.result.value,
        "node": decision.node_name,
        "message": decision.message,
        "nodes": decision.node_count,
        "feasible": decision.feasible_count,
        "prefilter": None
        if decision.pre_filter is None
        else _make_status_document(decision.pre_filter),
        "rejections": [_make_rejection_document(each) for each in decision.rejections],
        "best": _list_best_nodes(decision),
        "scores": {} if decision.standing is None else _make_score_document(decision.standing),
        "nominatedNode": decision.nominated_node_name,
        "victims": decision.victims,
        "evidence": decision.evidence,
        "skipped": decision.skipped_rules,
        "extenders": [{"url": each.url, "problem": each.problem} for each in decision.extenders],
        "rolloutStage": decision.rollout_stage,
    }


def _round_to_microseconds(seconds: float) -> float:
    """Round seconds to microseconds; more digits are noise."""
    return round(seconds, 6)


def _list_extension_points(decision: decisions.SchedulingDecision) -> list[dict[str, object]]:
    """Return the extension points in order, with start times relative to the attempt."""
    began = decision.started_seconds
    return [
        {
            "point": each.point,
            "code": each.code.value,
            "startedSeconds": _round_to_microseconds(each.started_seconds - began),
            "seconds": _round_to_microseconds(each.ended_seconds - each.started_seconds),
        }
        for each in decision.times.taken
    ]


def _make_status_document(answer: status.Status) -> dict[str, object]:
    return {"plugin": answer.plugin, "code": answer.code.value, "reasons": answer.reasons}


def _make_rejection_document(rejection: rejections.Rejection) -> dict[str, object]:
    """Return a rejection as an item of schemas/decisions.schema.json."""
    rule = rejection.answer.rule
    return {
        **_make_status_document(rejection.answer),
        "policy": "" if rule is None else rule.policy,
        "rule": "" if rule is None else rule.rule,
        "line": 0 if rule is None else rule.line,
        "nodes": rejection.node_count,
        "examples": rejection.examples,
    }


def _list_best_nodes(decision: decisions.SchedulingDecision) -> Sequence[str]:
    """Return the chosen node and the next best nodes, in order of their scores."""
    if decision.standing is not None:
        return decision.standing.nodes
    return () if decision.node_name is None else (decision.node_name,)


def _make_score_document(standing: standings.Standing) -> dict[str, dict[str, int | float]]:
    """Return node → score name → points, with the sum as `total`."""
    found: dict[str, dict[str, int | float]] = {}
    by_node = zip(standing.nodes, standing.weighted.T, standing.totals, strict=True)
    for name, weighted, total in by_node:
        by_plugin = zip(standing.score_names, weighted, strict=True)
        found[name] = {plugin: score_table.points(points) for plugin, points in by_plugin}
        found[name]["total"] = score_table.points(total)
    return found
