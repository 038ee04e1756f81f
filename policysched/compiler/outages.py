"""Whether an expression lost a metric: no node has a valid sample, and nothing stands in.

`a else b` and a metric's fallback stand in as long as they are not out themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from policysched.cluster import snapshot
from policysched.compiler import metric_samples
from policysched.lang import checked_expr

SamplesOf: TypeAlias = Callable[[checked_expr.MetricRef], metric_samples.MetricSamples]
Outage: TypeAlias = Callable[[snapshot.Snapshot], metric_samples.MetricSamples | None]
"""Returns a metric that is out and for which nothing stands in; None if there is none."""


def lower(expr: checked_expr.TypedExpr, samples_of: SamplesOf) -> Outage:
    """Return what tells whether `expr` lost a metric."""
    match expr:
        case checked_expr.MetricRef():
            return _of_metric(samples_of(expr))
        case checked_expr.Else(value=value, fallback=fallback):
            return _of_both(lower(value, samples_of), lower(fallback, samples_of))
        case _:
            parts = [
                lower(child, samples_of)
                for child in checked_expr.children(expr)
                if checked_expr.metrics_of(child)
            ]
            return _of_any(parts)


def _of_metric(samples: metric_samples.MetricSamples) -> Outage:
    return lambda snap: samples if samples.current(snap).is_out else None


def _of_both(value: Outage, fallback: Outage) -> Outage:
    return lambda snap: value(snap) and fallback(snap)


def _of_any(parts: list[Outage]) -> Outage:
    if len(parts) == 1:
        return parts[0]

    def first(snap: snapshot.Snapshot) -> metric_samples.MetricSamples | None:
        found = (part(snap) for part in parts)
        return next((samples for samples in found if samples is not None), None)

    return first
