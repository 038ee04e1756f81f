"""PS204: a rule that a stricter one makes useless: whatever it rejects is rejected anyway."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang import checked, checked_expr, diagnostics
from policysched.lint import rule, scopes, selector_sets, subject


def _check(about: subject.Subject) -> Iterator[diagnostics.Diagnostic]:
    for profile in about.program.profiles:
        enforced = [policy for policy in profile.policies if policy.mode == "enforce"]
        covering = scopes.Covering(enforced)
        shadowed: set[str] = set()
        for policy in enforced:
            others = [each for other in covering.of(policy) for each in other.rules]
            for weak in policy.rules:
                strict = _stricter(weak, others, shadowed)
                if strict is not None:
                    shadowed.add(weak.head.name)
                    yield _finding(weak.head, strict.head)


def _stricter(
    weak: checked.Rule, others: list[checked.Rule], shadowed: set[str]
) -> checked.Rule | None:
    """Return a rule that rejects all that `weak` rejects; of two equal ones one stays."""
    if _is_required(weak):
        is_stricter = _is_stricter_affinity
    elif _is_plain_reject(weak):
        is_stricter = _is_stricter_reject
    else:
        return None
    for strict in others:
        is_other = strict.head.name != weak.head.name and strict.head.name not in shadowed
        if is_other and strict.head.active == weak.head.active and is_stricter(strict, weak):
            return strict
    return None


def _finding(weak: checked.RuleHead, strict: checked.RuleHead) -> diagnostics.Diagnostic:
    return diagnostics.Diagnostic(
        "PS204",
        f"this rule never rejects a node that `{strict.name}` does not reject as well",
        weak.span,
        secondary=(diagnostics.Label(strict.span, "stricter, for the same pods"),),
        help="leave it out, or disable the stricter one where this one is meant to act",
    )


# ---------------------------------------------------------------------------- node affinity


def _is_required(each: checked.Rule) -> bool:
    return isinstance(each, checked.NodeAffinityRule) and each.weight is None


def _is_stricter_affinity(strict: checked.Rule, weak: checked.Rule) -> bool:
    if not isinstance(strict, checked.NodeAffinityRule) or strict.weight is not None:
        return False
    if not isinstance(weak, checked.NodeAffinityRule):
        return False
    if selector_sets.never_match(strict.selector):
        return False  # PS201 tells that
    return selector_sets.implies(strict.selector, weak.selector)


# ---------------------------------------------------------------------------- reject


def _is_plain_reject(each: checked.Rule) -> bool:
    return isinstance(each, checked.RejectRule) and each.until is None


def _is_stricter_reject(strict: checked.Rule, weak: checked.Rule) -> bool:
    if not isinstance(strict, checked.RejectRule) or not isinstance(weak, checked.RejectRule):
        return False
    if strict.until is not None:
        return False
    if weak.on_missing == "reject" and strict.on_missing != "reject":
        return False
    return _condition_implies(weak.condition, strict.condition)


def _condition_implies(one: checked_expr.TypedExpr, other: checked_expr.TypedExpr) -> bool:
    """Return whether `other` is surely true, or as missing, wherever `one` is."""
    if one == other:
        return True
    match one, other:
        case (
            checked_expr.Compare(left=left, right=checked_expr.Const(value=first)),
            checked_expr.Compare(left=same, right=checked_expr.Const(value=second)),
        ) if left == same:
            return _bound_implies(one.comparator, first, other.comparator, second)
        case checked_expr.And(operands=operands), _:
            return any(
                _condition_implies(operand, other) and not _reads_metrics(other)
                for operand in operands
            )
        case _, checked_expr.Or(operands=operands):
            return not _reads_metrics(one) and any(
                _condition_implies(one, operand) for operand in operands
            )
        case _:
            return False


def _reads_metrics(expr: checked_expr.TypedExpr) -> bool:
    return bool(checked_expr.metrics_of(expr))


def _bound_implies(one: str, first: float, other: str, second: float) -> bool:
    if one in {">", ">="} and other in {">", ">="}:
        return first > second or (first == second and (one == ">" or other == ">="))
    if one in {"<", "<="} and other in {"<", "<="}:
        return first < second or (first == second and (one == "<" or other == "<="))
    return False


RULE = rule.Rule("PS204", diagnostics.Severity.WARNING, _check)
