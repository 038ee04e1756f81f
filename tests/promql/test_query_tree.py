"""Questions about the tree of a query."""

from __future__ import annotations

import promql_parser
import pytest

from policysched.promql import functions, query_tree


@pytest.mark.parametrize(
    "query, names",
    [
        pytest.param("x_total / y", {"x_total", "y"}, id="operands"),
        pytest.param("sum by (node) (x)", {"x"}, id="aggregation"),
        pytest.param("(-abs(x))", {"x"}, id="function"),
        pytest.param("rate(x[5m]) + y", {"y"}, id="range"),
        pytest.param("max_over_time(x[5m:])", set(), id="subquery"),
        pytest.param("count(x) + timestamp(y) + absent(z)", set(), id="value-ignored"),
        pytest.param("topk(scalar(x), y)", {"x", "y"}, id="param"),
        pytest.param('{a="b"}', {""}, id="no-name"),
    ],
)
def test_raw_series_are_those_whose_own_value_counts(query: str, names: set[str]) -> None:
    """A range, or an aggregation that counts, reads something else of a counter."""
    assert query_tree.find_raw_names(promql_parser.parse(query)) == names


@pytest.mark.parametrize(
    "query, is_filter",
    [
        pytest.param("x > 1", True, id="comparison"),
        pytest.param("x == y", True, id="vectors"),
        pytest.param("x > bool 1", False, id="bool"),
        pytest.param("x and y", False, id="set"),
        pytest.param("x + y", False, id="sum"),
    ],
)
def test_only_comparisons_without_bool_filter(query: str, *, is_filter: bool) -> None:
    """With `bool` the series stay, with 0 or 1."""
    expr = promql_parser.parse(query)
    assert isinstance(expr, promql_parser.BinaryExpr)
    assert query_tree.is_filtering_comparison(expr) is is_filter


def test_calls_are_found_at_every_depth() -> None:
    """Aggregations are no calls, even if a set has their name."""
    expr = promql_parser.parse("sum(rate(x[5m])) / count(absent(irate(y[1m])))")
    found = query_tree.find_calls(expr, functions.COUNTER_FUNCTIONS | {"sum", "absent"})
    assert [each.func.name for each in found] == ["rate", "absent", "irate"]


@pytest.mark.parametrize(
    "query, seconds",
    [
        pytest.param("x[5m]", 300.0, id="range"),
        pytest.param("x[90s:1m]", 90.0, id="subquery"),
        pytest.param("x", None, id="instant"),
    ],
)
def test_ranges_have_a_length(query: str, seconds: float | None) -> None:
    """That of a subquery is not its step."""
    assert query_tree.get_range_seconds(promql_parser.parse(query)) == seconds


@pytest.mark.parametrize(
    "query, reads",
    [
        pytest.param("sum by (node) (rate(x_bucket[5m]))", True, id="classic"),
        pytest.param("sum by (node) (rate(x[5m]))", False, id="native"),
        pytest.param("x_bucket_size", False, id="elsewhere-in-the-name"),
    ],
)
def test_classic_histograms_are_known_by_their_buckets(query: str, *, reads: bool) -> None:
    """Prometheus' client libraries give the series of buckets this end."""
    assert query_tree.reads_buckets(promql_parser.parse(query)) is reads


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
