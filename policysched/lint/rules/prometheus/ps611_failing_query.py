"""PS611: a query that the server answers with an error."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each query with a problem instead of an answer."""
    facts = about.prometheus
    if facts is None:
        return
    for each in about.metric_queries:
        answer = facts.queries.get(each.query.text)
        if answer is not None and answer.problem:
            yield diagnostics.Diagnostic(
                "PS611",
                f"{facts.name} does not answer the query of `{each.metric.name}`: {answer.problem}",
                each.span,
                notes=("without an answer, no node has a value",),
                help="try the query in the web interface of the server",
            )


RULE = rule.LintRule("PS611", diagnostics.Severity.ERROR, _find_violations)
