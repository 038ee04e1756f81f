"""How metrics and their sources are doing: for events, metrics of our own and `explain`."""

from __future__ import annotations

import collections
import dataclasses
import datetime
from typing import Protocol

from policysched.promapi import failures


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
        last_duration_seconds: of the last query, whatever came of it.
        problem: why the last query brought nothing, or "".
        counts: how often each rule of docs/metrics.md was needed.
    """

    key: str
    name: str
    source: str
    queries: int = 0
    last_success: datetime.datetime | None = None
    last_duration_seconds: float | None = None
    problem: str = ""
    counts: collections.Counter[failures.Cause] = dataclasses.field(
        default_factory=collections.Counter
    )


class Observer(Protocol):
    """Is told what happens, in the thread of the event loop."""

    def source_changed(self, health: SourceHealth) -> None:
        """A source went down, or is up again."""
        ...

    def metric_asked(self, stats: MetricStats) -> None:
        """A query has ended; `stats.last_duration_seconds` and `stats.problem` are its."""
        ...


class NoObserver:
    """Tells nobody."""

    def source_changed(self, health: SourceHealth) -> None:
        """Do nothing."""

    def metric_asked(self, stats: MetricStats) -> None:
        """Do nothing."""
