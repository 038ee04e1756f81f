"""PS406: a counter whose raw value is read."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import query_samples


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for each in about.metric_queries:
        for selector in query_samples.find_raw_selectors(each.expr):
            if (selector.name or "").endswith("_total"):
                yield _make_finding(each, selector)


def _make_finding(
    each: queries.MetricQuery, selector: promql_parser.VectorSelector
) -> diagnostics.Diagnostic:
    """Return the finding for a counter that is read directly."""
    return diagnostics.Diagnostic(
        "PS406",
        f"`{selector.name}` is a counter, but its raw value is read",
        each.locate_query_part(selector),
        notes=("a counter grows until its process restarts; only its rate is meaningful",),
        help=f"write `rate({selector.name}[5m])`",
        fix=_make_fix(each, selector),
    )


def _make_fix(
    each: queries.MetricQuery, selector: promql_parser.VectorSelector
) -> diagnostics.Fix | None:
    """Return the fix that wraps the selector in `rate(…[5m])`, or None if its end is unclear."""
    span = each.locate_query_part(selector)
    start = each.text.span(span.start, span.start)
    end = _find_selector_end(each, span.start)
    if end is None:
        return None
    edits = (
        diagnostics.TextEdit(start, "rate("),
        diagnostics.TextEdit(each.text.span(end, end), "[5m])"),
    )
    return diagnostics.Fix(edits, safe=False)


def _find_selector_end(each: queries.MetricQuery, start: int) -> int | None:
    """Return the end offset of a selector with its matchers; None with `offset` or `@`."""
    spans = [
        each.query.locate_query_range(token.start, token.end, each.text) for token in each.tokens
    ]
    index = next((index for index, span in enumerate(spans) if span.start == start), None)
    if index is None:
        return None
    texts = [token.text for token in each.tokens]
    if texts[index + 1 : index + 2] == ["{"]:
        index = texts.index("}", index)
    is_moved = texts[index + 1 : index + 2] in (["offset"], ["@"])
    return None if is_moved else spans[index].end


RULE = rule.LintRule("PS406", diagnostics.Severity.WARNING, _find_violations)
