"""Tells of metric sources that go down and come back: an event of the cluster, and durations.

A source is no object of the cluster, and neither is a scheduler that runs outside of it; so events
are about the namespace in which cluster components live, where `kubectl get events -n kube-system`
shows them. The log has the same (`promapi.source`).
"""

from __future__ import annotations

from typing import Protocol

from policysched.app import own_metrics
from policysched.promapi import status

DOWN, UP = "MetricsSourceDown", "MetricsSourceUp"
_ACTION = "QueryingMetrics"


class Recorder(Protocol):
    """Writes events about the cluster; see `kube.event_recorder`."""

    def record_of_cluster(self, event_type: str, reason: str, action: str, note: str) -> None:
        """Queue one event."""
        ...


class SourceWatch:
    """Is told by sources, and tells others once they are there."""

    def __init__(self, own: own_metrics.OwnMetrics) -> None:
        """Count queries in `own`."""
        self.recorder: Recorder | None = None
        self._own = own

    def source_changed(self, health: status.SourceHealth) -> None:
        """Write an event."""
        if self.recorder is None:
            return
        if health.is_up:
            note = f"metrics source {health.name} is up again"
            self.recorder.record_of_cluster("Normal", UP, _ACTION, note)
        else:
            source = f"{health.name} ({health.address})"
            note = f"metrics source {source} is down, its samples age: {health.problem}"
            self.recorder.record_of_cluster("Warning", DOWN, _ACTION, note)

    def metric_asked(self, stats: status.MetricStats) -> None:
        """Count a query."""
        self._own.observe_query(stats)
