"""The times at which the past of a cluster is judged."""

from __future__ import annotations

import numpy as np

from policysched.cluster.metrics import metric_windows
from policysched.offline import metric_histories


def _make_history(key: str, *at_seconds: float) -> metric_histories.MetricHistory:
    nothing = np.empty((len(at_seconds), 0))
    samples = metric_windows.OlderSamples((), nothing, nothing)
    return metric_histories.MetricHistory(key, at_seconds, samples)


def test_the_longest_steps_are_judged() -> None:
    """Between two samples of one metric, another one may be too old."""
    coarse = _make_history("hot", 40, 100, 160, 220)
    fine = _make_history("window", *range(10, 221, 15))
    assert metric_histories.choose_observed_times([fine, coarse], 100) == {100, 160, 220}
    assert metric_histories.choose_observed_times([fine, coarse], 110) == {100, 160, 220}
    assert metric_histories.choose_observed_times([], 100) == set()
