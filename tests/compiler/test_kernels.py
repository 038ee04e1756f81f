"""Kernels on their own: formulas of points, three-valued logic, arithmetic with missing numbers."""

from __future__ import annotations

import itertools
import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched.cluster.columns import columns
from policysched.compiler import column
from policysched.compiler.kernels import arithmetic, compare, logic, points
from policysched.lang.checked import checked
from tests.reference import policy_expressions, policy_scores, policy_selectors

finite = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from((0.0, -0.0, 1.0, 3.0))
maybe_missing = st.lists(st.none() | finite, min_size=1, max_size=6)
few = st.sampled_from((0.0, 1.0, 2.0, 5.0, -1.0))
values = st.lists(finite | few, max_size=8)


def _numbers(given: list[float | None]) -> column.Numbers:
    known = np.array([math.nan if each is None else each for each in given])
    return column.Numbers(known, np.array([each is not None for each in given]))


def _plain(numbers: column.Numbers) -> list[float | None]:
    pairs = zip(numbers.values.tolist(), numbers.is_valid.tolist(), strict=True)
    return [value if valid else None for value, valid in pairs]


# --- points --------------------------------------------------------------------------------------


def _points(way: checked.Normalization, given: list[float], *, prefer_low: bool) -> list[int]:
    found: list[int] = _array(way, np.array(given, np.float64), prefer_low=prefer_low).tolist()
    return found


def _array(
    way: checked.Normalization, given: columns.FloatArray, *, prefer_low: bool
) -> columns.IntArray:
    match way:
        case checked.LinearNormalization(low=low, high=high):
            found = points.linear(given, low, high)
            return points.FULL - found if prefer_low else found
        case checked.MinMaxNormalization(floor=floor):
            return points.minmax(given, floor, prefer_low=prefer_low)
        case checked.RankNormalization():
            return points.rank(given, prefer_low=prefer_low)
        case checked.MaxNormalization():
            return points.by_largest(given, prefer_low=prefer_low)
        case checked.ShapeNormalization(points=corners):
            return points.shape(given, corners)


@st.composite
def ways(draw: st.DrawFn) -> checked.Normalization:
    """Return any normalisation."""
    ends = st.lists(finite | few, min_size=2, max_size=2, unique_by=lambda end: end / 2)
    low, high = sorted(draw(ends))
    corners = sorted(draw(st.lists(finite | few, min_size=2, max_size=4, unique=True)))
    heights = draw(st.lists(st.integers(0, 100), min_size=4, max_size=4))
    floor = abs(draw(finite | few))
    choices: tuple[checked.Normalization, ...] = (
        checked.LinearNormalization(low, high),
        checked.MinMaxNormalization(floor),
        checked.RankNormalization(),
        checked.MaxNormalization(),
        checked.ShapeNormalization(tuple(zip(corners, heights, strict=False))),
    )
    return draw(st.sampled_from(choices))


@hypothesis.given(ways(), values, st.booleans())
def test_points_follow_the_formula(
    way: checked.Normalization, given: list[float], prefer_low: bool
) -> None:
    """Every normalisation gives what its formula gives a number at a time, inside 0 to 100."""
    with np.errstate(all="ignore"):
        found = _points(way, given, prefer_low=prefer_low)
    named = {str(i): value for i, value in enumerate(given)}
    expected = policy_scores.normalized(way, named, prefer_low=prefer_low)
    assert found == list(expected.values())
    assert all(0 <= each <= points.FULL for each in found)


@pytest.mark.parametrize(
    "way, given, prefer_low, expected",
    [
        pytest.param(
            checked.LinearNormalization(0, 0.9),
            [0.0, 0.3, 0.9, 2.0],
            True,
            [10000, 6667, 0, 0],
            id="linear-low",
        ),
        pytest.param(
            checked.ShapeNormalization(((-1.0, 10), (0.0, 20), (5e-324, 30))),
            [-0.5, 0.0, 5e-324, 1.0],
            False,
            [1500, 2000, 3000, 3000],
            id="shape with a step",
        ),
        pytest.param(
            checked.MinMaxNormalization(0),
            [1.0, 2.0, 3.0],
            False,
            [0, 5000, 10000],
            id="minmax-high",
        ),
        pytest.param(
            checked.MinMaxNormalization(4),
            [1.0, 2.0, 3.0],
            True,
            [5000, 2500, 0],
            id="minmax-floor",
        ),
        pytest.param(
            checked.MinMaxNormalization(0), [7.0, 7.0], False, [0, 0], id="minmax-all-equal"
        ),
        pytest.param(
            checked.RankNormalization(),
            [7.0, 1.0, 7.0, 3.0],
            False,
            [10000, 0, 10000, 5000],
            id="rank",
        ),
        pytest.param(checked.RankNormalization(), [7.0, 7.0], True, [0, 0], id="rank-one-value"),
        pytest.param(
            checked.MaxNormalization(), [1.0, 4.0, -1.0], True, [7500, 0, 10000], id="max-low"
        ),
        pytest.param(checked.MaxNormalization(), [0.0, -1.0], True, [0, 0], id="max-of-zero"),
        pytest.param(
            checked.ShapeNormalization(((0, 0), (10, 100))),
            [-1.0, 5.0, 11.0],
            False,
            [0, 5000, 10000],
            id="shape",
        ),
    ],
)  # fmt: skip - one case a line
def test_points_of_a_few_numbers(
    way: checked.Normalization, given: list[float], prefer_low: bool, expected: list[int]
) -> None:
    """The documented examples."""
    assert _points(way, given, prefer_low=prefer_low) == expected


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", ["+", "-", "*", "/"])
@hypothesis.given(left=maybe_missing, right=st.none() | finite | few)
def test_arithmetic_with_what_is_missing(
    operator: str, left: list[float | None], right: float | None
) -> None:
    """A missing operand, a division by zero and an overflow make the result missing."""
    other = _numbers([right] * len(left))
    with arithmetic.quiet():
        found = arithmetic.OPERATORS[operator](_numbers(left), other)
    assert _plain(found) == [policy_expressions.arithmetic(operator, each, right) for each in left]


@pytest.mark.parametrize("function", ["min", "max", "mod", "abs", "floor", "ceil"])
@hypothesis.given(left=maybe_missing, right=st.none() | finite | few)
def test_functions_with_what_is_missing(
    function: str, left: list[float | None], right: float | None
) -> None:
    """Functions agree with their scalar form."""
    binary = function in ("min", "max", "mod")
    operands = [_numbers(left), _numbers([right] * len(left))] if binary else [_numbers(left)]
    with arithmetic.quiet():
        found = arithmetic.FUNCTIONS[function](operands)
    arguments = [[each, right] if binary else [each] for each in left]
    assert _plain(found) == [policy_expressions.call(function, each) for each in arguments]


@pytest.mark.parametrize("comparator", ["=", "!=", "<", "<=", ">", ">="])
@hypothesis.given(left=maybe_missing, right=st.none() | finite | few)
def test_comparisons_with_what_is_missing(
    comparator: str, left: list[float | None], right: float | None
) -> None:
    """A comparison with a missing number is neither true nor false."""
    comparison = compare.COMPARISONS[comparator]
    found = compare.compare(comparison, _numbers(left), _numbers([right] * len(left)))
    expected = [
        None if each is None or right is None else policy_selectors.compare(comparator, each, right)
        for each in left
    ]
    assert _kleene(found) == expected


def test_a_constant_stays_a_scalar() -> None:
    """Arithmetic on constants makes no arrays, and broadcasts against columns."""
    half = arithmetic.OPERATORS["/"](column.constant(1), column.constant(2))
    assert float(half.values) == 0.5
    assert half.is_valid is column.ALWAYS
    doubled = arithmetic.OPERATORS["*"](half, _numbers([4.0, None]))
    assert _plain(doubled) == [2.0, None]


# --- truths --------------------------------------------------------------------------------------

STATES = (True, False, None)


def _truths(given: list[bool | None]) -> column.Truths:
    return column.Truths(
        np.array([each is True for each in given]), np.array([each is False for each in given])
    )


def _kleene(truths: column.Truths) -> list[bool | None]:
    pairs = zip(truths.is_true.tolist(), truths.is_false.tolist(), strict=True)
    assert not np.any(truths.is_true & truths.is_false)
    return [True if t else False if f else None for t, f in pairs]


def _known_in_every_way(left: bool | None, right: bool | None, operation: str) -> bool | None:
    """Return what comes out whatever unknown operands are, None if that differs."""
    choices = [[True, False] if each is None else [each] for each in (left, right)]
    outcomes = {
        (a and b) if operation == "and" else (a or b) for a, b in itertools.product(*choices)
    }
    return outcomes.pop() if len(outcomes) == 1 else None


@pytest.mark.parametrize("operation", ["and", "or"])
def test_unknown_decides_only_what_depends_on_it(operation: str) -> None:
    """And and or of all nine pairs of states."""
    pairs = list(itertools.product(STATES, STATES))
    operands = [_truths([a for a, _ in pairs]), _truths([b for _, b in pairs])]
    found = logic.all_of(operands) if operation == "and" else logic.any_of(operands)
    assert _kleene(found) == [_known_in_every_way(a, b, operation) for a, b in pairs]


def test_not_unknown_is_unknown() -> None:
    """Negation of the three states."""
    assert _kleene(logic.negation(_truths([True, False, None]))) == [False, True, None]
