"""Windows over metrics hold what a scalar reference says, whatever comes in which order."""

from __future__ import annotations

import math
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched import units
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.lang import source
from policysched.lang.checked import checked, checked_expr
from tests.reference import policy_world

NEED = metric_windows.HistoryNeed(120.0, 60.0, 15.0, low=-10.0, high=1000.0)
METRIC = checked.CheckedMetric(
    key="m",
    name="m",
    unit=units.NUMBER,
    promql="m",
    target="node",
    label="node",
    refresh_seconds=15.0,
    max_age_seconds=60.0,
    missing_action=None,
    missing_points=None,
    span=source.Span("m.policy", 0, 0, 1, 1),
    low=-10.0,
    high=1000.0,
)
NAMES = ["n1", "n2", "n3"]
WINDOWS = [
    checked_expr.MetricWindow(120.0, "avg"),
    checked_expr.MetricWindow(45.0, "min"),
    checked_expr.MetricWindow(120.0, "max"),
    checked_expr.MetricWindow(120.0, "quantile", 0.9),
    checked_expr.MetricWindow(60.0, "quantile", 0.0),
]
VALUES = (0.0, 0.25, 3.0, 8.0, -20.0, 5000.0, math.nan, math.inf)
"""The last four are out of range or no values."""

Refresh = dict[str, metric_table.Sample]


@st.composite
def refreshes(draw: st.DrawFn) -> list[Refresh]:
    """Return what comes one after the other: late, twice, out of order, after a gap, not at all."""
    found = []
    for number in range(draw(st.integers(1, 14))):
        made = {}
        for name in NAMES:
            late = draw(st.sampled_from((None, 0, 0, 0, 15, 200, -400)))
            if late is not None:
                value = draw(st.sampled_from(VALUES))
                made[name] = metric_table.Sample(value, 1000.0 + 15.0 * number - late)
        found.append(made)
    return found


def in_order(given: list[Refresh]) -> list[Refresh]:
    """Return the refreshes without what a server would not have twice, or out of order."""
    newest: dict[str, float] = {}
    found = []
    for samples in given:
        new = {n: s for n, s in samples.items() if s.measured_at_seconds > newest.get(n, 0.0)}
        newest |= {name: sample.measured_at_seconds for name, sample in new.items()}
        found.append(new)
    return found


def older_samples(given: list[Refresh]) -> metric_windows.OlderSamples:
    """Return what a range query brings of refreshes, each of them seen at two moments."""
    none = metric_table.Sample(0.0, -math.inf)
    moments = [[samples.get(name, none) for name in NAMES] for samples in given for _ in range(2)]
    shape = (len(moments), len(NAMES))
    return metric_windows.OlderSamples(
        tuple(NAMES),
        np.array([[one.measured_at_seconds for one in row] for row in moments]).reshape(shape),
        np.array([[one.value for one in row] for row in moments]).reshape(shape),
    )


def window_values(
    history: metric_windows.SampleHistory, window: checked_expr.MetricWindow
) -> dict[str, float | None]:
    """Return what a window says of each node."""
    aggregate = metric_windows.WindowAggregate(window.seconds, window.function, window.quantile)
    values, times = history.aggregate_by_node(aggregate, [*NAMES, "unknown"])
    assert times[-1] == -np.inf
    pairs = zip(NAMES, values[:-1].tolist(), times[:-1].tolist(), strict=True)
    return {name: value if math.isfinite(at) else None for name, value, at in pairs}


def expected(
    world: policy_world.World, window: checked_expr.MetricWindow
) -> dict[str, float | None]:
    """Return what the reference says, whatever the newest sample is."""
    return {name: world.window_value(METRIC, name, window) for name in NAMES}


@hypothesis.given(refreshes())
def test_a_window_is_that_of_the_reference(given: list[Refresh]) -> None:
    """After every refresh, for every function."""
    history, world = metric_windows.SampleHistory(NEED), policy_world.World()
    for samples in given:
        history.add(samples)
        world.refresh("m", samples)
        for window in WINDOWS:
            assert window_values(history, window) == expected(world, window)


@hypothesis.given(refreshes(), st.integers(0, 14))
def test_a_range_query_fills_what_came_before(given: list[Refresh], split: int) -> None:
    """Samples from before the start make the window that it would be without the restart."""
    given = in_order(given)
    whole, restarted = metric_windows.SampleHistory(NEED), metric_windows.SampleHistory(NEED)
    for samples in given:
        whole.add(samples)
    for samples in given[split:]:
        restarted.add(samples)
    restarted.add_older(older_samples(given[:split]))
    for window in WINDOWS:
        assert window_values(restarted, window) == window_values(whole, window)


@pytest.mark.parametrize(
    "function, quantile, value",
    [
        pytest.param("avg", None, 2.5, id="avg"),
        pytest.param("min", None, 1.0, id="min"),
        pytest.param("max", None, 4.0, id="max"),
        pytest.param("quantile", 0.5, 2.5, id="median"),
        pytest.param("quantile", 0.95, 3.85, id="interpolated"),
        pytest.param("quantile", 1.0, 4.0, id="largest"),
    ],
)
def test_functions_over_a_window(function: Any, quantile: float | None, value: float) -> None:
    """1, 2, 3 and 4 in every function; another node's gap is not theirs."""
    values = np.array([[4.0, 9.0], [1.0, 9.0], [3.0, 9.0], [2.0, 9.0]])
    is_in = np.array([[True, False], [True, True], [True, False], [True, False]])
    aggregate = metric_windows.WindowAggregate(60.0, function, quantile)
    found = metric_windows.aggregate_window(aggregate, values, is_in)
    assert found.tolist() == [pytest.approx(value), 9.0]


def test_a_window_needs_no_more_memory_than_it_says() -> None:
    """Nodes that come and go, and a source that is too fast, leave nothing behind for ever."""
    history = metric_windows.SampleHistory(NEED)
    for number in range(3000):
        sample = metric_table.Sample(1.0, 1000.0 + 0.01 * number)
        history.add({f"n{number}": sample, "stays": sample})
    assert len(history._layers) <= 8 + 2 * (180 // 15)
    assert len(history._newest) <= 200


def test_a_table_keeps_a_window_over_new_policies() -> None:
    """The same range keeps what is known, another one begins with the newest sample."""
    table = metric_table.MetricTable()
    table.keep_histories({"m": NEED})
    for at, value in ((0.0, 2.0), (15.0, 4.0)):
        table.refresh("m", {"n1": metric_table.Sample(value, at)})
    average = metric_windows.WindowAggregate(120.0, "avg")
    table.keep_histories({"m": NEED})
    assert table.get_metric_column("m", ["n1"], 0, average).values.tolist() == [3.0]
    table.keep_histories({"m": metric_windows.HistoryNeed(120.0, 60.0, 15.0)})
    assert table.get_metric_column("m", ["n1"], 0, average).values.tolist() == [4.0]
