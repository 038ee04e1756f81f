"""PS606: a query whose result a recording rule already provides."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import query_tree


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each query that equals the expression of a recording rule."""
    facts = about.prometheus
    if facts is None:
        return
    for each in about.metric_queries:
        recorded = facts.recordings.get(query_tree.normalise_query(each.expr))
        if recorded is not None:
            yield diagnostics.Diagnostic(
                "PS606",
                f"the recording rule `{recorded}` of {facts.name} computes this",
                each.span,
                notes=("reading its result costs one sample for each series",),
                help=f"write `{recorded}`",
                fix=_make_fix(each, recorded),
            )


def _make_fix(each: queries.MetricQuery, recorded: str) -> diagnostics.Fix:
    return diagnostics.Fix((diagnostics.TextEdit(each.span, recorded),), safe=False)


RULE = rule.LintRule("PS606", diagnostics.Severity.INFO, _find_violations)
