"""What rules over metrics saw, in words: for events and `explain`.

    load-aware/too-hot (line 12): cpu_busy 81%..97% > 80%, samples 12s..30s old, of which up to 5%
    from 3 pods placed in the last 90s

None of it is part of a reason: reasons group nodes, stand in conditions and are compared, so a text
that changes with every sample would write a condition with every attempt.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from policysched import amounts, units
from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.metrics import sample_states
from policysched.compiler.metrics import metric_samples, readings
from policysched.lang.checked import checked, checked_expr, comparisons

_HOLDS = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


@dataclasses.dataclass(frozen=True, slots=True)
class _Bound:
    """What a metric is compared with, in the scale of its query."""

    comparator: str
    value: float
    unit: units.Unit

    def told(self, values: columns.FloatArray) -> str:
        """Return ` > 80%` where that is so for all values."""
        text = f"{self.comparator} {amounts.format_amount(self.value, self.unit)}"
        is_so = bool(_HOLDS[self.comparator](values, self.value).all())
        return f" {text}" if is_so else f" (bound {text})"


class RuleEvidence:
    """Puts into words what one rule saw.

    Attributes:
        metrics: what it reads, in the order of the text.
    """

    def __init__(
        self,
        head: checked.RuleHead,
        expr: checked_expr.TypedExpr,
        metrics: tuple[readings.MetricReader, ...],
    ) -> None:
        """Speak for the rule `head`, which goes by `expr`."""
        self.metrics = metrics
        self._place = f"{head.name} (line {head.span.line})"
        self._bounds = _bounds(expr)

    def on_nodes(self, nodes: snapshot.NodeView, held: int = 0) -> str:
        """Return what the rule saw on the n > 0 nodes that it rejected, `held` by `until` alone."""
        text = f"{self._place}: {self.on_node(nodes)}"
        if held:
            text += ", held by `until`" + (f" on {held:,} of them" if len(nodes) > 1 else "")
        return text

    def on_node(self, nodes: snapshot.NodeView) -> str:
        """Return what the rule saw on nodes, mostly one, without naming itself."""
        return "; ".join(self._metric(reader, reader.read(nodes)) for reader in self.metrics)

    def waits(self, lost: metric_samples.MetricSamples, snap: snapshot.Snapshot) -> str:
        """Return that the pod waits for the rule, as nothing is known of a metric."""
        return f"{self._place} waits: {outage(lost, snap)}"

    def skipped(self, lost: metric_samples.MetricSamples, snap: snapshot.Snapshot) -> str:
        """Return that the rule drops out, as nothing is known of a metric."""
        return f"{self._place} is skipped: {outage(lost, snap)}"

    def _metric(self, reader: readings.MetricReader, found: readings.Readings) -> str:
        bound = self._bounds.get(reader.metric.key)
        parts = []
        if found.is_ok.any():
            parts.append(_values(reader, found, bound))
        parts += _absences(reader, found)
        return ", ".join(parts)


def outage(
    lost: metric_samples.MetricSamples, snap: snapshot.Snapshot, measured: str = "node"
) -> str:
    """Return that no node has a valid sample, and how old the newest one is.

    `measured` says what has samples, where these are no nodes.
    """
    metric = lost.metric
    text = f"no {measured} has a valid sample of {metric.name}"
    measured_at_seconds = lost.current(snap).measured_at_seconds[snap.is_alive]
    newest_seconds = float(measured_at_seconds.max(initial=-np.inf))
    age_seconds = snap.now.timestamp() - newest_seconds
    if not np.isfinite(age_seconds):
        return f"{text}, and none had one yet"
    if age_seconds > metric.max_age_seconds:
        return f"{text}: the newest is {_age(age_seconds)} old, maxAge is {_max_age(metric)}"
    return f"{text}: all are out of range"


def _values(reader: readings.MetricReader, found: readings.Readings, bound: _Bound | None) -> str:
    """Return range of values, age and what just-placed pods add, where there is a value."""
    ok = found.is_ok
    unit = reader.metric.unit
    lowest, highest = (amounts.format_amount(v, unit) for v in _ends(found.values[ok]))
    youngest, oldest = (_age(v) for v in _ends(found.age_seconds[ok]))
    samples = "sample" if np.count_nonzero(ok) == 1 else "samples"
    text = f"{reader.name} {_range(lowest, highest)}"
    text += bound.told(found.values[ok]) if bound else ""
    text += f", {samples} {_range(youngest, oldest)} old"
    added = found.added[ok]
    if reader.added is not None and added.any():
        most = amounts.format_amount(float(added.max()), unit)
        upto = "" if np.count_nonzero(ok) == 1 else "up to "
        pods = int(found.added_pods[ok].sum())
        noun = "pod" if pods == 1 else "pods"
        text += f", of which {upto}{most} from {pods:,} {noun} placed in the last "
        text += _age(reader.added.seconds)
    return text


def _absences(reader: readings.MetricReader, found: readings.Readings) -> list[str]:
    """Return why there is no value, where there is none."""
    if len(found.is_ok) == 1:
        return [] if found.is_ok[0] else [f"{reader.name} {_absence(reader.metric, found)}"]
    states = [found.state(index) for index in np.flatnonzero(~found.is_ok).tolist()]
    return [
        f"{reader.name} {words} on {states.count(state):,} of them"
        for state, words in _ABSENCES.items()
        if state in states
    ]


_ABSENCES = {
    sample_states.SampleState.MISSING: "without a sample",
    sample_states.SampleState.STALE: "older than maxAge",
    sample_states.SampleState.OUT_OF_RANGE: "out of range",
}


def _absence(metric: checked.CheckedMetric, found: readings.Readings) -> str:
    """Return why the only node has no value."""
    match found.state(0):
        case sample_states.SampleState.STALE:
            age = _age(float(found.age_seconds[0]))
            return f"is stale: the sample is {age} old, maxAge is {_max_age(metric)}"
        case sample_states.SampleState.OUT_OF_RANGE:
            value = amounts.format_amount(float(found.measured[0]), metric.unit)
            return f"is out of range: {value} is not between {_allowed(metric)}"
        case _:
            return "has no sample"


def _allowed(metric: checked.CheckedMetric) -> str:
    ends = (metric.low, metric.high)
    return " and ".join(amounts.format_amount(end, metric.unit) for end in ends if end is not None)


def _ends(values: columns.FloatArray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low}..{high}"


def _age(seconds: float) -> str:
    return amounts.format_age(seconds)


def _max_age(metric: checked.CheckedMetric) -> str:
    return amounts.format_age(metric.max_age_seconds)


def _bounds(expr: checked_expr.TypedExpr) -> dict[str, _Bound]:
    """Return bounds by metric, where a metric alone is compared with a constant."""
    found: dict[str, _Bound] = {}
    for each in checked_expr.walk_expressions(expr):
        for metric, other, comparator in _sides(each):
            key = metric_alone(metric)
            if key is not None and isinstance(other, checked_expr.Const):
                unit = metric.unit or other.unit
                scale = units.CORES_SCALE if unit == units.CORES else 1.0
                found[key] = _Bound(comparator, other.value / scale, unit)
    return found


def is_bound_of_metric(compare: checked_expr.Compare) -> bool:
    """Return whether a metric alone is compared with a constant, as `RuleEvidence` has it."""
    return any(
        metric_alone(metric) is not None and isinstance(other, checked_expr.Const)
        for metric, other, _ in _sides(compare)
    )


def _sides(
    expr: checked_expr.TypedExpr,
) -> Iterator[tuple[checked_expr.TypedExpr, checked_expr.TypedExpr, str]]:
    if isinstance(expr, checked_expr.Compare):
        yield expr.left, expr.right, expr.comparator
        yield expr.right, expr.left, comparisons.MIRRORED[expr.comparator]


def metric_alone(expr: checked_expr.TypedExpr) -> str | None:
    """Return the key of a metric that stands alone, its fallback aside."""
    match expr:
        case checked_expr.MetricRef(metric=key):
            return key
        case checked_expr.ValueWithFallback(value=value):
            return metric_alone(value)
        case checked_expr.ArithmeticOperation(
            operator="*",
            left=checked_expr.MetricRef(metric=key),
            right=checked_expr.Const(value=units.CORES_SCALE),
        ):
            return key
        case _:
            return None
