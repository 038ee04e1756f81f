"""The cluster as the reference evaluator of policies sees it: plain objects, nothing kept."""

from __future__ import annotations

import dataclasses
import math

from policysched.cluster import metric_table
from policysched.lang import activation, checked
from tests.reference import cluster


@dataclasses.dataclass
class World(cluster.Cluster):
    """A cluster with metrics and a time.

    Attributes:
        now_seconds: since the epoch.
        metrics: samples by key of the metric, then by node.
    """

    now_seconds: float = 0.0
    metrics: dict[str, dict[str, metric_table.Sample]] = dataclasses.field(default_factory=dict)

    def valid_value(self, metric: checked.CheckedMetric, node_name: str) -> float | None:
        """Return the value of a metric on a node, None if missing, too old or out of range."""
        sample = self.metrics.get(metric.key, {}).get(node_name)
        if sample is None or not math.isfinite(sample.value):
            return None
        if self.now_seconds - sample.measured_at_seconds > metric.max_age_seconds:
            return None
        if metric.low is not None and sample.value < metric.low:
            return None
        if metric.high is not None and sample.value > metric.high:
            return None
        return sample.value

    def is_out(self, metric: checked.CheckedMetric) -> bool:
        """Return whether no node has a valid sample of a metric."""
        return all(self.valid_value(metric, name) is None for name in self.nodes)

    def is_active(self, active: activation.Activation | None) -> bool:
        """Return whether a rule acts now."""
        return active is None or active.is_active(self.now_seconds)
