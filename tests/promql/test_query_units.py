"""Percent in queries, by factors and names."""

from __future__ import annotations

import promql_parser
import pytest

from policysched.promql import query_units


@pytest.mark.parametrize(
    "query, is_percent",
    [
        pytest.param("100 * x", True, id="factor"),
        pytest.param("100 - x * 100", True, id="rest"),
        pytest.param("100 * (1 - rate(x[5m]))", True, id="in-brackets"),
        pytest.param("x_percent", True, id="name"),
        pytest.param("avg_over_time(x_pct[5m])", True, id="name-in-a-range"),
        pytest.param("max by (node) (x_percentage)", True, id="aggregation"),
        pytest.param("clamp_max(100 * x, 100)", True, id="argument"),
        pytest.param("x_percent / 100", False, id="divided"),
        pytest.param("100 * x / (100 * y)", False, id="quotient"),
        pytest.param("count by (node) (x_percent)", False, id="counted"),
        pytest.param("1000 * x", False, id="another-factor"),
        pytest.param("x_percent_total", False, id="elsewhere-in-the-name"),
        pytest.param("100", False, id="number"),
    ],
)
def test_percent_are_known_by_factors_and_names(query: str, *, is_percent: bool) -> None:
    """What is divided by 100 again is a share."""
    assert query_units.is_in_percent(promql_parser.parse(query)) is is_percent
