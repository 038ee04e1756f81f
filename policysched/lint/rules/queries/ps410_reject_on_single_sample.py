"""PS410: a hard limit on a single sample."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked, checked_expr
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.promql import query_samples


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each metric without a window that a `reject` without `until` reads."""
    sampled = {
        each.metric.key: each.metric
        for each in about.metric_queries
        if each.metric.window is None and not query_samples.reads_time_range(each.expr)
    }
    for policy in about.program.policies:
        for each in policy.rules:
            if not isinstance(each, checked.RejectRule) or each.until is not None:
                continue
            for part in checked_expr.walk_expressions(each.condition):
                match part:
                    case checked_expr.MetricRef(metric=key, window=None) if key in sampled:
                        yield _make_finding(about, part, sampled[key], each.condition)
                    case _:
                        pass


def _make_finding(
    about: rule_input.LintInput,
    part: checked_expr.MetricRef,
    metric: checked.CheckedMetric,
    condition: checked_expr.TypedExpr,
) -> diagnostics.Diagnostic:
    """Return the finding for a metric in the condition of a `reject`."""
    return diagnostics.Diagnostic(
        "PS410",
        f"a single sample of `{metric.name}` decides whether a node is rejected",
        part.span,
        notes=("a momentary peak rejects the node until the next sample",),
        help="use a window, as in `over 5m avg`, or release the node later with `until …`",
        fix=_make_fix(about, condition),
    )


def _make_fix(
    about: rule_input.LintInput, condition: checked_expr.TypedExpr
) -> diagnostics.Fix | None:
    """Return the fix that adds `over 5m avg` after the condition; None before a closing bracket."""
    text, end = about.texts[condition.span.file], condition.span.end
    if text.text[end:].lstrip().startswith(")"):
        return None
    edit = diagnostics.TextEdit(text.span(end, end), " over 5m avg")
    return diagnostics.Fix((edit,), safe=False)


RULE = rule.LintRule("PS410", diagnostics.Severity.WARNING, _find_violations)
