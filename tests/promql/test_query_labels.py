"""Labels that series must have to match a selector."""

from __future__ import annotations

import promql_parser
import pytest

from policysched.promql import query_labels


@pytest.mark.parametrize(
    "query, required",
    [
        pytest.param('x{a="b", c=~"d|e"}', [("a", "b"), ("c", None)], id="value-and-pattern"),
        pytest.param('x{a="", b=~".*", c=~"d?"}', [], id="empty-matches"),
        pytest.param('x{a!="b", c!~"d"}', [], id="negated"),
        pytest.param('x{a=~"\\\\pL+"}', [], id="unknown-to-python"),
        pytest.param("x", [], id="no-matchers"),
    ],
)
def test_a_label_is_required_if_series_without_it_do_not_match(
    query: str, required: list[tuple[str, str | None]]
) -> None:
    """A label that a series lacks counts as empty."""
    selector = promql_parser.parse(query)
    assert isinstance(selector, promql_parser.VectorSelector)
    assert list(query_labels.find_required_matchers(selector)) == required
