"""Status of metrics and their sources, for events, exported metrics and `explain`."""

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
    """Whether one source is up, and why not.

    Attributes:
        name: the name that metrics use for the source.
        is_up: False from the third consecutive failure until the next success.
        problem: the failure that took the source down; "" while it is up.
        since: time of the last change to `is_up`; None before the first change.
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
        key: `CheckedMetric.key`.
        name: name of the metric in the policies.
        source: name of the source that answers the query.
        queries: number of queries sent.
        last_success: time of the last usable answer.
        durations: durations of all instant queries in seconds, including failed queries.
        problem: the failure of the last query; "" if it succeeded.
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
    """Receives status changes in the thread of the event loop."""

    def source_changed(self, health: SourceHealth) -> None:
        """Handle a source that went down or is up again."""
        ...

    def metric_asked(self, stats: MetricStats) -> None:
        """Handle the end of a query; `stats.problem` is "" if the query succeeded."""
        ...


class NullSourceObserver:
    """An observer that ignores all changes."""

    def source_changed(self, health: SourceHealth) -> None:
        """Do nothing."""

    def metric_asked(self, stats: MetricStats) -> None:
        """Do nothing."""
