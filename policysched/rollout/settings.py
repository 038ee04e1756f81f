"""The settings of rollouts: stages, guards and limits."""

from __future__ import annotations

from typing import Literal

import msgspec

from policysched import durations

Measure = Literal["unschedulable", "attemptP99Seconds", "evictions", "missingMetrics"]
"""The value that a guard without a query measures.

unschedulable: share of the judged pods whose last attempt found no node, or failed.
attemptP99Seconds: 99th percentile of the duration of attempts, bindings included.
evictions: number of victims of preemption, divided by the number of judged pods.
missingMetrics: share of the samples that the new version reads and that are missing or too old.
"""
SHADOW_MEASURES: frozenset[Measure | None] = frozenset({"unschedulable", "missingMetrics"})
"""The measures of guards that a shadow stage has; a query needs bound pods."""

_ALL_PERCENT = 100.0


class Stage(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One stage: the pods that the new version decides about, and the condition to pass it.

    Attributes:
        shadow: the new version decides about all pods, but nothing is written.
        percent: share of the workloads, more than 0 and at most 100; None for all.
        namespaces: only pods in these namespaces; empty for all.
        match_labels: only pods with these labels; empty for all.
        duration: minimum duration, such as `10m`.
        min_pods: number of judged pods that the stage needs; None for `RolloutSettings.min_pods`.
    """

    shadow: bool = False
    percent: float | None = None
    namespaces: tuple[str, ...] = ()
    match_labels: dict[str, str] = {}
    duration: str = "0s"
    min_pods: int | None = None

    @property
    def duration_seconds(self) -> float:
        """The minimum duration; 0.0 if `duration` is invalid."""
        return durations.parse_duration_seconds(self.duration) or 0.0

    @property
    def takes_all_pods(self) -> bool:
        """Whether the new version decides about all pods, and binds them."""
        return self.percent == _ALL_PERCENT and not (self.namespaces or self.match_labels)

    def describe(self) -> str:
        """Return the pods of the stage on one line."""
        if self.shadow:
            return "shadow"
        parts = [] if self.percent is None else [f"{self.percent:g} % of the workloads"]
        if self.namespaces:
            parts.append(f"namespaces {', '.join(self.namespaces)}")
        if self.match_labels:
            labels = ", ".join(f"{key}={value}" for key, value in self.match_labels.items())
            parts.append(f"labels {labels}")
        return "; ".join(parts)


class Guard(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A bound whose violation rolls the new version back.

    Attributes:
        name: identifies the guard in messages and metrics.
        measure: the measured value; None if `query` is given.
        query: PromQL expression for one number, with `$new_pods` and perhaps `$old_pods`.
        source: the name of the Prometheus source that answers `query`.
        most: the highest value that is accepted; None if `most_times_old` is given.
        most_times_old: the highest accepted multiple of the same measure of the version in force.
    """

    name: str
    measure: Measure | None = None
    query: str = ""
    source: str = "default"
    most: float | None = None
    most_times_old: float | None = None


class RolloutSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How new versions are put in force.

    Attributes:
        stages: in their order; after the last one, the version is in force. Without stages, a new
            version is in force at once.
        guards: are evaluated in every stage that can measure them.
        min_pods: number of judged pods that a stage needs.
        timeout: how long a stage may take, such as `24h`.
        on_timeout: the reaction to the timeout: `rollBack`, or `wait` for an operator.
    """

    stages: tuple[Stage, ...] = ()
    guards: tuple[Guard, ...] = ()
    min_pods: int = 20
    timeout: str = "24h"
    on_timeout: Literal["rollBack", "wait"] = "rollBack"

    @property
    def timeout_seconds(self) -> float:
        """How long a stage may take; 0.0 if `timeout` is invalid."""
        return durations.parse_duration_seconds(self.timeout) or 0.0

    def min_pods_of(self, stage: int) -> int:
        """Return the number of judged pods that a stage needs."""
        own = self.stages[stage].min_pods
        return self.min_pods if own is None else own
