"""PS603: a range that contains fewer than two scrapes."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.lint.rule_support import series_selector_facts
from policysched.promql import functions, query_tree

_FEWEST = 2.0


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each range that contains fewer than two scrapes."""
    for each, call, seconds, interval in iterate_rate_ranges(about):
        if seconds < _FEWEST * interval:
            yield make_short_range_diagnostic(
                "PS603",
                each,
                call,
                f"`{call.func.name}` needs two samples, but {seconds:g} s contain fewer than two "
                f"scrapes (one every {interval:g} s)",
                4 * interval,
            )


def iterate_rate_ranges(
    about: rule_input.LintInput,
) -> Iterator[tuple[queries.MetricQuery, promql_parser.Call, float, float]]:
    """Yield the calls that need two samples, with their range and scrape interval in seconds."""
    facts = about.prometheus
    if facts is None:
        return
    for each, selector, known in series_selector_facts.list_series_selector_facts(about):
        intervals = [facts.scrape_seconds[job] for job in known.jobs if job in facts.scrape_seconds]
        call = _find_range_call(each, selector)
        if call is not None and intervals:
            # The range is common to all jobs of the selector, so the slowest job decides.
            seconds = call.args[0].range.total_seconds()
            yield each, call, seconds, max(intervals)


def _find_range_call(
    each: queries.MetricQuery, selector: promql_parser.VectorSelector
) -> promql_parser.Call | None:
    """Return the call on the range of a selector, if this call needs two samples."""
    for part in query_tree.find_calls(each.expr, functions.TWO_SAMPLE_FUNCTIONS):
        matrix = part.args[0]
        if isinstance(matrix, promql_parser.MatrixSelector) and _is_selector_of_matrix(
            matrix, selector
        ):
            return part
    return None


def _is_selector_of_matrix(
    matrix: promql_parser.MatrixSelector, selector: promql_parser.VectorSelector
) -> bool:
    return str(matrix.vector_selector.prettify()) == str(selector.prettify())


def make_short_range_diagnostic(
    code: str,
    each: queries.MetricQuery,
    call: promql_parser.Call,
    message: str,
    wanted_seconds: float,
) -> diagnostics.Diagnostic:
    """Return the finding for a range that is too short, with a fix that lengthens it."""
    length = f"{round(wanted_seconds)}s"
    return diagnostics.Diagnostic(
        code,
        message,
        each.locate_query_part(call),
        notes=("with fewer samples, the function returns no value, and the node has none",),
        help=f"write `[{length}]`, or longer",
        fix=_make_fix(each, call, length),
    )


def _make_fix(
    each: queries.MetricQuery, call: promql_parser.Call, length: str
) -> diagnostics.Fix | None:
    """Return the fix that replaces the range with `length`, or None if a param sets it."""
    start = each.locate_query_part(call).start
    spans = [
        each.query.locate_query_range(token.start, token.end, each.text) for token in each.tokens
    ]
    for token, span, following in zip(each.tokens, spans, spans[1:], strict=False):
        if token.text == "[" and span.start > start:
            written = each.text.slice(following)
            if written.startswith("$"):
                return None  # the length is a param, which other queries can share
            return diagnostics.Fix((diagnostics.TextEdit(following, length),), safe=False)
    return None


RULE = rule.LintRule("PS603", diagnostics.Severity.ERROR, _find_violations)
