"""What the metrics of a rule said about nodes, for people: values, ages, what is not there and why.

Nothing here decides anything: rules read `metric_samples` and `added_load`, as this does.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.metrics import sample_states
from policysched.compiler.metrics import added_load, metric_samples
from policysched.lang.checked import checked, checked_expr


@dataclasses.dataclass(frozen=True, slots=True)
class Readings:
    """One metric on n nodes, in the scale of its query.

    Attributes:
        is_ok: bool (n,), where a rule has a value.
        is_known: bool (n,), where there is a sample at all.
        is_stale: bool (n,), where the newest one is too old.
        measured: float64 (n,), undefined where nothing is known.
        age_seconds: float64 (n,), of the newest sample; inf where nothing is known.
        added: float64 (n,), what just-placed pods add.
        added_pods: int64 (n,), how many of them there are.
    """

    is_ok: columns.BoolArray
    is_known: columns.BoolArray
    is_stale: columns.BoolArray
    measured: columns.FloatArray
    age_seconds: columns.FloatArray
    added: columns.FloatArray
    added_pods: npt.NDArray[np.int64]

    @property
    def values(self) -> columns.FloatArray:
        """Float64 (n,), what rules go by where `is_ok`."""
        return self.measured + self.added

    def state(self, index: int) -> sample_states.SampleState:
        """Return the state of one of the n nodes."""
        if self.is_ok[index]:
            return sample_states.SampleState.OK
        if not self.is_known[index]:
            return sample_states.SampleState.MISSING
        if self.is_stale[index]:
            return sample_states.SampleState.STALE
        return sample_states.SampleState.OUT_OF_RANGE


@dataclasses.dataclass(frozen=True, slots=True)
class MetricReader:
    """Reads a metric as the rules of a profile do.

    Attributes:
        samples: of the metric, or of a window over it.
        added: what just-placed pods add, None for nothing.
    """

    samples: metric_samples.MetricSamples
    added: added_load.AddedLoad | None

    @property
    def metric(self) -> checked.CheckedMetric:
        """What is read."""
        return self.samples.metric

    @property
    def name(self) -> str:
        """The metric's name, with the window where it is read through one."""
        window = self.samples.window
        if window is None:
            return self.metric.name
        share = "" if window.quantile is None else f"({window.quantile:g})"
        return f"{self.metric.name} over {_duration(window.seconds)} {window.function}{share}"

    def read(self, nodes: snapshot.NodeView) -> Readings:
        """Return what is known of n nodes."""
        snap = nodes.snapshot
        current = self.samples.current(snap)
        measured_at_seconds = current.measured_at_seconds[nodes.rows]
        age_seconds = snap.now.timestamp() - measured_at_seconds
        values = current.values[nodes.rows]
        is_known = np.isfinite(measured_at_seconds)
        added, added_pods = np.zeros(len(nodes)), np.zeros(len(nodes), np.int64)
        if self.added is not None:
            added = self.added.compute(nodes)
            added_pods = self.added.pod_counts(nodes)
        return Readings(
            ~np.isnan(values),
            is_known,
            is_known & (age_seconds > self.metric.max_age_seconds),
            current.measured[nodes.rows],
            np.where(is_known, np.maximum(age_seconds, 0.0), np.inf),
            added,
            added_pods,
        )


def metric_refs(expr: checked_expr.TypedExpr) -> list[checked_expr.MetricRef]:
    """Return the metrics that an expression reads, each once, in the order of the text."""
    found = {
        (each.metric, each.window): each
        for each in reversed(list(checked_expr.walk_expressions(expr)))
        if isinstance(each, checked_expr.MetricRef)
    }
    return list(reversed(found.values()))


def _duration(seconds: float) -> str:
    for size, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{letter}"
    return f"{seconds:g}s"
