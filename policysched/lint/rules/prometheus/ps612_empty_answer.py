"""PS612: a query with an empty answer although its series exist."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.promql import query_samples


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each empty answer that missing series do not explain."""
    facts = about.prometheus
    if facts is None:
        return
    for each in about.metric_queries:
        answer = facts.queries.get(each.query.text)
        known = facts.selectors.get(each.query.text, ())
        is_empty = answer is not None and not answer.problem and not answer.series
        if (
            is_empty
            and known
            and all(found.is_there for found in known)
            and not query_samples.may_result_be_empty(each.expr)
        ):
            yield diagnostics.Diagnostic(
                "PS612",
                f"the query of `{each.metric.name}` has no result, although all its series exist",
                each.span,
                notes=(
                    (
                        "an operation matches series with equal labels, but no two of these "
                        "series have equal labels"
                    ),
                ),
                help=(
                    f"name the labels to match: `on ({each.metric.label})`, or lengthen the ranges"
                ),
            )


RULE = rule.LintRule("PS612", diagnostics.Severity.WARNING, _find_violations)
