"""What guards say about the measurements of a stage."""

from __future__ import annotations

import math

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.rollout import guards, settings, tally
from tests import examples

OK, TRIPPED, UNKNOWN = guards.GuardState.OK, guards.GuardState.TRIPPED, guards.GuardState.UNKNOWN
MIN_PODS = 20


def _tally(
    bound: int, unschedulable: int = 0, seconds: float = 0.01, victims: int = 0
) -> tally.VersionTally:
    counted = tally.VersionTally()
    for number in range(bound + unschedulable):
        is_bound = number < bound
        pod = tally.JudgedPod(not is_bound, is_bound)
        counted.record_attempt(f"uid-{number}", pod, seconds, victims if number == 0 else 0)
    return counted


def _evaluate(
    guard: settings.Guard, new: tally.VersionTally, old: tally.VersionTally | None = None
) -> guards.GuardVerdict:
    measured = guards.MeasuredValues(new, old or tally.VersionTally())
    return guards.evaluate_guard(guard, measured, MIN_PODS)


def _guard(measure: settings.Measure, **bound: float) -> settings.Guard:
    return settings.Guard("g", measure, **bound)  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    "guard, new, old, state, said",
    [
        pytest.param(
            _guard("unschedulable", most=0.3),
            *(_tally(13, 6), None, UNKNOWN, "g: 19 of 20 pods judged"),
            id="too-few-pods",
        ),
        pytest.param(
            _guard("unschedulable", most=0.3),
            *(_tally(14, 6), None, OK, "g: 0.3 <= 0.3"),
            id="on-the-bound",
        ),
        pytest.param(
            _guard("unschedulable", most=0.3),
            *(_tally(13, 7), None, TRIPPED, "g: 0.35 > 0.3"),
            id="above-the-bound",
        ),
        pytest.param(
            _guard("unschedulable", most_times_old=2),
            *(_tally(18, 2), None, UNKNOWN, "g: 0 of 20 pods of the version in force judged"),
            id="no-old-pods",
        ),
        pytest.param(
            _guard("unschedulable", most_times_old=2),
            *(
                _tally(18, 2),
                _tally(19),
                UNKNOWN,
                "g: 19 of 20 pods of the version in force judged",
            ),
            id="too-few-old-pods",
        ),
        pytest.param(
            _guard("unschedulable", most_times_old=2),
            *(_tally(18, 2), _tally(19, 1), OK, "g: 0.1 <= 0.1"),
            id="twice-the-old-value",
        ),
        pytest.param(
            _guard("unschedulable", most_times_old=2),
            *(_tally(17, 3), _tally(19, 1), TRIPPED, "g: 0.15 > 0.1"),
            id="more-than-twice-the-old-value",
        ),
        pytest.param(
            _guard("unschedulable", most_times_old=2),
            *(_tally(19, 1), _tally(20), TRIPPED, "g: 0.05 > 0"),
            id="a-multiple-of-nothing-is-nothing",
        ),
        pytest.param(
            _guard("attemptP99Seconds", most_times_old=1.5),
            *(_tally(20, seconds=0.04), _tally(20, seconds=0.02), TRIPPED, "g: 0.04 > 0.03"),
            id="slow",
        ),
        pytest.param(
            _guard("evictions", most=0.1),
            *(_tally(20, victims=3), None, TRIPPED, "g: 0.15 > 0.1"),
            id="evictions",
        ),
    ],
)
def test_verdicts_about_pods(
    guard: settings.Guard,
    new: tally.VersionTally,
    old: tally.VersionTally | None,
    state: guards.GuardState,
    said: str,
) -> None:
    """The bound itself is accepted, and the message has both numbers."""
    verdict = _evaluate(guard, new, old)
    assert (verdict.state, verdict.describe()) == (state, said)


@pytest.mark.parametrize(
    "share, state", [(None, OK), (0.0, OK), (0.2, OK), (0.3, TRIPPED), (math.nan, UNKNOWN)]
)
def test_missing_metrics_need_one_pod(share: float | None, state: guards.GuardState) -> None:
    """A version without metrics lacks none.

    The first decision waits for the first samples; before it, all of them would be missing.
    """
    guard = _guard("missingMetrics", most=0.2)
    measured = guards.MeasuredValues(_tally(1), tally.VersionTally(), share)
    assert guards.evaluate_guard(guard, measured, MIN_PODS).state is state
    too_early = guards.MeasuredValues(tally.VersionTally(), tally.VersionTally(), share)
    verdict = guards.evaluate_guard(guard, too_early, MIN_PODS)
    assert (verdict.state, verdict.describe()) == (UNKNOWN, "g: 0 of 1 pods judged")


@pytest.mark.parametrize(
    "value, state, said",
    [
        (0.01, OK, "g: 0.01 <= 0.02"),
        (0.03, TRIPPED, "g: 0.03 > 0.02"),
        (math.inf, TRIPPED, "g: inf > 0.02"),
        (-math.inf, OK, "g: -inf <= 0.02"),
        (math.nan, UNKNOWN, "g: the value is NaN"),
        ("no bound pods", UNKNOWN, "g: no bound pods"),
        (None, UNKNOWN, "g: not queried yet"),
    ],
)
def test_answers_of_queries(value: float | str | None, state: guards.GuardState, said: str) -> None:
    """A failure, and 0 divided by 0, are no value: neither good nor bad."""
    values = {} if value is None else {"g": value}
    measured = guards.MeasuredValues(_tally(30), _tally(30), query_values=values)
    guard = settings.Guard("g", query="sum(x{$new_pods})", most=0.02)
    verdict = guards.evaluate_guard(guard, measured, MIN_PODS)
    assert (verdict.state, verdict.describe()) == (state, said)


@hypothesis.settings(max_examples=examples.scale(200), deadline=None)
@given(
    measure=st.sampled_from(("unschedulable", "attemptP99Seconds", "evictions")),
    most=st.none() | st.floats(0, 2),
    times=st.floats(0.1, 10),
    new=st.tuples(st.integers(0, 30), st.integers(0, 30), st.floats(0, 5), st.integers(0, 9)),
    old=st.tuples(st.integers(0, 30), st.integers(0, 30), st.floats(0, 5), st.integers(0, 9)),
)
def test_no_verdict_without_enough_pods(
    measure: settings.Measure,
    most: float | None,
    times: float,
    new: tuple[int, int, float, int],
    old: tuple[int, int, float, int],
) -> None:
    """Otherwise the verdict is the comparison of the two numbers that it names."""
    guard = settings.Guard("g", measure, most=most, most_times_old=times if most is None else None)
    counted, former = _tally(*new), _tally(*old)
    verdict = _evaluate(guard, counted, former)
    if counted.judged < MIN_PODS or (most is None and former.judged < MIN_PODS):
        assert verdict.state is UNKNOWN
        assert verdict.problem
        return
    assert verdict.value is not None
    assert verdict.bound is not None
    assert verdict.state is (TRIPPED if verdict.value > verdict.bound else OK)
    assert most is None or verdict.bound == most
