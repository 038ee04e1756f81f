"""Export metrics of the scheduling loop with kube-scheduler's names, labels and buckets.

Metrics of `pkg/scheduler/metrics/metrics.go` are missing if their subject does not exist here:
there are no goroutines, batches of hints or queues of API calls.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias, TypeVar

from prometheus_client import core

from policysched import histogram
from policysched.scheduler import scheduler as schedulers

Families: TypeAlias = Iterator[core.Metric]
_ValuesT = TypeVar("_ValuesT", bound=tuple[str, ...])


def collect_scheduler_metrics(scheduler: schedulers.Scheduler) -> Families:
    """Yield all metrics of a scheduler, read from its current state."""
    yield from _collect_attempt_metrics(scheduler)
    yield from _collect_duration_metrics(scheduler)
    yield from _collect_preemption_metrics(scheduler)
    yield from _collect_claim_metrics(scheduler)
    yield from _collect_queue_metrics(scheduler)
    yield from _collect_cache_metrics(scheduler)
    yield from _collect_additional_metrics(scheduler)


def _collect_attempt_metrics(scheduler: schedulers.Scheduler) -> Families:
    """Yield the number of attempts by result, and the attempts that bound pods needed."""
    attempts = core.CounterMetricFamily(
        "scheduler_schedule_attempts",
        "Attempts to schedule pods, by result.",
        labels=("profile", "result"),
    )
    for (profile, result), count in scheduler.counters.attempts.items():
        attempts.add_metric((profile, result.value), count)
    yield attempts
    yield make_unlabelled_histogram(
        "scheduler_pod_scheduling_attempts",
        "Attempts per bound pod.",
        scheduler.measurements.attempts_of_pods,
    )


def _collect_duration_metrics(scheduler: schedulers.Scheduler) -> Families:
    """Yield the durations of attempts, cycles, extension points, plugins and Permit waits."""
    measured = scheduler.measurements
    yield make_histogram_family(
        "scheduler_scheduling_attempt_duration_seconds",
        "Duration of attempts, including the binding.",
        measured.attempts,
    )
    yield make_unlabelled_histogram(
        "scheduler_scheduling_algorithm_duration_seconds",
        "Duration of scheduling cycles, including preemption but not the binding.",
        measured.algorithm,
    )
    yield make_histogram_family(
        "scheduler_pod_scheduling_sli_duration_seconds",
        "Time from the first admission of a pod to the queue until it was bound.",
        measured.pods,
    )
    yield make_histogram_family(
        "scheduler_framework_extension_point_duration_seconds",
        "Duration of all plugins of an extension point.",
        measured.points,
    )
    yield make_histogram_family(
        "scheduler_plugin_execution_duration_seconds",
        (
            "Duration of one plugin at an extension point, for all its nodes; measured in a "
            "tenth of the cycles."
        ),
        measured.plugins,
    )
    yield make_histogram_family(
        "scheduler_permit_wait_duration_seconds",
        "Time spent waiting on Permit.",
        measured.permit_waits,
    )


def _collect_preemption_metrics(scheduler: schedulers.Scheduler) -> Families:
    """Yield the number of preemption attempts, and of victims for each preemption."""
    measured = scheduler.measurements
    yield core.CounterMetricFamily(
        "scheduler_preemption_attempts",
        "Preemption attempts.",
        value=measured.preemption_attempts,
    )
    yield make_unlabelled_histogram(
        "scheduler_preemption_victims", "Victims of each preemption.", measured.victims
    )


def _collect_claim_metrics(scheduler: schedulers.Scheduler) -> Families:
    """Yield the claims that DynamicResources created, and its waits for devices."""
    measured = scheduler.measured_claims
    creations = make_counter_family(
        "scheduler_resourceclaim_creates",
        "ResourceClaims created for extended resources of device classes.",
        ("status",),
        {(status,): count for status, count in measured.creations.items()},
    )
    conditional = make_counter_family(
        "scheduler_dra_bindingconditions_allocations",
        "Devices with binding conditions, once for each attempt to bind their pod.",
        ("profile", "driver", "status"),
        measured.conditional_devices,
    )
    waits = make_histogram_family(
        "scheduler_dra_bindingconditions_wait_duration_seconds",
        "Time spent waiting for the binding conditions of devices.",
        measured.waits,
    )
    # As in kube-scheduler, a family without a series is not there.
    yield from (family for family in (creations, conditional, waits) if family.samples)


def collect_extender_metrics(calls: histogram.LabelledHistograms) -> Families:
    """Yield the durations of calls to HTTP extenders."""
    yield make_histogram_family(
        "policysched_extender_call_duration_seconds",
        "Duration of calls to HTTP extenders, by result.",
        calls,
    )


def _collect_queue_metrics(scheduler: schedulers.Scheduler) -> Families:
    """Yield the number of pending, incoming and unschedulable pods."""
    pending = core.GaugeMetricFamily(
        "scheduler_pending_pods", "Pods that wait, by queue.", labels=("queue",)
    )
    for queue, count in scheduler.queue.count_pending_pods().items():
        pending.add_metric((queue,), count)
    yield pending
    yield make_counter_family(
        "scheduler_queue_incoming_pods",
        "Pods that entered a queue, by the event that moved them.",
        ("queue", "event"),
        scheduler.queue.incoming,
    )
    unschedulable = core.GaugeMetricFamily(
        "scheduler_unschedulable_pods",
        "Pods that wait, by the plugins that rejected them in their last attempt.",
        labels=("plugin", "profile"),
    )
    for key, count in _count_rejected_pods(scheduler).items():
        unschedulable.add_metric(key, count)
    yield unschedulable


def _count_rejected_pods(scheduler: schedulers.Scheduler) -> Counter[tuple[str, str]]:
    """Return the number of waiting pods that each plugin rejected, keyed by (plugin, profile)."""
    counts: Counter[tuple[str, str]] = Counter()
    for queued in scheduler.queue.list_waiting_pods():
        profile = queued.info.pod.spec.scheduler_name
        for plugin in queued.unschedulable_plugins | queued.pending_plugins:
            counts[plugin, profile] += 1
    return counts


def _collect_cache_metrics(scheduler: schedulers.Scheduler) -> Families:
    cache = scheduler.cache
    size = core.GaugeMetricFamily("scheduler_cache_size", "Objects in the cache.", labels=("type",))
    size.add_metric(("nodes",), cache.nodes.alive_count)
    size.add_metric(("pods",), cache.pod_count)
    size.add_metric(("assumed_pods",), cache.assumed_count)
    yield size


def _collect_additional_metrics(scheduler: schedulers.Scheduler) -> Families:
    """Yield counters that kube-scheduler does not have."""
    counters = scheduler.counters
    yield make_counter_family(
        "policysched_undone_placements",
        "Pods that had a node and were abandoned before they were bound to it.",
        ("profile",),
        {(profile,): count for profile, count in counters.undone.items()},
    )
    yield make_counter_family(
        "policysched_evicted_victims",
        "Pods that were evicted for others, by the profile of the preempting pod.",
        ("profile",),
        {(profile,): count for profile, count in counters.victims.items()},
    )
    yield core.CounterMetricFamily(
        "policysched_failed_evictions",
        "Victims that could not be evicted.",
        value=counters.failed_evictions,
    )


# --- families ------------------------------------------------------------------------------------


def make_counter_family(
    name: str, text: str, labels: tuple[str, ...], counts: Mapping[_ValuesT, int]
) -> core.Metric:
    """Return one counter family with a series for each combination of label values."""
    family = core.CounterMetricFamily(name, text, labels=labels)
    for values, count in counts.items():
        family.add_metric(values, count)
    return family


def make_histogram_family(
    name: str, text: str, measured: histogram.LabelledHistograms
) -> core.Metric:
    """Return one histogram family with a series for each combination of labels."""
    family = core.HistogramMetricFamily(name, text, labels=measured.labels)
    for values, made in measured:
        family.add_metric(values, count_cumulative_buckets(made), made.total)
    return family


def make_unlabelled_histogram(name: str, text: str, made: histogram.Histogram) -> core.Metric:
    """Return a histogram without labels."""
    return core.HistogramMetricFamily(
        name, text, buckets=count_cumulative_buckets(made), sum_value=made.total
    )


def count_cumulative_buckets(made: histogram.Histogram) -> list[tuple[str, int]]:
    """Return the (upper bound, cumulative count) pairs that the exposition format requires."""
    bounds = (*(repr(bound).removesuffix(".0") for bound in made.bounds), "+Inf")  # as in Go
    return list(zip(bounds, itertools.accumulate(made.counts), strict=True))
