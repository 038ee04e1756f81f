"""Words of queries: names of series, and times that a range query gives another meaning."""

from __future__ import annotations

import pytest

from policysched.promql import query_tokens


@pytest.mark.parametrize(
    "query, names",
    [
        pytest.param('x{a="b"} / y', ["x"], id="matchers"),
        pytest.param("rate(job:x:rate[5m])", ["job:x:rate"], id="range"),
        pytest.param('{a="b"}[5m]', [], id="no-name"),
        pytest.param("(x)[5m:]", [], id="subquery"),
        pytest.param('label_replace(x, "y{", "", "", "")', [], id="string"),
        pytest.param("x # y{", [], id="comment"),
    ],
)
def test_series_are_named_before_matchers_and_ranges(query: str, names: list[str]) -> None:
    """Other words may be functions or labels."""
    assert list(query_tokens.find_series_names(query)) == names


@pytest.mark.parametrize(
    "query, depends",
    [
        pytest.param("x @ end()", True, id="end"),
        pytest.param("rate(x[5m]@start ())", True, id="start"),
        pytest.param("x @ 7", False, id="time"),
        pytest.param("start() + end", False, id="names"),
    ],
)
def test_only_start_and_end_depend_on_the_range(query: str, *, depends: bool) -> None:
    """Their time is one for the whole range, and another for each instant."""
    assert query_tokens.depends_on_range_query_bounds(query) is depends
