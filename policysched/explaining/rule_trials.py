"""Makes decisions for the pod with one rule of a policy replaced or removed."""

from __future__ import annotations

import dataclasses

from policysched.explaining import suggested_edit, trials
from policysched.lang.checked import checked


def find_feasible_nodes_with_rule(
    tried: trials.PodTrials, rule: checked.Rule, other: checked.Rule | None
) -> tuple[str, ...]:
    """Return the nodes on which the pod fits if `other` replaces a rule; None removes the rule."""
    program = tried.decider.policy_set.program
    if program is None or tried.is_limit_reached:
        return ()
    framework = tried.compile_framework(replace_rule(program, rule, other))
    return () if framework is None else tried.find_feasible_nodes(framework=framework)


def replace_rule(
    program: checked.CheckedProgram, rule: checked.Rule, other: checked.Rule | None
) -> checked.CheckedProgram:
    """Return the program with `other` in place of every occurrence of a rule; None removes it."""

    def policy(each: checked.CheckedPolicy) -> checked.CheckedPolicy:
        rules = (other if known == rule else known for known in each.rules)
        return dataclasses.replace(each, rules=tuple(each for each in rules if each is not None))

    profiles = tuple(
        dataclasses.replace(each, policies=tuple(map(policy, each.policies)))
        for each in program.profiles
    )
    return dataclasses.replace(
        program, policies=tuple(map(policy, program.policies)), profiles=profiles
    )


def make_rule_edit(
    rule: checked.Rule, kind: str, before: str, after: str, text: str, effort: int
) -> suggested_edit.SuggestedEdit:
    """Return the edit to a rule; its text starts with the name and line of the rule."""
    name, place = rule.head.name, rule.head.span
    written = f"rule {name} (line {place.line}): {text}"
    return suggested_edit.SuggestedEdit(
        "policy", kind, name, before, after, written, effort, place=place
    )
