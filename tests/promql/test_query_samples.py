"""The samples that a query reads, and the series that it removes."""

from __future__ import annotations

import promql_parser
import pytest

from policysched.promql import query_samples


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
    assert query_samples.find_raw_series_names(promql_parser.parse(query)) == names


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
    assert query_samples.is_filtering_comparison(expr) is is_filter


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
    assert query_samples.get_range_seconds(promql_parser.parse(query)) == seconds


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
    assert query_samples.reads_buckets(promql_parser.parse(query)) is reads


@pytest.mark.parametrize(
    "query, reads",
    [
        pytest.param("sum(rate(x[5m]))", True, id="range"),
        pytest.param("max_over_time(x[5m:])", True, id="subquery"),
        pytest.param("job:x:rate5m", True, id="recording-rule"),
        pytest.param("x / y", False, id="instant"),
    ],
)
def test_recording_rules_may_read_a_range(query: str, *, reads: bool) -> None:
    """Their names have a colon, by which nothing is known of their queries."""
    assert query_samples.reads_time_range(promql_parser.parse(query)) is reads


@pytest.mark.parametrize(
    "query, part",
    [
        pytest.param("2 * topk(3, x)", "topk(3, x)", id="selecting"),
        pytest.param("abs(x > 1)", "x > 1", id="comparison"),
        pytest.param("x > bool 1", None, id="bool"),
        pytest.param("max by (node) (x > 1)", None, id="aggregated"),
        pytest.param("x and y", None, id="set"),
    ],
)
def test_filters_count_if_nothing_aggregates_them(query: str, part: str | None) -> None:
    """Other series of its group keep a node in the result."""
    found = query_samples.find_value_filter(promql_parser.parse(query))
    assert (None if found is None else str(found.prettify())) == part


@pytest.mark.parametrize(
    "query, may_be_empty",
    [
        pytest.param("x > 1", True, id="comparison"),
        pytest.param("sum(x unless y)", True, id="unless"),
        pytest.param("1 - absent(x)", True, id="absent"),
        pytest.param("x or y", False, id="or"),
        pytest.param("x / y", False, id="division"),
    ],
)
def test_some_queries_may_have_no_result(query: str, *, may_be_empty: bool) -> None:
    """Others have none only if series do not match."""
    assert query_samples.may_result_be_empty(promql_parser.parse(query)) is may_be_empty
