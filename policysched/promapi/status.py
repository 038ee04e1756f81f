"""How metrics and their sources are doing: for events, metrics of our own and `explain`."""

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
    """One source.

    Attributes:
        name: as metrics call it.
        is_up: whether its last answers came; three failures in a row make it down.
        problem: what the last failure was, "" while up.
        since: when that began; None before the first answer.
        address: host and port of the server.
    """

    name: str
    is_up: bool
    problem: str = ""
    since: datetime.datetime | None = None
    address: str = ""


@dataclasses.dataclass(slots=True)
class MetricStats:
    """One metric, since it was first asked.

    Attributes:
        key: of the metric.
        name: as the policies call it.
        source: name of its source.
        queries: how many were sent.
        last_success: when the last answer came that could be used.
        durations: of queries in seconds, whatever came of them.
        problem: why the last query brought nothing, or "".
        counts: how often each rule of docs/metrics.md was needed.
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
    """Is told what happens, in the thread of the event loop."""

    def source_changed(self, health: SourceHealth) -> None:
        """A source went down, or is up again."""
        ...

    def metric_asked(self, stats: MetricStats) -> None:
        """A query has ended; `stats.problem` is its."""
        ...


class NullSourceObserver:
    """Tells nobody."""

    def source_changed(self, health: SourceHealth) -> None:
        """Do nothing."""

    def metric_asked(self, stats: MetricStats) -> None:
        """Do nothing."""
