"""Metrics about rollouts."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import core

from policysched.reload import state as states
from policysched.reload.rollouts import controller
from policysched.rollout import tally


def collect_rollout_metrics(
    state: states.PolicyState,
    rollouts: controller.RolloutController,
) -> Iterable[core.Metric]:
    """Yield the stage, pods and guards of the running rollout, and the outcomes of all."""
    rollout = state.running_rollout
    stage = core.GaugeMetricFamily(
        "policysched_rollout_stage",
        "Number of the present stage of the running rollout; no series without one.",
        labels=("hash",),
    )
    pods = core.GaugeMetricFamily(
        "policysched_rollout_pods",
        "Pods judged in the present stage, by version and last result.",
        labels=("version", "result"),
    )
    if rollout is not None:
        stage.add_metric((rollout.new_hash,), rollout.stage + 1)
        for version, counted in (
            ("new", rollouts.evaluator.measured.new),
            ("old", rollouts.evaluator.measured.old),
        ):
            for result, count in _count_pods(counted).items():
                pods.add_metric((version, result), count)
    values = core.GaugeMetricFamily(
        "policysched_rollout_guard_value",
        "Value that a guard of the running rollout has measured in the present stage.",
        labels=("guard",),
    )
    for verdict in () if rollout is None else rollouts.evaluator.verdicts:
        if verdict.value is not None:
            values.add_metric((verdict.guard,), verdict.value)
    yield from (stage, pods, values)
    ended = core.CounterMetricFamily(
        "policysched_rollouts", "Rollouts that ended, by outcome.", labels=("outcome",)
    )
    for outcome, count in rollouts.outcomes.items():
        ended.add_metric((outcome,), count)
    yield ended
    yield core.CounterMetricFamily(
        "policysched_rollout_failed_requests",
        "Reads and writes of the stored state of rollouts that failed.",
        value=rollouts.failed_requests,
    )


def _count_pods(counted: tally.VersionTally) -> dict[str, int]:
    pods = counted.pods.values()
    return {
        "bound": sum(pod.is_bound for pod in pods),
        "unschedulable": sum(pod.is_unschedulable for pod in pods),
    }
