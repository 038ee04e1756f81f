"""Export the metrics of `karmada run` under Karmada's names."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from prometheus_client import core

import policysched
from policysched.observability import scheduler_metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from policysched import histogram
    from policysched.karmada.scheduler import event_handlers, measurements

_PREFIX = "karmada_scheduler_"


def collect_binding_metrics(
    measured: measurements.BindingMeasurements, handlers: event_handlers.BindingEventHandlers
) -> Iterable[core.Metric]:
    """Yield all metrics of bindings with their current values."""
    attempts = core.CounterMetricFamily(
        f"{_PREFIX}schedule_attempts",
        "Attempts to schedule bindings, by result.",
        labels=("result", "schedule_type"),
    )
    for labels, count in measured.attempts.items():
        attempts.add_metric(labels, count)
    yield attempts
    incoming = core.CounterMetricFamily(
        f"{_PREFIX}queue_incoming_bindings",
        "Bindings that entered the queue, by cause.",
        labels=("event",),
    )
    for event, count in handlers.incoming.items():
        incoming.add_metric((event,), count)
    yield incoming
    yield from _collect_durations(measured)
    pending = core.GaugeMetricFamily(
        "policysched_karmada_pending_bindings",
        "Bindings that are ready for an attempt, and bindings that wait after a failure.",
        labels=("queue",),
    )
    pending.add_metric(("active",), len(handlers.queue))
    pending.add_metric(("backoff",), handlers.queue.delayed_count)
    yield pending


def _collect_durations(measured: measurements.BindingMeasurements) -> Iterable[core.Metric]:
    """Yield the histograms of attempts, decision steps and plugins."""
    told: Mapping[str, tuple[str, histogram.LabelledHistograms]] = {
        "e2e_scheduling_duration_seconds": (
            "Duration of attempts, including all writes.",
            measured.durations,
        ),
        "scheduling_algorithm_duration_seconds": (
            "Duration of the steps of a decision.",
            measured.steps,
        ),
        "framework_extension_point_duration_seconds": (
            "Duration of all plugins of an extension point.",
            measured.points,
        ),
        "plugin_execution_duration_seconds": (
            "Duration of one plugin at an extension point, for all clusters.",
            measured.plugins,
        ),
    }
    for name, (text, kept) in told.items():
        yield scheduler_metrics.make_histogram_family(f"{_PREFIX}{name}", text, kept)


def collect_build_info() -> Iterable[core.Metric]:
    """Yield Karmada's build metric; labels that apply only to Go are empty."""
    labels = {
        "git_version": f"v{policysched.__version__}",
        "git_commit": "",
        "git_short_commit": "",
        "git_tree_state": "",
        "build_date": "",
        "go_version": "",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    told = core.GaugeMetricFamily(
        "karmada_build_info", "Version of this policysched.", labels=tuple(labels)
    )
    told.add_metric(tuple(labels.values()), 1)
    yield told
