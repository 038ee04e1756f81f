"""The place of a cursor in a query."""

from __future__ import annotations

import pytest

from policysched.promql import query_cursor


@pytest.mark.parametrize(
    "before, places",
    [
        pytest.param("", {"expression"}, id="nothing"),
        pytest.param("rate(", {"expression"}, id="call"),
        pytest.param("rate(x[5m]) / ", {"expression"}, id="operator"),
        pytest.param("rate(x[", {"range"}, id="range"),
        pytest.param("rate(x[5m", {"range"}, id="duration"),
        pytest.param("x{", set(), id="matchers"),
        pytest.param('x{a="', {"string"}, id="value"),
        pytest.param('x{a="b", c=~"', {"string"}, id="second-value"),
        pytest.param('x{a="["', {"range"}, id="bracket-in-a-string"),
        pytest.param('x{a="b"} / ', set(), id="behind-a-string"),
        pytest.param("sum by (", {"grouping"}, id="by"),
        pytest.param("sum without(a, ", {"grouping"}, id="without"),
        pytest.param("sum by (a) (", {"expression"}, id="behind-a-grouping"),
        pytest.param("x / on (a) group_left (", {"grouping"}, id="group-left"),
        pytest.param("go_by(", {"expression"}, id="name-that-ends-like-a-keyword"),
    ],
)
def test_the_text_before_the_cursor_gives_its_place(before: str, places: set[str]) -> None:
    """Most places are exactly one of these."""
    is_in = {
        "expression": query_cursor.can_expression_follow(before),
        "grouping": query_cursor.is_inside_grouping(before),
        "range": query_cursor.is_inside_range(before),
        "string": query_cursor.is_inside_string(before),
    }
    assert {place for place, is_there in is_in.items() if is_there} == places
