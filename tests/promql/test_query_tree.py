"""Questions about the tree of a query."""

from __future__ import annotations

import promql_parser
import pytest

from policysched.promql import functions, query_tree


def test_calls_are_found_at_every_depth() -> None:
    """Aggregations are no calls, even if a set has their name."""
    expr = promql_parser.parse("sum(rate(x[5m])) / count(absent(irate(y[1m])))")
    found = query_tree.find_calls(expr, functions.COUNTER_FUNCTIONS | {"sum", "absent"})
    assert [each.func.name for each in found] == ["rate", "absent", "irate"]


@pytest.mark.parametrize(
    "query, name",
    [
        pytest.param('x{a="b"}', "x", id="selector"),
        pytest.param('{a="b"}', None, id="no-name"),
        pytest.param("abs(x)", "abs", id="call"),
        pytest.param("sum by (a) (x)", "sum", id="aggregation"),
        pytest.param("x + y", None, id="operation"),
    ],
)
def test_parts_have_the_word_that_the_query_has_for_them(query: str, name: str | None) -> None:
    """It is how their place in the text is found."""
    assert query_tree.get_part_name(promql_parser.parse(query)) == name
