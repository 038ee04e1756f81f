from __future__ import annotations

import pathlib

import promql_parser
import pytest
from hypothesis import given

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.promql import freshness, query_text
from tests.promapi import promql_world as world

POLICIES = pathlib.Path(__file__).resolve().parents[2] / "policies"


@pytest.mark.parametrize(
    "query, problem",
    [
        pytest.param("rate(x[5m]", "it cannot be parsed", id="no-promql"),
        pytest.param("rate(x[5m] smoothed)", "it cannot be parsed", id="newer-syntax"),
        pytest.param("1 + 1", "it has a scalar as its result", id="scalar"),
        pytest.param("7", "it has a NumberLiteral as its result", id="number"),
        pytest.param("'x'", "it has a StringLiteral as its result", id="string"),
        pytest.param("time()", "it has the scalar `time` as its result", id="time"),
        pytest.param("x[5m]", "it has a MatrixSelector as its result", id="matrix"),
        pytest.param("x[5m:1m]", "it has a SubqueryExpr as its result", id="subquery"),
        pytest.param("count_values('v', x)", "it has `count_values`", id="count-values"),
        pytest.param("info(x)", "it has the function `info`", id="info"),
        pytest.param("x + fill(0) y", "it has `fill`", id="fill"),
        pytest.param("sum(x{a='b' or c='d'})", "it has `or` between matchers", id="or-matchers"),
        pytest.param(
            "label_replace(x, 'n', '$1', '__name__', '(.*)')",
            "it has the name of a series as a label",
            id="name-as-label",
        ),
        pytest.param(" + ".join(["rate(x[5m])"] * 200), "it has too many parts", id="long"),
        pytest.param(
            "max_over_time(" * 60 + "x" + "[5m:1m])" * 60, "it has too many parts", id="nested"
        ),
    ],
)
def test_what_cannot_be_extended_is_asked_as_it_is(query: str, problem: str) -> None:
    """The reason is one that a log can tell."""
    asked = freshness.add_freshness(query, "instance", 60)
    assert (asked.promql, asked.has_freshness) == (query, False)
    assert asked.problem.startswith(problem)


@pytest.mark.parametrize("path", sorted(POLICIES.glob("*.policy")), ids=lambda path: path.name)
def test_metrics_of_shipped_policies_have_times(path: pathlib.Path) -> None:
    """None of their queries is of a kind that cannot be extended."""
    result = checker.check([source.SourceText(path.name, path.read_text("utf-8"))])
    assert result.program is not None
    for metric in result.program.metrics:
        asked = freshness.add_freshness(metric.promql, metric.label, metric.max_age_seconds)
        assert asked.problem == ""


@pytest.mark.parametrize(
    "query, expected",
    [
        pytest.param("x", "x{}", id="selector"),
        pytest.param('{"a.b", c="d"}', '{__name__="a.b",c="d"}', id="name-beyond-ascii"),
        pytest.param('x{a="\\"\\\\\\n"}', 'x{a="\\"\\\\\\n"}', id="escapes"),
        pytest.param("x[5m:]", "(x{})[300000ms:]", id="subquery-without-step"),
        pytest.param("x offset -5m @ 7.5", "x{} @ 7.500 offset -300000ms", id="modifiers"),
        pytest.param("-x ^ 2", "(-(x{} ^ 2.0))", id="precedence"),
        pytest.param("a - b - c", "((a{} - b{}) - c{})", id="associativity"),
        pytest.param("Inf + -Inf + NaN + x", "(((Inf + (-Inf)) + NaN) + x{})", id="numbers"),
        pytest.param("sum(x) by (a, b)", "sum by (a, b) (x{})", id="grouping-after"),
        pytest.param(
            "a == bool on (x) group_right (y) b",
            "(a{} == bool on (x) group_right (y) b{})",
            id="matching",
        ),
        pytest.param("quantile without () (.5, x)", "quantile without () (0.5, x{})", id="param"),
    ],
)
def test_trees_are_written_out(query: str, expected: str) -> None:
    """In the one way that needs no rules of precedence."""
    assert query_text.render_query(promql_parser.parse(query)) == expected


@given(query=world.queries)
def test_what_is_written_means_the_same(query: world.Query) -> None:
    """It parses to what is written the same way."""
    once = query_text.render_query(promql_parser.parse(query.text))
    assert query_text.render_query(promql_parser.parse(once)) == once


@given(query=world.queries)
def test_the_size_grows_no_faster_than_the_square(query: world.Query) -> None:
    """Servers refuse queries beyond some size."""
    asked = freshness.add_freshness(query.text, "instance", 60)
    assert asked.has_freshness
    operands = 1 + query.text.count("instance") + query.text.count("(")
    assert len(asked.promql) < 400 * operands**2
