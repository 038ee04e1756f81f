"""Collects the requirements that rules place on the pod.

Sources are `pod(…)` conditions, `for pods where …` scopes and the pods that a rule repels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from policysched.explaining import trials
from policysched.explaining.facts import rejections
from policysched.lang.checked import checked, checked_expr, checked_selector, rule_parts


def find_requirements_by_rule(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> dict[str, tuple[checked_selector.Requirement, ...]]:
    """Return the requirements on the pod, keyed by rejecting rule; rules without any are absent.

    From the scope of a policy, only requirements on numbers are included, because its labels
    identify the pods.
    """
    program = tried.decider.policy_set.program
    if program is None:
        return {}
    whom = known.list_rejecting_plugins()
    policies = [policy for each in program.profiles for policy in each.policies]
    found: dict[str, dict[checked_selector.Requirement, None]] = {}
    for policy in policies:
        for rule in policy.rules:
            if rule.head.name in whom:
                scopes = (policy.scope.where, *_collect_disable_selectors(policies, rule))
                numbers = (
                    leaf
                    for scope in scopes
                    for leaf in checked_selector.walk_requirements(scope)
                    if isinstance(leaf, checked_selector.NumberRequirement)
                )
                several = (
                    leaf
                    for each in _collect_rule_pod_selectors(policy, rule)
                    for leaf in checked_selector.walk_requirements(each)
                )
                found.setdefault(rule.head.name, {}).update(dict.fromkeys((*numbers, *several)))
    return {name: tuple(several) for name, several in found.items() if several}


def replace_selector_requirement(
    selector: checked_selector.Selector,
    old: checked_selector.Requirement,
    new: checked_selector.Requirement,
) -> checked_selector.Selector:
    """Return the selector with `new` in place of the requirement `old`."""
    match selector:
        case (
            checked_selector.SelectorConjunction(operands=operands)
            | checked_selector.SelectorDisjunction(operands=operands)
        ):
            several = tuple(replace_selector_requirement(each, old, new) for each in operands)
            return dataclasses.replace(selector, operands=several)
        case checked_selector.SelectorNegation(operand=operand):
            return dataclasses.replace(
                selector, operand=replace_selector_requirement(operand, old, new)
            )
        case _:
            return new if selector == old else selector


def _collect_rule_pod_selectors(
    policy: checked.CheckedPolicy, rule: checked.Rule
) -> Iterator[checked_selector.Selector]:
    """Yield the pod selectors of a rule."""
    if isinstance(rule, checked.PodAffinityRule) and rule.anti:
        # Placed pods repel the pods that the rule selects.
        yield policy.scope.where if rule.pods.selector is None else rule.pods.selector
    for expr in rule_parts.list_rule_expressions(rule):
        for each in checked_expr.walk_expressions(expr):
            if isinstance(each, checked_expr.PodMatch):
                yield each.selector


def _collect_disable_selectors(
    policies: list[checked.CheckedPolicy], rule: checked.Rule
) -> Iterator[checked_selector.Selector]:
    """Yield the scopes of the policies that disable a rule."""
    for policy in policies:
        if any(each.rule == rule.head.statement_name for each in policy.disables):
            yield policy.scope.where
