"""What a server knows beyond answers: which series it has, of which kind, how often it scrapes.

For `policysched lint --prometheus`. Every question is bounded: by the connection's time limit and
size of answers, and by `MAX_LISTED` names where a list is asked for. What a server does not offer
(Thanos and Mimir have no targets) is answered by nothing. The forms are those of
https://prometheus.io/docs/prometheus/latest/querying/api/.
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
"""Names, labels or values of one list."""

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
    """An answer and what it cost.

    Attributes:
        read_samples: samples that were looked at; None if the server does not say.
        seconds: of evaluation; None as above.
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
    """Asks one server, one question after the other."""

    def __init__(self, server: connection.PrometheusClient) -> None:
        self._server = server

    def evaluate_query(self, promql: str) -> QueryEvaluation:
        """Return the answer of a query at the server's own time, and what it cost.

        Raises:
            QueryError: there is none that could be used.
        """
        body, kind = self._server.send_request("query", {"query": promql, "stats": "all"})
        answer = answers.decode_instant_vector(body, kind)
        try:
            stats = msgspec.json.decode(body, type=_StatsBody).data.stats
        except wire.UNREADABLE:
            stats = _QueryStats()  # its own form of statistics, or none
        return QueryEvaluation(
            answer, stats.samples.total_queryable_samples, stats.timings.eval_total_time
        )

    def has_series(self, selector: str, start_seconds: float, end_seconds: float) -> bool:
        """Return whether series that match were there in some time.

        Raises:
            QueryError: the server cannot be asked, or does not understand.
        """
        limits = _format_time_range(start_seconds, end_seconds)
        form = {"match[]": selector, "limit": "1", **limits}
        return bool(self._ask_endpoint("series", form, _SeriesLabels).data)

    def list_label_values(
        self, label: str, selector: str, start_seconds: float, end_seconds: float
    ) -> list[str]:
        """Return values of a label of series that match, `MAX_LISTED` at most; of all for "".

        Raises:
            QueryError: as above.
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
        """Return the labels of series that match, `MAX_LISTED` at most.

        Raises:
            QueryError: as above.
        """
        form = {"match[]": selector, "limit": str(MAX_LISTED)}
        form |= _format_time_range(start_seconds, end_seconds)
        return self._ask_endpoint("labels", form, _LabelNames).data[:MAX_LISTED]

    def find_metric_type(self, name: str) -> str:
        """Return what targets say that a metric is: counter, gauge, …; "" if they do not agree.

        Raises:
            QueryError: as above.
        """
        found = self._ask_endpoint("metadata", {"metric": name}, _MetadataBody, "GET").data
        kinds = {each.type for each in found.get(name, ())} - {"unknown", ""}
        return kinds.pop() if len(kinds) == 1 else ""

    def list_recording_rules(self) -> list[tuple[str, str]]:
        """Return name and query of the recording rules, `MAX_LISTED` at most.

        Raises:
            QueryError: as above.
        """
        groups = self._ask_endpoint("rules", {"type": "record"}, _RulesBody, "GET").data.groups
        found = [(each.name, each.query) for group in groups for each in group.rules]
        return found[:MAX_LISTED]

    def list_scrape_intervals(self) -> Mapping[str, float]:
        """Return by job the time between two scrapes, the longest of its targets.

        Raises:
            QueryError: as above.
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
        body, content_type = self._server.send_request(endpoint, form, method)
        try:
            return msgspec.json.decode(body, type=kind)
        except wire.UNREADABLE:
            said = content_type.partition(";")[0].strip()[:100]
            problem = f"the answer of `{endpoint}` is not of Prometheus' API (`{said}`)"
            raise failures.QueryError(failures.QueryIssue.MALFORMED, problem) from None


def _format_time_range(start_seconds: float, end_seconds: float) -> dict[str, str]:
    return {"start": f"{start_seconds:.3f}", "end": f"{end_seconds:.3f}"}


def _parse_duration_seconds(text: str) -> float | None:
    """Return a duration as Prometheus writes it (`1m30s`), None for anything else."""
    parts = list(_DURATION_PART.finditer(text))
    if not parts or "".join(part.group() for part in parts) != text:
        return None
    return sum(float(part["number"]) * _UNIT_SECONDS[part["unit"]] for part in parts)
