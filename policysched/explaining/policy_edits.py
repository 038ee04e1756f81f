"""Edits of policies: a rule left out, a threshold or a maxSkew relaxed, a misspelt label."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from policysched.cluster import columns
from policysched.explaining import (
    amounts_text,
    edit,
    node_edits,
    obstacles,
    pod_requirements,
    rule_values,
    selector_edits,
    spread_edits,
    trials,
)
from policysched.explaining import vocabulary as vocabularies
from policysched.lang import checked, checked_expr, checked_selector
from policysched.plugins import names

_MOST_THRESHOLDS = 4
_MOST_CLOSER = 3


def find(tried: trials.Trials, known: obstacles.Obstacles) -> Iterator[edit.Edit]:
    """Yield the single edits of policies by which the pod fits."""
    program = tried.decider.policy_set.program
    if program is None:
        return
    profile = tried.framework.profile.scheduler_name
    for name in sorted(known.everyone()):
        rule = _rule(program, name, profile)
        if rule is None or not known.may_help(name) or tried.is_over:
            continue
        yield from _relaxed(tried, known, rule)
        nodes = fits_with(tried, rule, None)
        if nodes:
            written = f"{rule.head.name} (line {rule.head.span.line})"
            said = edit.Edit(
                "policy",
                "rule",
                rule.head.name,
                rule.head.text,
                None,
                f"leave out rule {written}",
                edit.DROPS_RULE,
            )
            yield said.helping(nodes)


def fits_with(
    tried: trials.Trials, rule: checked.Rule, other: checked.Rule | None
) -> tuple[str, ...]:
    """Return the nodes on which the pod fits if a rule is another, or is not there."""
    program = tried.decider.policy_set.program
    if program is None or tried.is_over:
        return ()
    framework = tried.with_program(with_rule(program, rule, other))
    return () if framework is None else tried.fits(framework=framework)


def with_rule(
    program: checked.CheckedProgram, rule: checked.Rule, other: checked.Rule | None
) -> checked.CheckedProgram:
    """Return a program in which one rule, wherever it stands, is another, or none."""

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


def _rule(program: checked.CheckedProgram, name: str, profile: str) -> checked.Rule | None:
    """Return a rule in the form that it has in a profile, or in another if it has none there."""
    profiles = sorted(program.profiles, key=lambda each: each.name != profile)
    every = (rule for each in profiles for policy in each.policies for rule in policy.rules)
    return next((rule for rule in every if rule.head.name == name), None)


def _relaxed(
    tried: trials.Trials, known: obstacles.Obstacles, rule: checked.Rule
) -> Iterator[edit.Edit]:
    match rule:
        case checked.RejectRule(until=None):
            yield from _thresholds(tried, known, rule)
            yield from _other_nodes(tried, known, rule)
        case checked.NodeAffinityRule(weight=None):
            yield from _selectors(tried, known, rule)
        case checked.TopologySpreadRule(when_unsatisfiable="DoNotSchedule"):
            yield from _less_even(tried, rule)
            nodes = known.only(rule.head.name)
            yield from node_edits.in_a_domain(tried, nodes, rule.topology_key)
        case checked.PodAffinityRule(weight=None, anti=False):
            nodes = known.only(rule.head.name)
            yield from node_edits.in_a_domain(tried, nodes, rule.topology_key)
        case _:
            pass


def _said(
    rule: checked.Rule, kind: str, before: str, after: str, text: str, effort: int
) -> edit.Edit:
    place = f"rule {rule.head.name} (line {rule.head.span.line})"
    return edit.Edit("policy", kind, rule.head.name, before, after, f"{place}: {text}", effort)


# --- thresholds ----------------------------------------------------------------------------------


def _thresholds(
    tried: trials.Trials, known: obstacles.Obstacles, rule: checked.RejectRule
) -> Iterator[edit.Edit]:
    nodes = known.only(rule.head.name)
    for compare in checked_expr.walk(rule.condition):
        if not isinstance(compare, checked_expr.Compare) or compare.comparator in ("=", "!="):
            continue
        for constant in checked_expr.walk(compare):
            if isinstance(constant, checked_expr.Const):
                yield from _threshold(
                    tried, rule, constant, _deciding_values(tried, compare, constant, nodes)
                )


def _deciding_values(
    tried: trials.Trials,
    compare: checked_expr.Compare,
    constant: checked_expr.Const,
    nodes: list[str],
) -> list[float]:
    """Return the values of a constant at which both sides are equal on nodes, where it is known.

    The sides differ by a linear function of most constants, also of a factor; of others the
    values are guesses, which the engine refuses.
    """

    def difference(value: float) -> columns.FloatArray:
        other = dataclasses.replace(constant, value=value)
        sides = (_replaced(side, constant, other) for side in (compare.left, compare.right))
        left, right = (
            rule_values.evaluate_on_nodes(tried, side, nodes, tried.info.shape) for side in sides
        )
        return left - right

    at_zero = difference(0.0)
    slope = difference(1.0) - at_zero
    with np.errstate(all="ignore"):
        turns = -at_zero / slope
    return [float(value) for value in np.unique(turns[np.isfinite(turns)])]


def _threshold(
    tried: trials.Trials,
    rule: checked.RejectRule,
    constant: checked_expr.Const,
    values: list[float],
) -> Iterator[edit.Edit]:
    """Yield the nearest threshold, in three digits, that lets the pod fit."""

    def fits(value: float) -> tuple[str, ...]:
        return fits_with(tried, rule, _with_constant(rule, constant, value))

    for value in sorted(values, key=lambda v: abs(v - constant.value))[:_MOST_THRESHOLDS]:
        for candidate in _near(value, constant):
            nodes = fits(candidate)
            if not nodes:
                continue
            closest, gained = _closer(constant, candidate, nodes, fits)
            if not tried.is_over:
                yield _threshold_edit(rule, constant, closest).helping(gained)
            return


def _near(value: float, constant: checked_expr.Const) -> list[float]:
    """Return numbers of three digits around a value, the nearest to the constant first."""
    step = amounts_text.step(value, constant.unit)
    below, above = math.floor(value / step), math.ceil(value / step)
    counts = {below - 1, below, above, above + 1}
    found = [float(f"{count * step:.9g}") for count in counts]
    return sorted(found, key=lambda number: abs(number - constant.value))


def _closer(
    constant: checked_expr.Const,
    value: float,
    nodes: tuple[str, ...],
    fits: Callable[[float], tuple[str, ...]],
) -> tuple[float, tuple[str, ...]]:
    """Go step by step towards the threshold as it is, as long as the pod fits."""
    for _ in range(_MOST_CLOSER):
        nearer = one_step_nearer(constant, value)
        found = fits(nearer)
        if not found:
            break
        value, nodes = nearer, found
    return value, nodes


def one_step_nearer(constant: checked_expr.Const, value: float) -> float:
    """Return the number next to a threshold that is nearer to the one that there is."""
    step = amounts_text.step(value, constant.unit)
    return float(f"{value + math.copysign(step, constant.value - value):.9g}")


def _with_constant(
    rule: checked.RejectRule, constant: checked_expr.Const, value: float
) -> checked.RejectRule:
    changed = dataclasses.replace(constant, value=value)
    return dataclasses.replace(rule, condition=_replaced(rule.condition, constant, changed))


def _replaced(
    expr: checked_expr.TypedExpr, old: checked_expr.Const, new: checked_expr.Const
) -> checked_expr.TypedExpr:
    """Return an expression with another constant at the place of `old`."""
    match expr:
        case checked_expr.Const():
            return new if expr == old and expr.span == old.span else expr
        case (
            checked_expr.Compare(left=left, right=right)
            | checked_expr.Arithmetic(left=left, right=right)
        ):
            return dataclasses.replace(
                expr, left=_replaced(left, old, new), right=_replaced(right, old, new)
            )
        case checked_expr.And(operands=operands) | checked_expr.Or(operands=operands):
            several = tuple(_replaced(each, old, new) for each in operands)
            return dataclasses.replace(expr, operands=several)
        case checked_expr.Not(operand=operand):
            return dataclasses.replace(expr, operand=_replaced(operand, old, new))
        case _:
            return expr


def _threshold_edit(rule: checked.Rule, constant: checked_expr.Const, value: float) -> edit.Edit:
    before, after = (amounts_text.canonical(v, constant.unit) for v in (constant.value, value))
    text = f"threshold from {before} to {after}"
    return _said(rule, "threshold", before, after, text, edit.RELAXES_RULE)


# --- selectors and spread ------------------------------------------------------------------------


def _selectors(
    tried: trials.Trials, known: obstacles.Obstacles, rule: checked.NodeAffinityRule
) -> Iterator[edit.Edit]:
    """Yield corrections of misspelt labels, and labels for nodes."""
    words = selector_edits.vocabulary(tried)
    alone = known.of_nodes(rule.head.name, names.NODE_AFFINITY)
    for each in _requirements(rule.selector):
        for said, corrected in _corrections(rule, each, words):
            selector = _with_requirement(rule.selector, each, corrected)
            other = dataclasses.replace(rule, selector=selector)
            nodes = fits_with(tried, rule, other)
            if nodes:
                yield said.helping(nodes)
        value = node_edits.satisfying_value(each.operator, each.values)
        yield from node_edits.labelled(tried, alone, each.key, value)


def _other_nodes(
    tried: trials.Trials, known: obstacles.Obstacles, rule: checked.RejectRule
) -> Iterator[edit.Edit]:
    """Yield labels and taints of nodes by which a rule rejects them no more."""
    alone = known.of_nodes(rule.head.name)
    for each in dict.fromkeys(_node_requirements(rule)):
        match each:
            case checked_selector.LabelRequirement(key=key, operator=operator, values=values):
                asked = node_edits.satisfying_value(operator, values)
                for value in dict.fromkeys((asked, *values[:1], None)):
                    yield from node_edits.labelled(tried, alone, key, value)
            case checked_selector.TaintRequirement(pattern=pattern):
                yield from node_edits.untainted(tried, alone, pattern.key)
            case _:
                pass


def _corrections(
    rule: checked.Rule,
    each: checked_selector.LabelRequirement,
    words: vocabularies.Vocabulary,
) -> Iterator[tuple[edit.Edit, checked_selector.LabelRequirement]]:
    for near in words.keys_like(each.key):
        text = f"label {each.key}: did you mean {near}? no node has that label"
        said = _said(rule, "selector", each.key, near, text, edit.CORRECTS)
        yield said, dataclasses.replace(each, key=near)
    if each.operator != "In":
        return
    for value in each.values:
        for other in words.values_like(each.key, value):
            if words.is_similar(each.key, value, other):
                text = f"label {each.key}={value}: did you mean {other}? no node has that value"
                said = _said(rule, "selector", value, other, text, edit.CORRECTS)
                yield said, dataclasses.replace(each, values=tuple(sorted({*each.values, other})))


def _node_requirements(rule: checked.RejectRule) -> Iterator[checked_selector.Requirement]:
    """Yield the requirements of the tests of nodes in a condition."""
    for each in checked_expr.walk(rule.condition):
        if isinstance(each, checked_expr.NodeTest):
            yield from pod_requirements.leaves(each.selector)


def _requirements(
    selector: checked_selector.Selector,
) -> Iterator[checked_selector.LabelRequirement]:
    for each in pod_requirements.leaves(selector):
        if isinstance(each, checked_selector.LabelRequirement):
            yield each


def _with_requirement(
    selector: checked_selector.Selector,
    old: checked_selector.LabelRequirement,
    new: checked_selector.LabelRequirement,
) -> checked_selector.Selector:
    match selector:
        case checked_selector.LabelRequirement():
            return new if selector == old else selector
        case checked_selector.AllOf(operands=operands) | checked_selector.AnyOf(operands=operands):
            several = tuple(_with_requirement(each, old, new) for each in operands)
            return dataclasses.replace(selector, operands=several)
        case _:
            return selector


def _less_even(tried: trials.Trials, rule: checked.TopologySpreadRule) -> Iterator[edit.Edit]:
    def fits(fields: Mapping[str, object]) -> tuple[str, ...]:
        return fits_with(tried, rule, dataclasses.replace(rule, **fields))  # type: ignore[arg-type]  # fields of the rule by name

    for each in spread_edits.find_relaxations(rule, fits):
        if not tried.is_over:
            text = f"{each.field} from {each.before} to {each.after}"
            said = (each.before, each.after, text, edit.RELAXES_RULE)
            yield _said(rule, "topologySpread", *said).helping(each.nodes)
