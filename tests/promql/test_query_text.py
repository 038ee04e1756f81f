"""Selectors for names of series that come from other systems."""

from __future__ import annotations

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.promql import query_text


@pytest.mark.parametrize(
    "name, expected",
    [
        pytest.param("node_load", "node_load", id="plain"),
        pytest.param("node-load", '{__name__="node-load"}', id="dash"),
        pytest.param("node:load", '{__name__="node:load"}', id="colon"),
        pytest.param("5m", '{__name__="5m"}', id="digit"),
        pytest.param('a"b\\c`d', '{__name__="a_b_c_d"}', id="unsafe"),
    ],
)
def test_names_become_selectors(name: str, expected: str) -> None:
    """Plain names stay readable."""
    assert query_text.render_name_as_selector(name) == expected


@given(name=st.text('ab5:-"\\\\`{} =', min_size=1))
def test_no_name_can_leave_its_selector(name: str) -> None:
    """It is one selector, whatever the name has in it."""
    text = query_text.render_name_as_selector(name)
    assert "`" not in text
    assert isinstance(promql_parser.parse(text), promql_parser.VectorSelector)
