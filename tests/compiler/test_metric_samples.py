"""Which samples of a metric count, and for how long."""

from __future__ import annotations

import dataclasses
import datetime

import numpy as np
import pytest

from policysched.cluster.metrics import metric_table
from policysched.compiler.metrics import metric_samples
from policysched.lang.checked import checked
from tests import builders
from tests.compiler import strategies

NOW = builders.EPOCH.timestamp()


def _metric(low: float | None = None, high: float | None = None) -> checked.CheckedMetric:
    metric, *_ = strategies.profile("p", ()).metrics
    return dataclasses.replace(metric, low=low, high=high)


@pytest.mark.parametrize(
    "value, age_seconds, is_valid",
    [
        pytest.param(1.0, 0, True, id="fresh"),
        pytest.param(1.0, 120, True, id="just-fresh"),
        pytest.param(1.0, 120.5, False, id="stale"),
        pytest.param(1.0, -60, True, id="from-the-future"),
        pytest.param(float("nan"), 0, False, id="nan"),
        pytest.param(float("-inf"), 0, False, id="infinite"),
        pytest.param(10.0, 0, True, id="at-the-upper-bound"),
        pytest.param(10.1, 0, False, id="above"),
        pytest.param(-0.1, 0, False, id="below"),
        pytest.param(1.0, float("nan"), False, id="no-time"),
        pytest.param(1.0, -1e18, True, id="absurd-time"),
    ],
)
def test_samples_that_count(value: float, age_seconds: float, is_valid: bool) -> None:
    """Finite, at most maxAge old by their own time, inside the declared range."""
    cluster = builders.make_cache([builders.make_node("n"), builders.make_node("other")])
    sample = metric_table.Sample(value, NOW - age_seconds)
    cluster.cache.metrics.refresh("load", {"n": sample, "gone": metric_table.Sample(1.0, NOW)})
    found = metric_samples.MetricSamples(_metric(low=0.0, high=10.0)).current(
        cluster.cache.snapshot()
    )
    assert (~np.isnan(found.values)).tolist() == [is_valid, False]
    assert found.is_out is not is_valid


def test_samples_say_when_the_next_one_turns_stale() -> None:
    """The oldest fresh one, within a millisecond; stale ones have had their time."""
    cluster = builders.make_cache(builders.make_node(name) for name in "abc")
    ages = {"a": 10.0, "b": 100.0, "c": 500.0}
    samples = {name: metric_table.Sample(1.0, NOW - age) for name, age in ages.items()}
    cluster.cache.metrics.refresh("load", samples)
    found = metric_samples.MetricSamples(_metric()).current(cluster.cache.snapshot())
    assert found.valid_until is not None
    end = builders.EPOCH + datetime.timedelta(seconds=20)
    assert end - datetime.timedelta(milliseconds=2) <= found.valid_until <= end


def test_samples_are_read_once_per_refresh() -> None:
    """The same answer, not an equal one, until something changes."""
    cluster = builders.make_cache([builders.make_node("n")])
    cluster.cache.metrics.refresh("load", {"n": metric_table.Sample(1.0, NOW)})
    reader = metric_samples.MetricSamples(_metric())
    first = reader.current(cluster.cache.snapshot())
    assert reader.current(cluster.cache.snapshot()) is first
    cluster.cache.metrics.refresh("load", {"n": metric_table.Sample(2.0, NOW)})
    second = reader.current(cluster.cache.snapshot())
    assert second.values.tolist() == [2.0]
    cluster.cache.set_node(builders.make_node("m").build())
    assert len(reader.current(cluster.cache.snapshot()).values) == 2
