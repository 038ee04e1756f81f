"""Finds edits to policies: leave out a rule, relax a number or correct a misspelt label."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from policysched.explaining import rule_trials, suggested_edit, trials
from policysched.explaining.edits import (
    affinity_edits,
    node_edits,
    rule_node_edits,
    selector_edits,
    spread_edits,
    threshold_edits,
)
from policysched.explaining.facts import rejections
from policysched.lang.checked import checked
from policysched.plugins import names


def find_policy_edits(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the single edits to policies that make the pod fit."""
    program = tried.decider.policy_set.program
    if program is None:
        return
    profile = tried.framework.profile.scheduler_name
    for name in sorted(known.list_rejecting_plugins()):
        rule = _find_checked_rule(program, name, profile)
        if rule is None or not known.can_single_edit_suffice(name) or tried.is_limit_reached:
            continue
        yield from _find_rule_edits(tried, known, rule)
        nodes = rule_trials.find_feasible_nodes_with_rule(tried, rule, None)
        if nodes:
            written = f"{rule.head.name} (line {rule.head.span.line})"
            said = suggested_edit.SuggestedEdit(
                "policy",
                "rule",
                rule.head.name,
                rule.head.text,
                None,
                f"remove rule {written}",
                suggested_edit.DROPS_RULE,
                place=rule.head.span,
            )
            yield said.add_fitting_nodes(nodes)


def _find_checked_rule(
    program: checked.CheckedProgram, name: str, profile: str
) -> checked.Rule | None:
    """Return the rule with the given name, preferably from the given profile; None if unknown."""
    profiles = sorted(program.profiles, key=lambda each: each.name != profile)
    every = (rule for each in profiles for policy in each.policies for rule in policy.rules)
    return next((rule for rule in every if rule.head.name == name), None)


def _find_rule_edits(
    tried: trials.PodTrials, known: rejections.PodRejections, rule: checked.Rule
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the edits to a rejecting rule, or to nodes that it rejects, that make the pod fit."""
    match rule:
        case checked.RejectRule(until=None):
            yield from threshold_edits.find_threshold_edits(tried, known, rule)
            alone = known.find_nodes_to_edit(rule.head.name)
            yield from rule_node_edits.find_rule_node_edits(tried, rule, alone)
            yield from rule_node_edits.find_label_number_edits(tried, rule, alone)
            yield from rule_node_edits.find_compared_label_edits(tried, rule, alone)
        case checked.NodeAffinityRule(weight=None):
            alone = known.find_nodes_to_edit(rule.head.name, names.NODE_AFFINITY)
            yield from rule_node_edits.find_rule_node_edits(tried, rule, alone)
        case checked.TopologySpreadRule(when_unsatisfiable="DoNotSchedule"):
            yield from _find_spread_rule_relaxations(tried, rule)
            yield from _find_topology_key_corrections(tried, rule)
            nodes = known.find_nodes_rejected_only_by(rule.head.name)
            yield from node_edits.try_joining_domain(tried, nodes, rule.topology_key)
        case checked.PodAffinityRule(weight=None, anti=False):
            nodes = known.find_nodes_rejected_only_by(rule.head.name)
            yield from node_edits.try_joining_domain(tried, nodes, rule.topology_key)
            yield from _find_topology_key_corrections(tried, rule)
            yield from affinity_edits.find_affinity_rule_corrections(tried, rule)
        case _:
            pass


# --- spread and topologies -----------------------------------------------------------------------


def _find_spread_rule_relaxations(
    tried: trials.PodTrials, rule: checked.TopologySpreadRule
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the relaxations of a hard spread rule that make the pod fit."""

    def fits(fields: Mapping[str, object]) -> tuple[str, ...]:
        relaxed = dataclasses.replace(rule, **fields)  # type: ignore[arg-type]  # fields by name
        return rule_trials.find_feasible_nodes_with_rule(tried, rule, relaxed)

    for each in spread_edits.find_spread_relaxations(rule, fits):
        if not tried.is_limit_reached:
            text = f"{each.field} from {each.before} to {each.after}"
            said = (each.before, each.after, text, suggested_edit.RELAXES_RULE)
            yield rule_trials.make_rule_edit(rule, "topologySpread", *said).add_fitting_nodes(
                each.nodes
            )


def _find_topology_key_corrections(
    tried: trials.PodTrials, rule: checked.TopologySpreadRule | checked.PodAffinityRule
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield corrections of a topologyKey that no node has as a label."""
    before = rule.topology_key
    for near in selector_edits.build_label_vocabulary(tried).find_similar_keys(before):
        nodes = rule_trials.find_feasible_nodes_with_rule(
            tried, rule, dataclasses.replace(rule, topology_key=near)
        )
        if nodes:
            text = f"topologyKey {before}: did you mean {near}? no node has that label"
            said = (before, near, text, suggested_edit.CORRECTS)
            yield rule_trials.make_rule_edit(rule, rule.head.kind, *said).add_fitting_nodes(nodes)
