"""PS411: a range that is shorter than the refresh interval of the metric."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import functions, query_samples, query_tree


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each call whose range is shorter than the metric's `refresh`."""
    for each in about.metric_queries:
        for part in query_tree.walk_query(each.expr):
            if (
                not isinstance(part, promql_parser.Call)
                or part.func.name in functions.LAST_SAMPLE_FUNCTIONS
            ):
                continue
            for arg in part.args:
                seconds = query_samples.get_range_seconds(arg)
                if seconds is not None and seconds < each.metric.refresh_seconds:
                    yield _make_finding(each, part, seconds)


def _make_finding(
    each: queries.MetricQuery, call: promql_parser.Call, seconds: float
) -> diagnostics.Diagnostic:
    """Return the finding for a range of `seconds`."""
    unseen = 1 - seconds / each.metric.refresh_seconds
    return diagnostics.Diagnostic(
        "PS411",
        f"`{call.func.name}` reads only {seconds:g} s, but the query runs every "
        f"{each.metric.refresh_seconds:g} s",
        each.locate_query_part(call),
        notes=(f"changes in the other {unseen:.0%} of the time are missed",),
        help="make the range at least as long as `refresh`, or shorten `refresh`",
    )


RULE = rule.LintRule("PS411", diagnostics.Severity.WARNING, _find_violations)
