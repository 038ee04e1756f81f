"""Whether an expression lost a metric: no node has a valid sample, and nothing stands in.

`a else b` and a metric's fallback stand in as long as they are not out themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from policysched.cluster import snapshot
from policysched.compiler.metrics import metric_samples
from policysched.framework import cycle_state
from policysched.lang.checked import checked_expr

SamplesOf: TypeAlias = Callable[[checked_expr.MetricRef], metric_samples.MetricSamples]
_Lost: TypeAlias = Callable[[snapshot.Snapshot], metric_samples.MetricSamples | None]


class Outage:
    """Tells whether an expression lost a metric."""

    def __init__(self, expr: checked_expr.TypedExpr, samples_of: SamplesOf) -> None:
        """Watch the metrics that `expr` reads."""
        refs = {
            each
            for each in checked_expr.walk_expressions(expr)
            if isinstance(each, checked_expr.MetricRef)
        }
        self._samples = [samples_of(ref) for ref in refs]
        self._lost = _lower(expr, samples_of)

    @property
    def reads_metrics(self) -> bool:
        """Whether there is a metric to lose."""
        return bool(self._samples)

    def __call__(self, snap: snapshot.Snapshot) -> metric_samples.MetricSamples | None:
        """Return a metric that is out and for which nothing stands in; None if there is none."""
        return self._lost(snap)

    def is_on(self, snap: snapshot.Snapshot, state: cycle_state.CycleState) -> bool:
        """Return whether there is one; answers end when the age of a sample may begin one."""
        if not self._samples:
            return False
        is_any_out = False
        for samples in self._samples:
            current = samples.current(snap)
            is_any_out |= current.is_out
            if current.valid_until is not None:
                state.expire_at(current.valid_until)
        return is_any_out and self._lost(snap) is not None


def _lower(expr: checked_expr.TypedExpr, samples_of: SamplesOf) -> _Lost:
    match expr:
        case checked_expr.MetricRef():
            return _of_metric(samples_of(expr))
        case checked_expr.ValueWithFallback(value=value, fallback=fallback):
            return _of_both(_lower(value, samples_of), _lower(fallback, samples_of))
        case _:
            parts = [
                _lower(child, samples_of)
                for child in checked_expr.list_operands(expr)
                if checked_expr.list_read_metrics(child)
            ]
            return _of_any(parts)


def _of_metric(samples: metric_samples.MetricSamples) -> _Lost:
    return lambda snap: samples if samples.current(snap).is_out else None


def _of_both(value: _Lost, fallback: _Lost) -> _Lost:
    return lambda snap: value(snap) and fallback(snap)


def _of_any(parts: list[_Lost]) -> _Lost:
    if len(parts) == 1:
        return parts[0]

    def first(snap: snapshot.Snapshot) -> metric_samples.MetricSamples | None:
        found = (part(snap) for part in parts)
        return next((samples for samples in found if samples is not None), None)

    return first
