"""Edits of policies: a rule left out, a threshold or a maxSkew relaxed, a misspelt label."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from policysched.explaining import edit, rule_trials, trials
from policysched.explaining.edits import (
    affinity_edits,
    node_edits,
    rule_node_edits,
    selector_edits,
    spread_edits,
    threshold_edits,
)
from policysched.explaining.facts import obstacles
from policysched.lang.checked import checked
from policysched.plugins import names


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
        nodes = rule_trials.fits_with(tried, rule, None)
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
            yield from threshold_edits.find(tried, known, rule)
            alone = known.of_nodes(rule.head.name)
            yield from rule_node_edits.find(tried, rule, alone)
            yield from rule_node_edits.find_label_numbers(tried, rule, alone)
        case checked.NodeAffinityRule(weight=None):
            alone = known.of_nodes(rule.head.name, names.NODE_AFFINITY)
            yield from rule_node_edits.find(tried, rule, alone)
        case checked.TopologySpreadRule(when_unsatisfiable="DoNotSchedule"):
            yield from _less_even(tried, rule)
            yield from _other_topology(tried, rule)
            nodes = known.only(rule.head.name)
            yield from node_edits.in_a_domain(tried, nodes, rule.topology_key)
        case checked.PodAffinityRule(weight=None, anti=False):
            nodes = known.only(rule.head.name)
            yield from node_edits.in_a_domain(tried, nodes, rule.topology_key)
            yield from _other_topology(tried, rule)
            yield from affinity_edits.of_rule(tried, rule)
        case _:
            pass


# --- spread and topologies -----------------------------------------------------------------------


def _less_even(tried: trials.Trials, rule: checked.TopologySpreadRule) -> Iterator[edit.Edit]:
    def fits(fields: Mapping[str, object]) -> tuple[str, ...]:
        return rule_trials.fits_with(tried, rule, dataclasses.replace(rule, **fields))  # type: ignore[arg-type]  # fields of the rule by name

    for each in spread_edits.find_relaxations(rule, fits):
        if not tried.is_over:
            text = f"{each.field} from {each.before} to {each.after}"
            said = (each.before, each.after, text, edit.RELAXES_RULE)
            yield rule_trials.edit_of(rule, "topologySpread", *said).helping(each.nodes)


def _other_topology(
    tried: trials.Trials, rule: checked.TopologySpreadRule | checked.PodAffinityRule
) -> Iterator[edit.Edit]:
    """Yield corrections of a topologyKey that no node has."""
    before = rule.topology_key
    for near in selector_edits.vocabulary(tried).keys_like(before):
        nodes = rule_trials.fits_with(tried, rule, dataclasses.replace(rule, topology_key=near))
        if nodes:
            text = f"topologyKey {before}: did you mean {near}? no node has that label"
            said = (before, near, text, edit.CORRECTS)
            yield rule_trials.edit_of(rule, rule.head.kind, *said).helping(nodes)
