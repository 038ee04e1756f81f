"""Finds edits for rules that reject nodes by their labels, taints or names."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence

from policysched.compiler.nodes import label_numbers
from policysched.compiler.pods import pod_values
from policysched.compiler.rewrites import tree
from policysched.explaining import rule_trials, suggested_edit, trials
from policysched.explaining.edits import node_edits, selector_edits, threshold_edits
from policysched.explaining.facts import pod_requirements
from policysched.explaining.facts import vocabulary as vocabularies
from policysched.lang.checked import checked, checked_expr, checked_selector
from policysched.lang.words import glob_patterns

_MOST_TURNS = 4
_MOST_VALUES = 1

_NodeRule = checked.RejectRule | checked.NodeAffinityRule
_Requirement = checked_selector.Requirement


def find_rule_node_edits(
    tried: trials.PodTrials, rule: _NodeRule, alone: Sequence[str]
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield corrections of the rule, and edits to metadata and taints of the nodes in `alone`."""
    words = selector_edits.build_label_vocabulary(tried)
    for each in dict.fromkeys(_list_node_requirements(rule)):
        for said, corrected in _propose_requirement_corrections(tried, rule, each, words):
            nodes = rule_trials.find_feasible_nodes_with_rule(
                tried, rule, _replace_rule_requirement(rule, each, corrected)
            )
            if nodes:
                yield said.add_fitting_nodes(nodes)
        if isinstance(each, checked_selector.LabelRequirement):
            yield from _find_nearest_fitting_bound(tried, rule, each, words)
        yield from _find_label_and_taint_edits(tried, alone, each, words)


def find_label_number_edits(
    tried: trials.PodTrials, rule: checked.RejectRule, alone: Sequence[str]
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield edits to the labels and annotations that a condition reads as numbers."""
    nodes = list(alone)
    for compare in checked_expr.walk_expressions(rule.condition) if nodes else ():
        if not isinstance(compare, checked_expr.Compare):
            continue
        for each in checked_expr.walk_expressions(compare):
            if isinstance(each, checked_expr.NodeLabelNumber):
                turns = threshold_edits.find_crossing_values(tried, compare, each, nodes)
                yield from _try_label_numbers(tried, nodes, each, turns)


def find_compared_label_edits(
    tried: trials.PodTrials, rule: checked.RejectRule, alone: Sequence[str]
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield edits that set a label, which the rule compares with a value of the pod, to this value.

    Labels that must not have the value are removed.
    """
    snap = tried.take_snapshot()
    for each in checked_expr.walk_expressions(rule.condition) if alone else ():
        if isinstance(each, checked_expr.NodeLabelIsPodValue):
            text = pod_values.read_pod_value(each.value, tried.info.shape, snap)
            if text is not None:
                yield from node_edits.try_label_change(tried, alone, each.key, text)
                yield from node_edits.try_label_change(tried, alone, each.key, None)


def _try_label_numbers(
    tried: trials.PodTrials,
    nodes: Sequence[str],
    label: checked_expr.NodeLabelNumber,
    turns: Sequence[float],
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the nearest whole number that makes the pod fit, and the removal of the label."""
    key, noun = label.key, label.of
    metadata = tried.get_node(nodes[0]).metadata
    present = (metadata.labels if noun == "label" else metadata.annotations).get(key, "")
    before = label_numbers.parse_decimal(present) or 0.0
    nearest = sorted(turns, key=lambda turn: abs(turn - before))[:_MOST_TURNS]
    wholes = {n for turn in nearest for n in (math.floor(turn), math.ceil(turn))}
    # The value of a label cannot begin with a sign.
    values = {max(n + more, 0) for n in wholes for more in (-1, 0, 1)}
    for value in sorted(values, key=lambda value: (abs(value - before), value)):
        found = list(node_edits.try_label_change(tried, nodes, key, str(value), noun))
        if found:
            yield from found
            break
    yield from node_edits.try_label_change(tried, nodes, key, None, noun)


def _list_node_requirements(rule: _NodeRule) -> Iterator[_Requirement]:
    """Yield the requirements on nodes in a rule."""
    if isinstance(rule, checked.NodeAffinityRule):
        yield from checked_selector.walk_requirements(rule.selector)
        return
    for each in checked_expr.walk_expressions(rule.condition):
        if isinstance(each, checked_expr.NodeMatch):
            yield from checked_selector.walk_requirements(each.selector)


def _find_label_and_taint_edits(
    tried: trials.PodTrials,
    alone: Sequence[str],
    each: _Requirement,
    words: vocabularies.LabelVocabulary,
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield edits to nodes after which the requirement no longer rejects them.

    For a pattern, values of other nodes are tried.
    """
    match each:
        case checked_selector.LabelRequirement(key=key, operator=operator):
            known = [
                value
                for value in words.list_values_by_frequency(key)
                if each.has_patterns and glob_patterns.matches_any_pattern(each.values, value)
            ]
            several = (*each.exact_values, *known[:_MOST_VALUES])
            for value in node_edits.list_label_values_to_try(operator, several):
                yield from node_edits.try_label_change(tried, alone, key, value)
        case checked_selector.AnnotationRequirement(key=key, operator=operator, values=values):
            for value in node_edits.list_label_values_to_try(operator, values):
                yield from node_edits.try_label_change(tried, alone, key, value, "annotation")
        case checked_selector.TaintRequirement(pattern=pattern):
            yield from node_edits.try_removing_taints(tried, alone, pattern.key)
        case _:
            pass


# --- corrections ---------------------------------------------------------------------------------


def _propose_requirement_corrections(
    tried: trials.PodTrials,
    rule: _NodeRule,
    each: _Requirement,
    words: vocabularies.LabelVocabulary,
) -> Iterator[tuple[suggested_edit.SuggestedEdit, _Requirement]]:
    """Yield the edits that correct a misspelt word, each with the corrected requirement."""
    match each:
        case checked_selector.LabelRequirement(key=key):
            for near in words.find_similar_keys(key):
                said = _make_requirement_edit(
                    rule, f"label {key}", key, near, "no node has that label"
                )
                yield said, dataclasses.replace(each, key=near)
            yield from _propose_value_corrections(rule, each, words)
        case checked_selector.FieldRequirement(field="nodeName", values=values):
            known = selector_edits.list_node_names(tried)
            exact = itertools.filterfalse(glob_patterns.is_pattern, values)
            for value in (value for value in exact if value not in known):
                for near in suggested_edit.find_similar_words(value, known):
                    fact = "no node has that name"
                    said = _make_requirement_edit(rule, f"nodeName {value}", value, near, fact)
                    yield said, dataclasses.replace(each, values=tuple(sorted({*values, near})))
        case checked_selector.TaintRequirement(pattern=pattern):
            keys = _collect_taint_keys(tried)
            for near in (
                suggested_edit.find_similar_words(pattern.key, keys)
                if pattern.key not in keys
                else ()
            ):
                fact = "no node has that taint"
                said = _make_requirement_edit(rule, f"taint {pattern.key}", pattern.key, near, fact)
                yield (
                    said,
                    dataclasses.replace(each, pattern=dataclasses.replace(pattern, key=near)),
                )
        case _:
            pass


def _propose_value_corrections(
    rule: _NodeRule, each: checked_selector.LabelRequirement, words: vocabularies.LabelVocabulary
) -> Iterator[tuple[suggested_edit.SuggestedEdit, _Requirement]]:
    """Yield the corrections of misspelt label values, each with the corrected requirement."""
    for value in each.exact_values if each.operator == "In" else ():
        for other in words.find_other_values(each.key, value):
            if words.is_probable_misspelling(each.key, value, other):
                place = f"label {each.key}={value}"
                said = _make_requirement_edit(rule, place, value, other, "no node has that value")
                yield said, dataclasses.replace(each, values=tuple(sorted({*each.values, other})))


def _make_requirement_edit(
    rule: _NodeRule, place: str, before: str, after: str, fact: str
) -> suggested_edit.SuggestedEdit:
    """Return the edit to a rule that corrects a misspelt word."""
    text = f"{place}: did you mean {after}? {fact}"
    return rule_trials.make_rule_edit(
        rule, "selector", before, after, text, suggested_edit.CORRECTS
    )


def _find_nearest_fitting_bound(
    tried: trials.PodTrials,
    rule: _NodeRule,
    each: checked_selector.LabelRequirement,
    words: vocabularies.LabelVocabulary,
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the nearest bound of a `Gt` or `Lt` requirement that makes the pod fit."""
    if each.operator not in ("Gt", "Lt"):
        return
    before = each.values[0]
    for bound in selector_edits.find_nearest_bounds(each.operator, int(before), words, each.key):
        other = dataclasses.replace(each, values=(str(bound),))
        nodes = rule_trials.find_feasible_nodes_with_rule(
            tried, rule, _replace_rule_requirement(rule, each, other)
        )
        if nodes:
            text = f"label {each.key} {each.operator} {before}: compare with {bound}"
            said = (before, str(bound), text, suggested_edit.RELAXES_RULE)
            yield rule_trials.make_rule_edit(rule, "threshold", *said).add_fitting_nodes(nodes)
            return


def _collect_taint_keys(tried: trials.PodTrials) -> frozenset[str]:
    nodes = tried.decider.cluster.cache.nodes.nodes
    several = (node.spec.taints for node in nodes if node is not None)
    return frozenset(taint.key for taints in several for taint in taints)


# --- rules with another requirement --------------------------------------------------------------


def _replace_rule_requirement(
    rule: _NodeRule, old: _Requirement, new: _Requirement
) -> checked.Rule:
    """Return the rule with `new` in place of the requirement `old`."""
    if isinstance(rule, checked.NodeAffinityRule):
        return dataclasses.replace(
            rule, selector=pod_requirements.replace_selector_requirement(rule.selector, old, new)
        )

    def with_selector(each: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
        if not isinstance(each, checked_expr.NodeMatch):
            return each
        return dataclasses.replace(
            each, selector=pod_requirements.replace_selector_requirement(each.selector, old, new)
        )

    return dataclasses.replace(rule, condition=tree.bottom_up(rule.condition, with_selector))
