"""The status of metrics and their sources, for events, exported metrics and `explain`."""

from __future__ import annotations

import collections
import dataclasses
import datetime
from typing import Protocol

from policysched import histogram
from policysched.promapi import failures

_DURATION_BOUNDS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclasses.dataclass(frozen=True, slots=True)
class SourceHealth:
    """The health of one source.

    Attributes:
        name: the name by which metrics refer to it.
        is_up: False after three consecutive failures, until the next success.
        problem: the failure with which it went down, "" while up.
        since: time of the last change of `is_up`; None before any change.
        address: host and port of the server.
    """

    name: str
    is_up: bool
    problem: str = ""
    since: datetime.datetime | None = None
    address: str = ""


@dataclasses.dataclass(slots=True)
class MetricStats:
    """Status and counters of one metric, since its first query.

    Attributes:
        key: of the metric.
        name: of the metric in the policies.
        source: name of its source.
        queries: number of queries.
        last_success: time of the last usable answer.
        durations: of all queries in seconds, including failed ones.
        problem: the failure of the last query, or "".
        counts: how often each rule of docs/metrics.md applied.
    """

    key: str
    name: str
    source: str
    queries: int = 0
    last_success: datetime.datetime | None = None
    durations: histogram.Histogram = dataclasses.field(
        default_factory=lambda: histogram.Histogram(_DURATION_BOUNDS_SECONDS)
    )
    problem: str = ""
    counts: collections.Counter[failures.QueryIssue] = dataclasses.field(
        default_factory=collections.Counter
    )


class SourceObserver(Protocol):
    """Receives changes of status, in the thread of the event loop."""

    def source_changed(self, health: SourceHealth) -> None:
        """Report that a source went down, or is up again."""
        ...

    def metric_asked(self, stats: MetricStats) -> None:
        """Report the end of a query; `stats.problem` is its failure, or ""."""
        ...


class NullSourceObserver:
    """An observer that ignores all reports."""

    def source_changed(self, health: SourceHealth) -> None:
        """Do nothing."""

    def metric_asked(self, stats: MetricStats) -> None:
        """Do nothing."""
