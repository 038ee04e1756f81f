"""PS311: a part of a condition that the other parts imply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policysched.lang import source
from policysched.lang.checked import checked_expr, rule_parts
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.rule_support import operand_removal
from policysched.lint.sets import rule_conditions, selector_sets

_LEAVES = (checked_expr.Compare, checked_expr.NodeMatch, checked_expr.PodMatch)


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    metrics = {metric.key: metric for metric in about.program.metrics}
    for policy in about.program.policies:
        for each in policy.rules:
            for expr in rule_parts.list_rule_expressions(each):
                for part in checked_expr.walk_expressions(expr):
                    if isinstance(part, checked_expr.And | checked_expr.Or):
                        yield from _diagnose_redundant_operands(about, part, metrics)


def _diagnose_redundant_operands(
    about: rule_input.LintInput,
    part: checked_expr.And | checked_expr.Or,
    metrics: rule_conditions.Metrics,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each operand that the remaining operands make redundant."""
    if len(part.operands) > selector_sets.MAX_OPERANDS:
        return
    if any(
        rule_conditions.evaluate_for_all_values(each, metrics) is not None
        for each in (part, *part.operands)
    ):
        return  # PS302 and PS310 report this
    is_all = isinstance(part, checked_expr.And)
    left = list(part.operands)
    for index in reversed(range(len(part.operands))):
        operand = part.operands[index]
        others = [*left[:index], *left[index + 1 :]]
        if others and _is_implied_by_others(operand, others, metrics, is_all=is_all):
            del left[index]
            yield _make_finding(about, operand, is_all=is_all)


def _is_implied_by_others(
    operand: checked_expr.TypedExpr,
    others: Sequence[checked_expr.TypedExpr],
    metrics: rule_conditions.Metrics,
    *,
    is_all: bool,
) -> bool:
    """Return whether the other operands make the operand redundant.

    This requires that the other operands read all metrics that the operand reads.
    """
    read = {key for other in others for key in checked_expr.list_read_metrics(other)}
    # If a metric that only this operand reads is missing, the operand changes the result of the
    # condition.
    if not set(checked_expr.list_read_metrics(operand)) <= read:
        return False
    if is_all:
        return rule_conditions.is_implied_by_conditions(others, operand, metrics)
    return rule_conditions.is_implied_by_conditions([operand], _make_disjunction(others), metrics)


def _make_disjunction(operands: Sequence[checked_expr.TypedExpr]) -> checked_expr.TypedExpr:
    if len(operands) == 1:
        return operands[0]
    return checked_expr.Or(tuple(operands), operands[0].span)


def _make_finding(
    about: rule_input.LintInput, operand: checked_expr.TypedExpr, *, is_all: bool
) -> diagnostics.Diagnostic:
    """Return the finding for a redundant operand, with a fix if possible."""
    text = about.texts[operand.span.file]
    why = (
        "the other conditions imply it"
        if is_all
        else "the alternatives are always true if it is true"
    )
    return diagnostics.Diagnostic(
        "PS311",
        f"`{' '.join(text.slice(operand.span).split())}` has no effect: {why}",
        operand.span,
        help="remove it",
        fix=_make_fix(text, operand),
    )


def _make_fix(text: source.SourceText, operand: checked_expr.TypedExpr) -> diagnostics.Fix | None:
    """Return the fix that removes a comparison and the `and` or `or` next to it."""
    if not isinstance(operand, _LEAVES):
        return None
    return operand_removal.make_removal_fix(text, operand.span, operand_removal.AND_OR)


RULE = rule.LintRule("PS311", diagnostics.Severity.WARNING, _find_violations)
