"""The cluster as the reference evaluator of policies sees it: plain objects, nothing kept."""

from __future__ import annotations

import dataclasses
import datetime
import math
from typing import Any

from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import objects, time_text
from policysched.lang.checked import activation, checked, checked_expr
from tests.reference import cluster


@dataclasses.dataclass
class World(cluster.Cluster):
    """A cluster with metrics and a time.

    Attributes:
        now_seconds: since the epoch.
        metrics: samples by key of the metric, then by node.
        histories: all samples in the order in which they came, likewise.
        placed_at_seconds: when placed pods were scheduled, by uid.
        earliest_seconds: the time from which on samples belong to a node, by its name.
        held: nodes that rules with hysteresis hold, by their two conditions.
        resources: those that a node has or had.
    """

    now_seconds: float = 0.0
    metrics: dict[str, dict[str, metric_table.Sample]] = dataclasses.field(default_factory=dict)
    histories: dict[str, dict[str, list[metric_table.Sample]]] = dataclasses.field(
        default_factory=dict
    )
    placed_at_seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    earliest_seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    held: dict[Any, set[str]] = dataclasses.field(default_factory=dict)
    resources: set[str] = dataclasses.field(default_factory=lambda: {"cpu", "memory"})

    def add_node(self, node: objects.Node) -> None:
        """Take in a node, or a newer version of it; a new one has no samples from before it."""
        old = self.nodes.get(node.name)
        if old is None or identity(old) != identity(node):
            if old is not None:
                self.remove_node(node.name)
            self.earliest_seconds[node.name] = self.earliest(node)
            self._forget_samples(node.name, self.earliest_seconds[node.name])
        self.nodes[node.name] = node
        self.resources |= node.status.allocatable.keys()

    def remove_node(self, name: str) -> None:
        """Remove a node with all that is known of it."""
        self.nodes.pop(name, None)
        self.earliest_seconds.pop(name, None)
        self._forget_samples(name, math.inf)
        for held in self.held.values():
            held.discard(name)

    def earliest(self, node: objects.Node) -> float:
        """Return when the second of the creation of a node has passed, at most now."""
        created = node.metadata.creation_timestamp
        if created is None:
            return -math.inf
        return min(time_text.parse_rfc3339_seconds(created) + 1, self.now_seconds)

    def _forget_samples(self, name: str, before_seconds: float) -> None:
        for samples in self.metrics.values():
            if name in samples and samples[name].measured_at_seconds < before_seconds:
                del samples[name]
        for history in self.histories.values():
            known = history.get(name, [])
            history[name] = [s for s in known if s.measured_at_seconds >= before_seconds]

    def refresh(self, metric: str, samples: dict[str, metric_table.Sample]) -> None:
        """Take in new samples."""
        own = {
            name: sample
            for name, sample in samples.items()
            if sample.measured_at_seconds >= self.earliest_seconds.get(name, -math.inf)
        }
        self.metrics[metric] = own
        for node, sample in own.items():
            self.histories.setdefault(metric, {}).setdefault(node, []).append(sample)

    def place(self, pod: objects.Pod) -> None:
        """Take in a placed pod, or a newer version of it."""
        known = self.pods.get(pod.metadata.uid)
        self.pods[pod.metadata.uid] = pod
        if known is None or known.spec.node_name != pod.spec.node_name:
            at_seconds = min(scheduled_at_seconds(pod), self.now_seconds)
            self.placed_at_seconds[pod.metadata.uid] = at_seconds

    def valid_value(
        self,
        metric: checked.CheckedMetric,
        node_name: str,
        window: checked_expr.MetricWindow | None = None,
    ) -> float | None:
        """Return the value of a metric on a node, None if missing, too old or out of range."""
        sample = self.metrics.get(metric.key, {}).get(node_name)
        if sample is None or not is_in_range(metric, sample.value):
            return None
        is_old = self.now_seconds - sample.measured_at_seconds > metric.max_age_seconds
        if is_old:
            return None
        return sample.value if window is None else self.window_value(metric, node_name, window)

    def window_value(
        self, metric: checked.CheckedMetric, node_name: str, window: checked_expr.MetricWindow
    ) -> float | None:
        """Return what a window makes of the samples that count; None for none."""
        known: list[metric_table.Sample] = []
        for sample in self.histories.get(metric.key, {}).get(node_name, []):
            if not is_in_range(metric, sample.value):
                continue
            newest_seconds = known[-1].measured_at_seconds if known else -math.inf
            if sample.measured_at_seconds < newest_seconds - metric.max_age_seconds:
                known = [sample]
            elif sample.measured_at_seconds > newest_seconds:
                known.append(sample)
        if not known:
            return None
        since_seconds = known[-1].measured_at_seconds - window.seconds
        inside = [s.value for s in known if s.measured_at_seconds > since_seconds]
        return in_window(window, inside)

    def is_out(
        self, metric: checked.CheckedMetric, window: checked_expr.MetricWindow | None = None
    ) -> bool:
        """Return whether no node has a valid sample of a metric."""
        return all(self.valid_value(metric, name, window) is None for name in self.nodes)

    def is_active(self, active: activation.RuleActivation | None) -> bool:
        """Return whether a rule acts now."""
        return active is None or active.is_active(self.now_seconds)


def identity(node: objects.Node) -> tuple[str, str | None]:
    """Return what differs if another node has the same name."""
    return node.metadata.uid, node.metadata.creation_timestamp


def is_in_range(metric: checked.CheckedMetric, value: float) -> bool:
    """Return whether a value is finite and inside of the declared range."""
    if not math.isfinite(value) or (metric.low is not None and value < metric.low):
        return False
    return metric.high is None or value <= metric.high


def in_window(window: checked_expr.MetricWindow, values: list[float]) -> float:
    """Return what a window makes of values."""
    if window.function == "avg":
        return sum(values) / len(values)
    if window.function in ("min", "max"):
        return min(values) if window.function == "min" else max(values)
    ordered = sorted(values)
    rank = (window.quantile or 0.0) * (len(ordered) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    share = rank - low
    return ordered[low] * (1 - share) + ordered[high] * share


def scheduled_at_seconds(pod: objects.Pod) -> float:
    """Return when a pod was scheduled, by what its status says."""
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.last_transition_time:
            return datetime.datetime.fromisoformat(condition.last_transition_time).timestamp()
    return -math.inf
