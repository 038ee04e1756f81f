"""PS405: a rate of a sum."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import functions, query_tree


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each counter function with `sum` or `avg` in its argument."""
    for each in about.metric_queries:
        for part in query_tree.find_calls(each.expr, functions.COUNTER_FUNCTIONS):
            for inner in query_tree.walk_query(part.args[0]):
                if (
                    isinstance(inner, promql_parser.AggregateExpr)
                    and str(inner.op) in functions.ADDING_AGGREGATIONS
                ):
                    yield _make_finding(each, part, inner)
                    break


def _make_finding(
    each: queries.MetricQuery, call: promql_parser.Call, inner: promql_parser.AggregateExpr
) -> diagnostics.Diagnostic:
    """Return the finding for a call on the result of an aggregation."""
    name, adding = call.func.name, inner.op
    return diagnostics.Diagnostic(
        "PS405",
        f"`{name}` of a `{adding}` treats the restart of one counter as a reset of the whole sum",
        each.locate_query_part(call),
        notes=("the reset of a counter is only visible in its own series",),
        help=f"apply {name} first: `{adding} by (…) ({name}(…))`",
    )


RULE = rule.LintRule("PS405", diagnostics.Severity.ERROR, _find_violations)
