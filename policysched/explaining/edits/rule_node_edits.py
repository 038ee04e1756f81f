"""Edits by which a rule about labels, taints and names of nodes lets the pod fit."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

from policysched.compiler import label_numbers
from policysched.compiler.rewrites import tree
from policysched.explaining import edit, rule_trials, trials
from policysched.explaining.edits import node_edits, selector_edits, threshold_edits
from policysched.explaining.facts import pod_requirements
from policysched.explaining.facts import vocabulary as vocabularies
from policysched.lang.checked import checked, checked_expr, checked_selector

_MOST_TURNS = 4

_NodeRule = checked.RejectRule | checked.NodeAffinityRule
_Requirement = checked_selector.Requirement


def find(tried: trials.Trials, rule: _NodeRule, alone: Sequence[str]) -> Iterator[edit.Edit]:
    """Yield corrections of a rule, and labels and taints of the nodes `alone`."""
    words = selector_edits.vocabulary(tried)
    for each in dict.fromkeys(_requirements(rule)):
        for said, corrected in _corrections(tried, rule, each, words):
            nodes = rule_trials.fits_with(tried, rule, _with_requirement(rule, each, corrected))
            if nodes:
                yield said.helping(nodes)
        if isinstance(each, checked_selector.LabelRequirement):
            yield from _other_bound(tried, rule, each, words)
        yield from _other_nodes(tried, alone, each)


def find_label_numbers(
    tried: trials.Trials, rule: checked.RejectRule, alone: Sequence[str]
) -> Iterator[edit.Edit]:
    """Yield values of labels that a condition reads as numbers, and their removal."""
    nodes = list(alone)
    for compare in checked_expr.walk(rule.condition) if nodes else ():
        if not isinstance(compare, checked_expr.Compare):
            continue
        for each in checked_expr.walk(compare):
            if isinstance(each, checked_expr.NodeLabelNumber):
                turns = threshold_edits.turning_values(tried, compare, each, nodes)
                yield from _other_number(tried, nodes, each.key, turns)


def _other_number(
    tried: trials.Trials, nodes: Sequence[str], key: str, turns: Sequence[float]
) -> Iterator[edit.Edit]:
    """Yield the nearest whole number as the value of a label that helps, and no label."""
    present = tried.node(nodes[0]).metadata.labels.get(key, "")
    before = label_numbers.parse_decimal(present) or 0.0
    nearest = sorted(turns, key=lambda turn: abs(turn - before))[:_MOST_TURNS]
    wholes = {n for turn in nearest for n in (math.floor(turn), math.ceil(turn))}
    values = {n + more for n in wholes for more in (-1, 0, 1)}
    for value in sorted(values, key=lambda value: (abs(value - before), value)):
        found = list(node_edits.labelled(tried, nodes, key, str(value)))
        if found:
            yield from found
            break
    yield from node_edits.labelled(tried, nodes, key, None)


def _requirements(rule: _NodeRule) -> Iterator[_Requirement]:
    """Yield the requirements of a rule on nodes."""
    if isinstance(rule, checked.NodeAffinityRule):
        yield from checked_selector.walk_requirements(rule.selector)
        return
    for each in checked_expr.walk(rule.condition):
        if isinstance(each, checked_expr.NodeTest):
            yield from checked_selector.walk_requirements(each.selector)


def _other_nodes(
    tried: trials.Trials, alone: Sequence[str], each: _Requirement
) -> Iterator[edit.Edit]:
    """Yield labels and taints of nodes by which a rule rejects them no more."""
    match each:
        case checked_selector.LabelRequirement(key=key, operator=operator, values=values):
            for value in node_edits.values_to_try(operator, values):
                yield from node_edits.labelled(tried, alone, key, value)
        case checked_selector.TaintRequirement(pattern=pattern):
            yield from node_edits.untainted(tried, alone, pattern.key)
        case _:
            pass


# --- corrections ---------------------------------------------------------------------------------


def _corrections(
    tried: trials.Trials, rule: _NodeRule, each: _Requirement, words: vocabularies.Vocabulary
) -> Iterator[tuple[edit.Edit, _Requirement]]:
    """Yield the requirement with a misspelt word corrected."""
    match each:
        case checked_selector.LabelRequirement(key=key):
            for near in words.keys_like(key):
                said = _did_you_mean(rule, f"label {key}", key, near, "no node has that label")
                yield said, dataclasses.replace(each, key=near)
            yield from _other_values(rule, each, words)
        case checked_selector.FieldRequirement(field="nodeName", values=values):
            known = selector_edits.node_names(tried)
            for value in (value for value in values if value not in known):
                for near in edit.similar(value, known):
                    fact = "no node has that name"
                    said = _did_you_mean(rule, f"nodeName {value}", value, near, fact)
                    yield said, dataclasses.replace(each, values=tuple(sorted({*values, near})))
        case checked_selector.TaintRequirement(pattern=pattern):
            keys = _taint_keys(tried)
            for near in edit.similar(pattern.key, keys) if pattern.key not in keys else ():
                fact = "no node has that taint"
                said = _did_you_mean(rule, f"taint {pattern.key}", pattern.key, near, fact)
                yield (
                    said,
                    dataclasses.replace(each, pattern=dataclasses.replace(pattern, key=near)),
                )
        case _:
            pass


def _other_values(
    rule: _NodeRule, each: checked_selector.LabelRequirement, words: vocabularies.Vocabulary
) -> Iterator[tuple[edit.Edit, _Requirement]]:
    for value in each.values if each.operator == "In" else ():
        for other in words.values_like(each.key, value):
            if words.is_similar(each.key, value, other):
                place = f"label {each.key}={value}"
                said = _did_you_mean(rule, place, value, other, "no node has that value")
                yield said, dataclasses.replace(each, values=tuple(sorted({*each.values, other})))


def _did_you_mean(rule: _NodeRule, place: str, before: str, after: str, fact: str) -> edit.Edit:
    text = f"{place}: did you mean {after}? {fact}"
    return rule_trials.edit_of(rule, "selector", before, after, text, edit.CORRECTS)


def _other_bound(
    tried: trials.Trials,
    rule: _NodeRule,
    each: checked_selector.LabelRequirement,
    words: vocabularies.Vocabulary,
) -> Iterator[edit.Edit]:
    """Yield the nearest number for `Gt` or `Lt` that lets the pod fit."""
    if each.operator not in ("Gt", "Lt"):
        return
    before = each.values[0]
    for bound in selector_edits.bounds_near(each.operator, int(before), words, each.key):
        other = dataclasses.replace(each, values=(str(bound),))
        nodes = rule_trials.fits_with(tried, rule, _with_requirement(rule, each, other))
        if nodes:
            text = f"label {each.key} {each.operator} {before}: compare with {bound}"
            said = (before, str(bound), text, edit.RELAXES_RULE)
            yield rule_trials.edit_of(rule, "threshold", *said).helping(nodes)
            return


def _taint_keys(tried: trials.Trials) -> frozenset[str]:
    nodes = tried.decider.cluster.cache.nodes.nodes
    several = (node.spec.taints for node in nodes if node is not None)
    return frozenset(taint.key for taints in several for taint in taints)


# --- rules with another requirement --------------------------------------------------------------


def _with_requirement(rule: _NodeRule, old: _Requirement, new: _Requirement) -> checked.Rule:
    if isinstance(rule, checked.NodeAffinityRule):
        return dataclasses.replace(
            rule, selector=pod_requirements.with_requirement(rule.selector, old, new)
        )

    def with_selector(each: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
        if not isinstance(each, checked_expr.NodeTest):
            return each
        return dataclasses.replace(
            each, selector=pod_requirements.with_requirement(each.selector, old, new)
        )

    return dataclasses.replace(rule, condition=tree.bottom_up(rule.condition, with_selector))
