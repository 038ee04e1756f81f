"""Tells of metric sources that go down and come back, by an event of the cluster.

A source is no object of the cluster, and neither is a scheduler that runs outside of it; so events
are about the namespace in which cluster components live, where `kubectl get events -n kube-system`
shows them. The log has the same (`promapi.source`).
"""

from __future__ import annotations

from policysched.observability import event_recorders
from policysched.promapi import status

DOWN, UP = "MetricsSourceDown", "MetricsSourceUp"
_ACTION = "QueryingMetrics"


class MetricsSourceEventWriter:
    """Is told by sources, and tells others once they are there."""

    def __init__(self) -> None:
        """Tell nobody until there is a recorder."""
        self.recorder: event_recorders.ObjectEventRecorder | None = None

    def source_changed(self, health: status.SourceHealth) -> None:
        """Write an event."""
        if self.recorder is None:
            return
        if health.is_up:
            note = f"metrics source {health.name} is up again"
            self.recorder.record_event_without_object("Normal", UP, _ACTION, note)
        else:
            source = f"{health.name} ({health.address})"
            note = f"metrics source {source} is down, its samples age: {health.problem}"
            self.recorder.record_event_without_object("Warning", DOWN, _ACTION, note)

    def metric_asked(self, stats: status.MetricStats) -> None:
        """Do nothing: what queries bring is read where it is counted."""
