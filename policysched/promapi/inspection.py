"""Requests to a server about its series, their types and its scrape intervals.

`policysched lint --prometheus` uses them. The connection's timeout and size limit bound every
request, and `MAX_LISTED` bounds lists. If a server lacks an endpoint (Thanos and Mimir have no
targets), the request fails or returns nothing.
https://prometheus.io/docs/prometheus/latest/querying/api/ defines the formats.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from policysched.cluster.objects import wire
from policysched.promapi import answers, connection, failures

MAX_LISTED = 1_000
"""Maximum number of names, labels or values in a list."""

_T = TypeVar("_T")
_DURATION_PART = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>ms|s|m|h|d|w|y)")
_UNIT_SECONDS = {
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3_600.0,
    "d": 86_400.0,
    "w": 7 * 86_400.0,
    "y": 365 * 86_400.0,
}


@dataclasses.dataclass(frozen=True, slots=True)
class QueryEvaluation:
    """The answer to an instant query, and its cost on the server.

    Attributes:
        read_samples: number of samples that the server read; None if the server does not report it.
        seconds: duration of the evaluation; None if the server does not report it.
    """

    answer: answers.InstantVector
    read_samples: int | None
    seconds: float | None


class _QuerySamples(msgspec.Struct, rename="camel"):
    total_queryable_samples: int | None = None


class _QueryTimings(msgspec.Struct, rename="camel"):
    eval_total_time: float | None = None


class _QueryStats(msgspec.Struct):
    samples: _QuerySamples = msgspec.field(default_factory=_QuerySamples)
    timings: _QueryTimings = msgspec.field(default_factory=_QueryTimings)


class _StatsData(msgspec.Struct):
    stats: _QueryStats = msgspec.field(default_factory=_QueryStats)


class _StatsBody(msgspec.Struct):
    data: _StatsData = msgspec.field(default_factory=_StatsData)


class _LabelNames(msgspec.Struct):
    data: list[str]


class _SeriesLabels(msgspec.Struct):
    data: list[dict[str, str]]


class _MetricMetadata(msgspec.Struct):
    type: str = ""


class _MetadataBody(msgspec.Struct):
    data: dict[str, list[_MetricMetadata]]


class _RecordingRule(msgspec.Struct):
    name: str = ""
    query: str = ""


class _RuleGroup(msgspec.Struct):
    rules: list[_RecordingRule] = []


class _RuleGroups(msgspec.Struct):
    groups: list[_RuleGroup]


class _RulesBody(msgspec.Struct):
    data: _RuleGroups


class _ScrapeTarget(msgspec.Struct, rename="camel"):
    labels: dict[str, str] = {}
    scrape_interval: str = ""


class _ScrapeTargets(msgspec.Struct, rename="camel"):
    active_targets: list[_ScrapeTarget]


class _TargetsBody(msgspec.Struct):
    data: _ScrapeTargets


class PrometheusInspector:
    """Sends requests to one server, one at a time."""

    def __init__(self, server: connection.PrometheusClient) -> None:
        self._server = server

    def evaluate_query(self, promql: str) -> QueryEvaluation:
        """Evaluate a query at the server's current time; return the answer and its cost.

        Raises:
            QueryError: no usable answer arrived.
        """
        body, kind = self._server.send_request("query", {"query": promql, "stats": "all"})
        answer = answers.decode_instant_vector(body, kind)
        try:
            stats = msgspec.json.decode(body, type=_StatsBody).data.stats
        except wire.UNREADABLE:
            stats = _QueryStats()  # statistics in another format, or none
        return QueryEvaluation(
            answer, stats.samples.total_queryable_samples, stats.timings.eval_total_time
        )

    def has_series(self, selector: str, start_seconds: float, end_seconds: float) -> bool:
        """Return whether matching series existed in a time range.

        Raises:
            QueryError: the server did not answer, or refused the request.
        """
        limits = _format_time_range(start_seconds, end_seconds)
        form = {"match[]": selector, "limit": "1", **limits}
        return bool(self._ask_endpoint("series", form, _SeriesLabels).data)

    def list_label_values(
        self, label: str, selector: str, start_seconds: float, end_seconds: float
    ) -> list[str]:
        """Return at most `MAX_LISTED` values of a label in matching series.

        An empty `selector` stands for all series.

        Raises:
            QueryError: the server did not answer, or refused the request.
        """
        form = _format_time_range(start_seconds, end_seconds) | {"limit": str(MAX_LISTED)}
        if selector:
            form["match[]"] = selector
        return self._ask_endpoint(f"label/{label}/values", form, _LabelNames, "GET").data[
            :MAX_LISTED
        ]

    def list_label_names(
        self, selector: str, start_seconds: float, end_seconds: float
    ) -> list[str]:
        """Return at most `MAX_LISTED` label names of matching series.

        Raises:
            QueryError: the server did not answer, or refused the request.
        """
        form = {"match[]": selector, "limit": str(MAX_LISTED)}
        form |= _format_time_range(start_seconds, end_seconds)
        return self._ask_endpoint("labels", form, _LabelNames).data[:MAX_LISTED]

    def find_metric_type(self, name: str) -> str:
        """Return the type that targets report for a metric: counter, gauge, …; "" if they disagree.

        Raises:
            QueryError: the server did not answer, or refused the request.
        """
        found = self._ask_endpoint("metadata", {"metric": name}, _MetadataBody, "GET").data
        kinds = {each.type for each in found.get(name, ())} - {"unknown", ""}
        return kinds.pop() if len(kinds) == 1 else ""

    def list_recording_rules(self) -> list[tuple[str, str]]:
        """Return the names and queries of at most `MAX_LISTED` recording rules.

        Raises:
            QueryError: the server did not answer, or refused the request.
        """
        groups = self._ask_endpoint("rules", {"type": "record"}, _RulesBody, "GET").data.groups
        found = [(each.name, each.query) for group in groups for each in group.rules]
        return found[:MAX_LISTED]

    def list_scrape_intervals(self) -> Mapping[str, float]:
        """Return the longest scrape interval of each job's targets in seconds, keyed by job.

        Raises:
            QueryError: the server did not answer, or refused the request.
        """
        targets = self._ask_endpoint(
            "targets", {"state": "active"}, _TargetsBody, "GET"
        ).data.active_targets
        found: dict[str, float] = {}
        for each in targets:
            job, seconds = each.labels.get("job", ""), _parse_duration_seconds(each.scrape_interval)
            if job and seconds is not None:
                found[job] = max(seconds, found.get(job, 0.0))
        return found

    def _ask_endpoint(
        self, endpoint: str, form: Mapping[str, str], kind: type[_T], method: str | None = None
    ) -> _T:
        """Send a request and decode its answer as `kind`; raise QueryError if it is malformed."""
        body, content_type = self._server.send_request(endpoint, form, method)
        try:
            return msgspec.json.decode(body, type=kind)
        except wire.UNREADABLE:
            said = content_type.partition(";")[0].strip()[:100]
            problem = f"the answer of `{endpoint}` is not from Prometheus' API (`{said}`)"
            raise failures.QueryError(failures.QueryIssue.MALFORMED, problem) from None


def _format_time_range(start_seconds: float, end_seconds: float) -> dict[str, str]:
    return {"start": f"{start_seconds:.3f}", "end": f"{end_seconds:.3f}"}


def _parse_duration_seconds(text: str) -> float | None:
    """Return the seconds of a duration in Prometheus' notation (`1m30s`); None for other texts."""
    parts = list(_DURATION_PART.finditer(text))
    if not parts or "".join(part.group() for part in parts) != text:
        return None
    return sum(float(part["number"]) * _UNIT_SECONDS[part["unit"]] for part in parts)
