"""The expressions and sets of pods in checked rules."""

from __future__ import annotations

from policysched.lang.checked import checked, checked_expr, checked_selector


def list_rule_expressions(rule: checked.Rule) -> tuple[checked_expr.TypedExpr, ...]:
    """Return the conditions of a reject rule or the value of a score; () for other rules."""
    match rule:
        case checked.RejectRule(condition=condition, until=until):
            return (condition,) if until is None else (condition, until)
        case checked.ExpressionScoreRule(value=value):
            return (value,)
        case _:
            return ()


def list_pod_selections(rule: checked.Rule) -> tuple[checked_selector.PodSelection, ...]:
    """Return the sets of placed pods that a rule counts, or to which it restricts preemption."""
    if isinstance(rule, checked.PodAffinityRule | checked.TopologySpreadRule):
        return (rule.pods,)
    if isinstance(rule, checked.PreemptRule):
        return () if rule.victims is None else (rule.victims,)
    return tuple(
        each.pods
        for expr in list_rule_expressions(rule)
        for each in checked_expr.walk_expressions(expr)
        if isinstance(each, checked_expr.PlacedPodCount)
    )
