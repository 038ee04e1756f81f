"""The times at which metrics are read, and between which their samples hold."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from policysched import units
from policysched.cluster.metrics import metric_windows
from policysched.lang import source
from policysched.lang.checked import checked
from policysched.offline import metric_histories
from policysched.promapi import range_answers

_END = datetime.datetime.fromtimestamp(1_000_000, datetime.UTC)
_HOUR, _DAY = 3600.0, 86_400.0


def _make_metric(refresh_seconds: float) -> checked.CheckedMetric:
    return checked.CheckedMetric(
        "busy",
        "busy",
        units.RATIO,
        "busy",
        "node",
        "instance",
        refresh_seconds,
        75.0,
        "allow",
        None,
        source.Span("x.policy", 0, 0, 1, 1),
    )


@pytest.mark.parametrize(
    "refresh_seconds, length_seconds, window_seconds, is_of_until, nodes, steps",
    [
        pytest.param(15, _HOUR, 0, False, 5, [(60, 60)], id="an hour"),
        pytest.param(420, _HOUR, 0, False, 5, [(9, 420)], id="a long interval"),
        pytest.param(15, _DAY, 0, False, 5, [(60, 1380), (60, 60)], id="a day"),
        pytest.param(15, _HOUR, 600, False, 5, [(280, 15)], id="a window"),
        pytest.param(15, _DAY, 0, True, 5, [(60, 1380), (240, 15)], id="until"),
        pytest.param(1, _HOUR, 0, True, 5000, [(400, 9)], id="until of many nodes"),
    ],
)
def test_the_last_hour_is_read_in_the_same_steps(
    refresh_seconds: float,
    length_seconds: float,
    window_seconds: float,
    is_of_until: bool,
    nodes: int,
    steps: list[tuple[int, float]],
) -> None:
    """Answers are bounded, and end at the end of the history."""
    times = metric_histories.HistoryTimes(
        _END,
        length_seconds,
        {"busy": window_seconds} if window_seconds else {},
        {"busy"} if is_of_until else (),
    )
    planned = metric_histories.plan_ranges(_make_metric(refresh_seconds), times, nodes)
    assert [(each.count - 1, each.step_seconds) for each in planned] == steps
    assert planned[-1].last_seconds == times.end_seconds
    assert planned[0].first_seconds <= times.first_seconds - window_seconds
    assert [each.first_seconds for each in planned[1:]] == [
        each.last_seconds for each in planned[:-1]
    ]


def _make_history(*times: tuple[float, float]) -> metric_histories.MetricHistory:
    """Return a history of one node, from times of steps and of measurement."""
    at_seconds = [at for at, _ in times]
    measured = np.array([[measured] for _, measured in times]).reshape(-1, 1)
    samples = metric_windows.OlderSamples(("a",), measured, np.ones_like(measured))
    return metric_histories.MetricHistory("busy", at_seconds, samples)


def test_steps_without_series_are_added() -> None:
    """They are moved as those of the answer."""
    steps = range_answers.RangeQueryTimes(0.0, 240.0, 60.0)
    history = _make_history((30, 30), (90, 90), (210, 210))
    found = metric_histories.add_missing_steps(history, steps)
    assert found.at_seconds == [30, 90, 150, 210]
    assert [bool(found.get_samples(place)) for place in range(4)] == [True, True, False, True]
    nothing = metric_histories.MetricHistory(
        "busy", [], metric_windows.OlderSamples((), np.empty((0, 0)), np.empty((0, 0)))
    )
    assert metric_histories.add_missing_steps(nothing, steps).at_seconds == [0, 60, 120, 180, 240]


def test_valid_samples_hold_until_the_next_long_step() -> None:
    """Not at it, not at the end, and not if they were too old already."""
    history = _make_history((0, -10), (300, 200), (600, 600), (900, 890))
    held = metric_histories.hold_samples(history, _make_metric(15.0), 300, 900).samples.times
    ends = held[:, 0] + 75.0  # maxAge
    assert 299 < ends[0] < 300
    assert 899 < ends[2] < 900
    assert held[[1, 3], 0].tolist() == [200, 890]
    same = metric_histories.hold_samples(history, _make_metric(300.0), 300, 900)
    assert same.samples.times[:, 0].tolist() == [-10, 200, 600, 890]
