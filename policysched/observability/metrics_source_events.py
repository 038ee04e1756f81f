"""Reports metric sources that go down and recover, in events of the cluster.

A source is not an object of the cluster, and neither is a scheduler outside it. Therefore the
events are about the namespace of the cluster components, and `kubectl get events -n kube-system`
shows them. The log has the same messages (`promapi.query_source`).
"""

from __future__ import annotations

from policysched.observability import event_recorders
from policysched.promapi import status

DOWN, UP = "MetricsSourceDown", "MetricsSourceUp"
_ACTION = "QueryingMetrics"


class MetricsSourceEventWriter:
    """An observer of sources that records events as soon as it has a recorder."""

    def __init__(self) -> None:
        """Record nothing until there is a recorder."""
        self.recorder: event_recorders.ObjectEventRecorder | None = None

    def source_changed(self, health: status.SourceHealth) -> None:
        """Record an event."""
        if self.recorder is None:
            return
        if health.is_up:
            note = f"metrics source {health.name} is up again"
            self.recorder.record_event_without_object("Normal", UP, _ACTION, note)
        else:
            source = f"{health.name} ({health.address})"
            note = f"metrics source {source} is down, its samples become stale: {health.problem}"
            self.recorder.record_event_without_object("Warning", DOWN, _ACTION, note)

    def metric_asked(self, stats: status.MetricStats) -> None:
        """Do nothing: the exporter reads the outcomes of queries directly."""
