"""Metrics under kube-scheduler's names."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, core, exposition, parser, registry

from policysched.observability import scheduler_metrics
from policysched.scheduler import scheduler as schedulers
from tests.observability import busy_world

PROFILE = "profile=default-scheduler"
POINTS = "scheduler_framework_extension_point_duration_seconds"


class _Collector(registry.Collector):
    def __init__(self, scheduler: schedulers.Scheduler) -> None:
        self._scheduler = scheduler

    def collect(self) -> scheduler_metrics.Families:
        return scheduler_metrics.collect_scheduler_metrics(self._scheduler)


@pytest.fixture(scope="module")
def families() -> dict[str, core.Metric]:
    """What is served of a busy scheduler, read by Prometheus' own rules."""
    served = CollectorRegistry()
    served.register(_Collector(busy_world.play().scheduler))
    text = exposition.generate_latest(served).decode()
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


@pytest.fixture(scope="module")
def samples(families: dict[str, core.Metric]) -> dict[str, float]:
    """Values by `name{labels}`."""
    return {
        f"{s.name}{{{','.join(f'{k}={v}' for k, v in sorted(s.labels.items()))}}}": s.value
        for family in families.values()
        for s in family.samples
    }


NO_BUCKETS = (0.0, 0.0, 0)
CYCLE = (0.001, 2, 15)


@pytest.mark.parametrize(
    "name, kind, labels, buckets",
    [
        ("scheduling_attempt_duration_seconds", "histogram", "result profile", CYCLE),
        ("scheduling_algorithm_duration_seconds", "histogram", "", CYCLE),
        ("pod_scheduling_sli_duration_seconds", "histogram", "attempts", (0.01, 2, 20)),
        ("pod_scheduling_attempts", "histogram", "", (1, 2, 5)),
        (
            "framework_extension_point_duration_seconds",
            "histogram",
            "extension_point status profile",
            (0.0001, 2, 12),
        ),
        (
            "plugin_execution_duration_seconds",
            "histogram",
            "plugin extension_point status",
            (0.00001, 1.5, 20),
        ),
        ("permit_wait_duration_seconds", "histogram", "result", CYCLE),
        ("preemption_victims", "histogram", "", (1, 2, 7)),
        ("preemption_attempts", "counter", "", NO_BUCKETS),
        ("schedule_attempts", "counter", "result profile", NO_BUCKETS),
        ("queue_incoming_pods", "counter", "queue event", NO_BUCKETS),
        ("pending_pods", "gauge", "queue", NO_BUCKETS),
        ("cache_size", "gauge", "type", NO_BUCKETS),
        ("unschedulable_pods", "gauge", "plugin profile", NO_BUCKETS),
    ],
)
def test_types_labels_and_buckets_are_kube_schedulers(
    families: dict[str, core.Metric],
    name: str,
    kind: str,
    labels: str,
    buckets: tuple[float, float, int],
) -> None:
    """As `pkg/scheduler/metrics/metrics.go` of 1.36 declares them: first bound, factor, count."""
    family = families[f"scheduler_{name}"]
    assert family.type == kind
    assert {label for s in family.samples for label in s.labels} - {"le"} == set(labels.split())
    bounds = {s.labels["le"] for s in family.samples if s.name.endswith("_bucket")}
    first, factor, count = buckets
    expected = {float(first * factor**power) for power in range(count)}
    assert {float(bound) for bound in bounds if bound != "+Inf"} == expected


@pytest.mark.parametrize(
    "sample, value",
    [
        (f"scheduler_schedule_attempts_total{{{PROFILE},result=scheduled}}", 2),
        (f"scheduler_schedule_attempts_total{{{PROFILE},result=error}}", 1),
        (f"scheduler_schedule_attempts_total{{{PROFILE},result=unschedulable}}", 8),
        (f"scheduler_scheduling_attempt_duration_seconds_count{{{PROFILE},result=scheduled}}", 2),
        (f"scheduler_scheduling_attempt_duration_seconds_sum{{{PROFILE},result=scheduled}}", 3),
        ("scheduler_scheduling_algorithm_duration_seconds_count{}", 11),
        ("scheduler_pod_scheduling_sli_duration_seconds_sum{attempts=1}", 3),
        ("scheduler_pod_scheduling_attempts_bucket{le=1}", 2),
        ("scheduler_permit_wait_duration_seconds_bucket{le=4.096,result=Success}", 1),
        ("scheduler_permit_wait_duration_seconds_bucket{le=2.048,result=Success}", 0),
        ("scheduler_preemption_victims_sum{}", 1),
        ("scheduler_preemption_attempts_total{}", 8),
        ("scheduler_cache_size{type=assumed_pods}", 2),
        ("scheduler_unschedulable_pods{plugin=Room,profile=default-scheduler}", 8),
        (f"{POINTS}_count{{extension_point=Bind,{PROFILE},status=Error}}", 1),
        ("policysched_undone_placements_total{profile=default-scheduler}", 1),
        ("policysched_evicted_victims_total{profile=default-scheduler}", 1),
    ],
)
def test_what_happened_is_counted(samples: dict[str, float], sample: str, value: float) -> None:
    """Attempts by result, with their times by the clock of the loop."""
    assert samples[sample] == value


def test_single_plugins_are_measured_now_and_then(samples: dict[str, float]) -> None:
    """In the tenth of eleven cycles; what Filter said of equal pods is not asked for again."""
    name = "scheduler_plugin_execution_duration_seconds_count"
    asked = "extension_point=PostFilter,plugin=DefaultPreemption"
    assert samples[f"{name}{{{asked},status=Unschedulable}}"] == 1
    assert samples[f"{name}{{extension_point=PreFilter,plugin=Scripted,status=Success}}"] == 1
    assert not [
        sample for sample in samples if sample.startswith(f"{name}{{extension_point=Filter")
    ]
