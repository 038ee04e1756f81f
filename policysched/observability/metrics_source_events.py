"""Record events when metric sources go down and recover.

Neither a metric source nor a scheduler outside the cluster is an object of the cluster. The events
are therefore about the namespace of the cluster components, so `kubectl get events -n kube-system`
shows them. `promapi.query_source` logs the same changes.
"""

from __future__ import annotations

from policysched.observability import event_recorders
from policysched.promapi import status

DOWN, UP = "MetricsSourceDown", "MetricsSourceUp"
_ACTION = "QueryingMetrics"


class MetricsSourceEventWriter:
    """An observer of metric sources that records events once `recorder` is set."""

    def __init__(self) -> None:
        """Start without a recorder; changes are not recorded until `recorder` is set."""
        self.recorder: event_recorders.ObjectEventRecorder | None = None

    def source_changed(self, health: status.SourceHealth) -> None:
        """Record an event that a source went down or recovered."""
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
        """Do nothing: the exporter reads query results from the source."""
