"""Sets of functions: every name in them is one of PromQL."""

from __future__ import annotations

import promql_parser
import pytest

from policysched.promql import functions, query_words

NAMES = {
    name
    for key, names in vars(functions).items()
    if key.endswith(("_FUNCTIONS", "_AGGREGATIONS", "_CANDIDATES"))
    for name in names
}


def _is_known(name: str) -> bool:
    """Return whether the parser takes a name with some arguments, or objects to those only."""
    try:
        promql_parser.parse(f"{name}(x)")
    except ValueError as error:
        return "unknown function" not in str(error)
    return True


def test_the_parser_refuses_what_is_no_function() -> None:
    """Otherwise the next test would pass for any name."""
    assert not _is_known("rote")


@pytest.mark.parametrize("name", sorted(NAMES | set(query_words.FUNCTIONS)))
def test_functions_are_known_to_the_parser(name: str) -> None:
    """A misspelt one would never be found in a query."""
    assert _is_known(name)


@pytest.mark.parametrize(
    "operator", sorted(functions.UNIT_KEEPING_OPERATORS), ids=lambda operator: f"<{operator}>"
)
def test_operators_are_written_as_the_parser_writes_them(operator: str) -> None:
    """Rules compare the operator of a tree with these."""
    expr = promql_parser.parse(f"x {operator} y")
    assert isinstance(expr, promql_parser.BinaryExpr)
    assert str(expr.op) == operator


@pytest.mark.parametrize("name", sorted(functions.ELEMENTWISE_FUNCTIONS))
def test_functions_of_each_series_return_a_vector(name: str) -> None:
    """They are given the vector first, and scalars or labels behind it."""
    arguments = {"clamp": "x, 0, 1", "clamp_max": "x, 1", "clamp_min": "x, 0"}
    labels = dict.fromkeys(("sort_by_label", "sort_by_label_desc"), "x, 'a'")
    expr = promql_parser.parse(f"{name}({ {**arguments, **labels}.get(name, 'x') })")
    assert isinstance(expr, promql_parser.Call)
    assert "Vector" in str(expr.func.return_type)
