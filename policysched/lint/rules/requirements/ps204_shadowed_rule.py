"""PS204: a rule that is useless because a stricter rule rejects the same nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from policysched.lang.checked import checked, checked_expr, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import enforced_policy_rules
from policysched.lint.sets import pod_selections, selector_sets

_MAX_PAIRS = 4_096
"""The maximum number of comparisons for each policy; generated policies could take minutes."""


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    shadowed: dict[int, set[str]] = {id(known): set() for known in about.enforced_rules}
    yield from enforced_policy_rules.intersect_profile_findings(
        about.enforced_rules,
        lambda known, policy: _find_shadowed_rules(known, policy, shadowed[id(known)]),
    )


def _find_shadowed_rules(
    known: enforced_policy_rules.EnforcedPolicyRules,
    policy: checked.CheckedPolicy,
    shadowed: set[str],
) -> Iterator[diagnostics.Diagnostic]:
    """Yield the findings about the rules of a policy, and add these rules to `shadowed`."""
    others = [each for _, each in known.find_covering_rules(policy)]
    for is_meant, is_stricter in _KINDS:
        own = [each for each in policy.rules if is_meant(each)]
        able = [each for each in others if is_meant(each)]
        if len(own) * len(able) > _MAX_PAIRS:
            continue
        for weak in own:
            strict = next(
                (
                    each
                    for each in able
                    if each.head.name != weak.head.name
                    and each.head.name not in shadowed
                    and each.head.active in (None, weak.head.active)
                    and is_stricter(each, weak)
                ),
                None,
            )
            if strict is not None:
                shadowed.add(weak.head.name)  # one of two equal rules must remain
                is_filter = not isinstance(weak, checked.PreemptRule | checked.ProtectRule)
                yield _make_finding(weak.head, strict.head, is_filter=is_filter)


def _make_finding(
    weak: checked.RuleHead, strict: checked.RuleHead, *, is_filter: bool
) -> diagnostics.Diagnostic:
    does = "rejects only nodes" if is_filter else "keeps only pods from preemption"
    also = "rejects" if is_filter else "keeps"
    return diagnostics.Diagnostic(
        "PS204",
        f"this rule {does} that `{strict.name}` also {also}",
        weak.span,
        secondary=(diagnostics.SpanLabel(strict.span, "stricter, for the same pods"),),
        help="remove this rule, or disable the stricter rule for the pods to which this rule "
        "should apply",
    )


# ---------------------------------------------------------------------------- node affinity


def _is_required(each: checked.Rule) -> bool:
    return isinstance(each, checked.NodeAffinityRule) and each.weight is None


def _is_stricter_affinity(strict: checked.Rule, weak: checked.Rule) -> bool:
    if not isinstance(strict, checked.NodeAffinityRule) or strict.weight is not None:
        return False
    if not isinstance(weak, checked.NodeAffinityRule):
        return False
    if selector_sets.can_never_match_together(strict.selector):
        return False  # PS201 reports this
    return selector_sets.does_selector_imply(strict.selector, weak.selector)


# ---------------------------------------------------------------------------- reject


def _is_plain_reject(each: checked.Rule) -> bool:
    return isinstance(each, checked.RejectRule) and each.until is None


def _is_stricter_reject(strict: checked.Rule, weak: checked.Rule) -> bool:
    if not isinstance(strict, checked.RejectRule) or not isinstance(weak, checked.RejectRule):
        return False
    if strict.until is not None or (
        weak.head.forbids_preemption and not strict.head.forbids_preemption
    ):
        return False
    if weak.on_missing == "reject" and strict.on_missing != "reject":
        return False
    return _condition_implies(weak.condition, strict.condition)


def _condition_implies(one: checked_expr.TypedExpr, other: checked_expr.TypedExpr) -> bool:
    """Return whether `other` is certainly true whenever `one` is true.

    If the value of `one` is missing, that of `other` is missing or true.
    """
    if one == other:
        return True
    match one, other:
        case (
            checked_expr.Compare(left=left, right=checked_expr.Const(value=first)),
            checked_expr.Compare(left=same, right=checked_expr.Const(value=second)),
        ) if left == same:
            return _bound_implies(one.comparator, first, other.comparator, second)
        case (
            checked_expr.Not(operand=checked_expr.NodeMatch(selector=narrow)),
            checked_expr.Not(operand=checked_expr.NodeMatch(selector=wide)),
        ):
            return selector_sets.does_selector_imply(wide, narrow)
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
    return bool(checked_expr.list_read_metrics(expr))


def _bound_implies(one: str, first: float, other: str, second: float) -> bool:
    if one in {">", ">="} and other in {">", ">="}:
        return first > second or (first == second and (one == ">" or other == ">="))
    if one in {"<", "<="} and other in {"<", "<="}:
        return first < second or (first == second and (one == "<" or other == "<="))
    return False


def _is_required_or_reject(each: checked.Rule) -> bool:
    return _is_required(each) or _is_plain_reject(each)


def _is_affinity_stricter_than_reject(strict: checked.Rule, weak: checked.Rule) -> bool:
    """Return whether a required affinity rejects all nodes that a `reject` rejects.

    If data is missing, the `reject` must pass.
    """
    if not isinstance(strict, checked.NodeAffinityRule) or not isinstance(weak, checked.RejectRule):
        return False
    if weak.on_missing == "reject" or (
        weak.head.forbids_preemption and not strict.head.forbids_preemption
    ):
        return False
    if selector_sets.can_never_match_together(strict.selector):
        return False  # PS201 reports this
    matches = checked_expr.NodeMatch(strict.selector, strict.head.span)
    return _condition_implies(weak.condition, checked_expr.Not(matches, strict.head.span))


# ---------------------------------------------------------------------------- preemption


def _is_preempt(each: checked.Rule) -> bool:
    return isinstance(each, checked.PreemptRule)


def _is_stricter_preempt(strict: checked.Rule, weak: checked.Rule) -> bool:
    if not isinstance(strict, checked.PreemptRule) or not isinstance(weak, checked.PreemptRule):
        return False
    if strict.victims is None:
        return True
    if weak.victims is None or not (strict.victims.kind == weak.victims.kind == "where"):
        return False
    if strict.on_missing == "allow" and strict.victims.compared != weak.victims.compared:
        return False  # a pod without the value is restricted by the weak rule alone
    every_pod = checked_selector.EVERY_POD
    return pod_selections.is_selection_within(strict.victims, every_pod, weak.victims, every_pod)


def _is_protect(each: checked.Rule) -> bool:
    return isinstance(each, checked.ProtectRule)


def _is_same_protection(strict: checked.Rule, weak: checked.Rule) -> bool:
    return isinstance(strict, checked.ProtectRule) and isinstance(weak, checked.ProtectRule)


_KINDS: Sequence[
    tuple[Callable[[checked.Rule], bool], Callable[[checked.Rule, checked.Rule], bool]]
] = (
    (_is_required, _is_stricter_affinity),
    (_is_plain_reject, _is_stricter_reject),
    (_is_required_or_reject, _is_affinity_stricter_than_reject),
    (_is_preempt, _is_stricter_preempt),
    (_is_protect, _is_same_protection),
)
"""The kinds of rules that are compared with each other, each with its comparison."""

RULE = rule.LintRule("PS204", diagnostics.Severity.WARNING, _find_violations)
