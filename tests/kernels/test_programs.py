"""Operations of programs, installed and interpreted, against the slow reference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched.kernels import programs
from policysched.lang.checked import checked
from tests.kernels import both_ways
from tests.reference import policy_expressions, policy_scores, policy_selectors

BOTH = both_ways.load_both("programs")
both_kernels = pytest.mark.parametrize("kernel", BOTH, ids=["installed", "interpreted"])

Number = float | None
_near = st.sampled_from((0.0, -0.0, 1.0, -1.0, 0.1, 0.3, 1e-320, -5e-324, 1e308, -1e308, 2.5))
finite = st.floats(allow_nan=False, allow_infinity=False) | _near
maybe_missing = st.lists(st.none() | finite, min_size=1, max_size=6)
STATES = (True, False, None)


def _run(
    kernel: Any,
    code: Sequence[tuple[int, int, int, int]],
    columns: Sequence[Sequence[Number]],
    constants: Sequence[float] = (0.0,),
    rows: Sequence[int] | None = None,
) -> list[Number]:
    """Return the only result of a program for rows of inputs."""
    inputs = np.array(
        [[math.nan if each is None else float(each) for each in column] for column in columns]
    )
    at = np.arange(inputs.shape[1]) if rows is None else np.array(rows, np.intp)
    amounts, pods = np.zeros((1, 1), np.int64), np.zeros(1, np.int64)
    out = np.full((1, len(at)), 7.0)
    kernel.run_program(
        np.array(code, np.int32),
        np.array(constants, np.float64),
        np.zeros(len(at), np.intp),
        amounts,
        amounts,
        pods,
        pods,
        at,
        inputs,
        np.zeros((4, programs.BLOCK)),
        out,
    )
    return [None if math.isnan(each) else each for each in out[0].tolist()]


def _apply(kernel: Any, operation: int, *columns: Sequence[Number]) -> list[Number]:
    """Return what an operation makes of one or two columns."""
    loads = [(programs.INPUT, place, place, 0) for place in range(len(columns))]
    code = [*loads, (operation, 2, 0, len(columns) - 1), (programs.STORE, 0, 2, 0)]
    return _run(kernel, code, columns)


@both_kernels
@pytest.mark.parametrize(
    "operation, sign",
    [
        (programs.ADD, "+"),
        (programs.SUBTRACT, "-"),
        (programs.MULTIPLY, "*"),
        (programs.DIVIDE, "/"),
    ],
)
@hypothesis.given(left=maybe_missing, right=st.none() | finite)
def test_arithmetic_with_what_is_missing(
    kernel: Any, operation: int, sign: str, left: list[Number], right: Number
) -> None:
    """A missing operand, a division by zero and an overflow make the result missing."""
    found = _apply(kernel, operation, left, [right] * len(left))
    assert found == [policy_expressions.arithmetic(sign, each, right) for each in left]


@both_kernels
@pytest.mark.parametrize(
    "operation, function",
    [
        (programs.MINIMUM, "min"),
        (programs.MAXIMUM, "max"),
        (programs.MODULO, "mod"),
        (programs.ABSOLUTE, "abs"),
        (programs.FLOOR, "floor"),
        (programs.CEILING, "ceil"),
    ],
)
@hypothesis.given(left=maybe_missing, right=st.none() | finite)
def test_functions_with_what_is_missing(
    kernel: Any, operation: int, function: str, left: list[Number], right: Number
) -> None:
    """A missing argument makes the result missing."""
    is_binary = function in ("min", "max", "mod")
    others = [[right] * len(left)] if is_binary else []
    found = _apply(kernel, operation, left, *others)
    arguments = [[each, right] if is_binary else [each] for each in left]
    assert found == [policy_expressions.call(function, each) for each in arguments]


@both_kernels
@pytest.mark.parametrize(
    "operation, comparator",
    [
        (programs.EQUAL, "="),
        (programs.UNEQUAL, "!="),
        (programs.LESS, "<"),
        (programs.LESS_OR_EQUAL, "<="),
        (programs.GREATER, ">"),
        (programs.GREATER_OR_EQUAL, ">="),
    ],
)
@hypothesis.given(left=maybe_missing, right=st.none() | finite)
def test_comparisons_with_what_is_missing(
    kernel: Any, operation: int, comparator: str, left: list[Number], right: Number
) -> None:
    """A comparison with a missing number is unknown."""
    found = _apply(kernel, operation, left, [right] * len(left))
    assert found == [
        None if each is None or right is None else policy_selectors.compare(comparator, each, right)
        for each in left
    ]


@both_kernels
def test_a_fallback_replaces_only_what_is_missing(kernel: Any) -> None:
    """It can be missing itself."""
    found = _apply(kernel, programs.ELSE, [1.0, None, None], [2.0, 3.0, None])
    assert found == [1.0, 3.0, None]


def _known_in_every_way(left: bool | None, right: bool | None, operation: int) -> bool | None:
    """Return what comes out whatever unknown operands are, None if that differs."""
    choices = [[True, False] if each is None else [each] for each in (left, right)]
    outcomes = {
        (a and b) if operation == programs.AND else (a or b) for a, b in itertools.product(*choices)
    }
    return outcomes.pop() if len(outcomes) == 1 else None


@both_kernels
@pytest.mark.parametrize("operation", [programs.AND, programs.OR])
def test_unknown_decides_only_what_depends_on_it(kernel: Any, operation: int) -> None:
    """And and or of all nine pairs of states."""
    pairs = list(itertools.product(STATES, STATES))
    found = _apply(kernel, operation, [a for a, _ in pairs], [b for _, b in pairs])
    assert found == [_known_in_every_way(a, b, operation) for a, b in pairs]


@both_kernels
def test_not_unknown_is_unknown(kernel: Any) -> None:
    """Negation of the three states."""
    assert _apply(kernel, programs.NOT, STATES) == [False, True, None]


def _points(
    kernel: Any, way: checked.Normalization, given: Sequence[Number], *, prefer_low: bool
) -> list[Number]:
    """Return the points of numbers, 4,200 for those that are missing."""
    match way:
        case checked.LinearNormalization(low=low, high=high):
            end = programs.LINEAR_POINTS
            constants = [4200.0, low / 2, high / 2 - low / 2, high, float(prefer_low)]
        case checked.ShapeNormalization(points=corners):
            end = programs.SHAPE_POINTS
            line = itertools.chain.from_iterable(corners)
            constants = [4200.0, float(len(corners)), *map(float, line)]
        case _:
            raise AssertionError(way)
    return _run(kernel, [(programs.INPUT, 0, 0, 0), (end, 0, 0, 0)], [given], constants)


@st.composite
def ways(draw: st.DrawFn) -> checked.Normalization:
    """Return a normalisation that looks at one number alone."""
    ends = st.lists(finite, min_size=2, max_size=2, unique_by=lambda end: end / 2)
    low, high = sorted(draw(ends))
    corners = sorted(draw(st.lists(finite, min_size=1, max_size=4, unique=True)))
    heights = draw(st.lists(st.integers(0, 100), min_size=4, max_size=4))
    line = checked.ShapeNormalization(tuple(zip(corners, heights, strict=False)))
    return line if draw(st.booleans()) else checked.LinearNormalization(low, high)


@both_kernels
@hypothesis.given(way=ways(), given=st.lists(finite, max_size=8), prefer_low=st.booleans())
def test_points_follow_the_formula(
    kernel: Any, way: checked.Normalization, given: list[float], prefer_low: bool
) -> None:
    """For the closest and the widest bounds too."""
    named = {str(place): value for place, value in enumerate(given)}
    expected = policy_scores.normalized(way, named, prefer_low=prefer_low)
    assert _points(kernel, way, given, prefer_low=prefer_low) == list(expected.values())


@both_kernels
@pytest.mark.parametrize(
    "way, given, prefer_low, expected",
    [
        pytest.param(
            checked.LinearNormalization(0, 0.9),
            [0.0, 0.3, 0.9, 2.0, None],
            True,
            [10000, 6667, 0, 0, 4200],
            id="linear-low",
        ),
        pytest.param(
            checked.LinearNormalization(1, 1), [0.9, 1.0, None], False, [0, 10000, 4200], id="step"
        ),
        pytest.param(
            checked.ShapeNormalization(((-1.0, 10), (0.0, 20), (5e-324, 30))),
            [-0.5, 0.0, 5e-324, 1.0],
            False,
            [1500, 2000, 3000, 3000],
            id="shape with a step",
        ),
        pytest.param(
            checked.ShapeNormalization(((0, 0), (10, 100))),
            [-1.0, 5.0, 11.0, None],
            False,
            [0, 5000, 10000, 4200],
            id="shape",
        ),
        pytest.param(
            checked.ShapeNormalization(((3, 70),)), [-1.0, 5.0], False, [7000, 7000], id="flat"
        ),
    ],
)  # fmt: skip - one case a line
def test_points_of_a_few_numbers(
    kernel: Any,
    way: checked.Normalization,
    given: list[Number],
    prefer_low: bool,
    expected: list[int],
) -> None:
    """The documented examples."""
    assert _points(kernel, way, given, prefer_low=prefer_low) == expected


@both_kernels
def test_ends_of_conditions(kernel: Any) -> None:
    """An unknown condition counts as the constant says."""
    load = (programs.INPUT, 0, 0, 0)
    for constant in (0.0, 1.0):
        code = [load, (programs.REJECT, 0, 0, 0)]
        assert _run(kernel, code, [STATES], [constant]) == [1.0, 0.0, constant]
    code = [load, (programs.CONDITION_POINTS, 0, 0, 0)]
    assert _run(kernel, code, [STATES], [2500.0]) == [10_000.0, 0.0, 2500.0]


@both_kernels
def test_rows_of_several_blocks(kernel: Any) -> None:
    """Each row has its own input, in the order of the rows."""
    size = 2 * programs.BLOCK + 3
    rows = list(reversed(range(size)))
    code = [
        (programs.INPUT, 0, 0, 0),
        (programs.CONSTANT, 1, 0, 0),
        (programs.MULTIPLY, 2, 0, 1),
        (programs.STORE, 0, 2, 0),
    ]
    column = [float(row) for row in range(size)]
    assert _run(kernel, code, [column], [2.0], rows) == [2.0 * row for row in rows]


@both_kernels
def test_amounts_and_numbers_of_pods(kernel: Any) -> None:
    """Free amounts wrap around as in Go."""
    operations = (
        programs.ALLOCATABLE,
        programs.REQUESTED,
        programs.FREE,
        programs.ALLOWED_PODS,
        programs.POD_COUNT,
        programs.FREE_PODS,
    )
    code = [(operation, place, 1, 0) for place, operation in enumerate(operations)]
    code += [(programs.STORE, place, place, 0) for place in range(len(operations))]
    out = np.zeros((len(operations), 2))
    kernel.run_program(
        np.array(code, np.int32),
        np.zeros(1),
        np.array([1, 0]),
        np.array([[0, 8], [0, 2**63 - 1]]),
        np.array([[0, 3], [0, -2]]),
        np.array([110, 20]),
        np.array([5, 21]),
        np.array([0, 0]),
        np.zeros((0, 1)),
        np.zeros((len(operations), programs.BLOCK)),
        out,
    )
    assert out.T.tolist() == [
        [2.0**63, -2.0, -(2.0**63), 20.0, 21.0, -1.0],
        [8.0, 3.0, 5.0, 110.0, 5.0, 105.0],
    ]
