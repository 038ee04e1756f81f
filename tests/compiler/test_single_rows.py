"""What a rule says of one node alone is what it says of that node among all."""

from __future__ import annotations

from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched.cluster import snapshot
from policysched.compiler import column
from policysched.compiler.kernels import arithmetic, compare, points, scalar
from policysched.framework import cycle_state
from tests.compiler import desk, test_reference

_numbers = st.floats(allow_nan=False, allow_infinity=False)
_near = st.sampled_from((0.0, -0.0, 1.0, -1.0, 0.1, 0.3, 1e-320, -5e-324, 1e308, -1e308, 2.5))
_operands = st.one_of(_numbers, _near)


@hypothesis.given(test_reference.moments())
def test_a_row_alone_is_answered_as_among_all(moment: test_reference.Moment) -> None:
    """Filters and scores that are asked about a row agree with their arrays, bit by bit."""
    for framework, state in moment.states():
        for plugin in framework.profile.plugins:
            _assert_rows_agree(plugin, state, moment.info, moment.snap)


def _assert_rows_agree(plugin: Any, state: cycle_state.CycleState, info: Any, snap: Any) -> None:
    nodes = [snapshot.NodeRow(snap, row) for row in np.flatnonzero(snap.is_alive).tolist()]
    if hasattr(plugin, "filter_row"):
        answers = plugin.filter(state, info, snap.view_all_rows())
        for node in nodes:
            expected = answers.statuses[answers.ids[node.row]]
            assert plugin.filter_row(state, info, node) == expected
    if hasattr(plugin, "score_row"):
        scores = plugin.score(state, info, snap.view_all_rows())
        for node in nodes:
            alone = plugin.score_row(state, info, node)
            assert isinstance(alone, int) == (scores.dtype == np.int64)
            assert np.array_equal(np.array(alone), scores[node.row], equal_nan=True)


@pytest.mark.parametrize(
    "first, second",
    [
        ("LeastAllocated(cpu)", "LeastAllocated(memory)"),
        ("LeastAllocated(cpu)", "MostAllocated(cpu)"),
    ],
    ids=["two resources", "one resource"],
)
def test_strategies_stand_side_by_side(first: str, second: str) -> None:
    """Two rules of one policy, asked in the same cycle, each go by what they name."""
    text = (
        f"policy p {{ for pods\n score {first} weight 2 as one\n score {second} weight 2 as two\n}}"
    )
    there = desk.Desk(text, [desk.node("n").capacity(cpu="4", memory="8Gi")])
    info = there.shapes.make_info(desk.pod().requests(cpu="1", memory="6Gi").build())
    state, node = cycle_state.CycleState(), there.cache.snapshot().view_row(0)
    rules = [p for p in there.program.profiles[0].plugins if hasattr(p, "score_row")]
    assert [rule.score_row(state, info, node) for rule in rules] == [7500, 2500]


def _same(one: float | None, many: column.Numbers) -> bool:
    values, is_valid = many
    if one is None:
        return not np.all(is_valid)
    return bool(np.all(is_valid)) and one == float(np.asarray(values).item())


def _column(value: float) -> column.Numbers:
    return column.Numbers(np.array([value]), np.array([True]))


@hypothesis.given(st.sampled_from(sorted(scalar.OPERATORS)), _operands, _operands)
def test_operators_of_one_number_are_those_of_columns(name: str, left: float, right: float) -> None:
    """Sums, products and quotients agree, and so does what is missing."""
    with arithmetic.quiet():
        many = arithmetic.OPERATORS[name](_column(left), _column(right))
    assert _same(scalar.OPERATORS[name](left, right), many)


@hypothesis.given(st.sampled_from(sorted(scalar.FUNCTIONS)), _operands, _operands)
def test_functions_of_one_number_are_those_of_columns(name: str, left: float, right: float) -> None:
    """min, max, abs, floor, ceil and mod agree."""
    arguments = [left, right] if name in ("min", "max", "mod") else [left]
    with arithmetic.quiet():
        many = arithmetic.FUNCTIONS[name]([_column(each) for each in arguments])
    assert _same(scalar.FUNCTIONS[name](arguments), many)


@hypothesis.given(st.sampled_from(sorted(scalar.COMPARISONS)), _operands, _operands)
def test_comparisons_of_one_number_are_those_of_columns(
    name: str, left: float, right: float
) -> None:
    """Comparisons agree."""
    many = compare.compare(compare.COMPARISONS[name], _column(left), _column(right))
    assert scalar.COMPARISONS[name](left, right) == bool(many.is_true[0])


@hypothesis.given(_operands, _operands, _operands)
def test_linear_points_of_one_number_are_those_of_columns(
    value: float, one: float, other: float
) -> None:
    """Straight lines agree, for the closest and the widest bounds too."""
    low, high = min(one, other), max(one, other)
    with arithmetic.quiet():
        many = points.linear(np.array([value]), low, high)
    assert scalar.linear(value, low, high) == many[0]


@hypothesis.given(
    _operands,
    st.lists(
        st.tuples(_operands, st.integers(0, 100)), min_size=1, max_size=4, unique_by=lambda c: c[0]
    ),
)
def test_shapes_of_one_number_are_those_of_columns(
    value: float, corners: list[tuple[float, int]]
) -> None:
    """Broken lines agree."""
    corners.sort()
    with arithmetic.quiet():
        many = points.shape(np.array([value]), corners)
    assert scalar.shape(value, corners) == many[0]


@pytest.mark.parametrize("value, points_expected", [(-1.0, 10), (0.0, 10), (5e-324, 90), (1.0, 90)])
def test_a_line_between_values_next_to_each_other_is_a_step(
    value: float, points_expected: int
) -> None:
    """Half of their distance is 0, and nothing is divided by it."""
    corners = [(0.0, 10), (5e-324, 90)]
    expected = points_expected * points.FULL // 100
    assert points.shape(np.array([value]), corners).tolist() == [expected]
    assert scalar.shape(value, corners) == expected
