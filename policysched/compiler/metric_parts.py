"""The metrics of a program as rules read them: samples, windows, what just-placed pods add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policysched import units
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.compiler import lowering
from policysched.compiler.metrics import added_load, metric_samples, readings
from policysched.framework import cycle_state
from policysched.lang.checked import checked, checked_expr


class MetricParts:
    """Parts of metrics, each made once; what a metric adds up is one, whoever reads it."""

    def __init__(self, metrics: Iterable[checked.CheckedMetric]) -> None:
        """Read `metrics`."""
        self._metrics = {metric.key: metric for metric in metrics}
        self._samples: dict[
            tuple[str, checked_expr.MetricWindow | None], metric_samples.MetricSamples
        ] = {}
        self._added: dict[str, added_load.AddedLoad] = {}

    def samples(self, ref: checked_expr.MetricRef) -> metric_samples.MetricSamples:
        """Return the samples that a reference reads."""
        key = (ref.metric, ref.window)
        if key not in self._samples:
            metric = self._metrics[ref.metric]
            self._samples[key] = metric_samples.MetricSamples(metric, ref.window)
        return self._samples[key]

    def added(self, ref: checked_expr.MetricRef) -> added_load.AddedLoad | None:
        """Return what just-placed pods add to a metric; None if nothing is declared."""
        metric = self._metrics[ref.metric]
        if metric.placed is None:
            return None
        if metric.key not in self._added:
            cost = _make_cost(lowering.Lowering(self).lower(metric.placed.value))
            scale = units.CORES_SCALE if metric.unit == units.CORES else 1.0
            self._added[metric.key] = added_load.AddedLoad(cost, metric.placed.seconds, scale)
        return self._added[metric.key]

    def placed_seconds(self) -> frozenset[float]:
        """Return for how long just-placed pods count."""
        return frozenset(added.seconds for added in self._added.values())

    def readers(self) -> Iterator[readings.MetricReader]:
        """Yield what tells people of the metrics that rules read."""
        for samples in self._samples.values():
            yield readings.MetricReader(samples, self._added.get(samples.metric.key))

    def in_use(self) -> Iterator[metric_samples.MetricSamples]:
        """Yield what rules read."""
        yield from self._samples.values()


def _make_cost(expression: lowering.Expression) -> added_load.Cost:
    def compute(shape: pod_shape.PodShape, node: snapshot.NodeView) -> float:
        return expression.evaluate(node, shape, cycle_state.CycleState()).item(0)

    return compute
