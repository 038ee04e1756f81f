"""Counts the nodes and pods of the known cluster that selectors match."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from policysched.lang import source
from policysched.lang.checked import checked, checked_selector, cluster_profile
from policysched.language_server.project import programs
from policysched.lint.policies import scopes
from policysched.lint.rules.scores import ps307_disproportionate_weight

if TYPE_CHECKING:
    from policysched.lint.facts import cluster_facts  # imports NumPy

_SMALL = 0.01


@dataclasses.dataclass(frozen=True, slots=True)
class RequirementOccurrence:
    """A requirement in a selector, with its context.

    Attributes:
        about: see `rule_input.SelectorUse`.
    """

    selector: checked_selector.Requirement
    about: str

    @property
    def span(self) -> source.Span:
        """The span of the requirement."""
        return self.selector.span


def find_requirement(
    program: programs.PolicyProgram, text: str, offset: int
) -> RequirementOccurrence | None:
    """Return the requirement at an offset, or None; None also while the program has errors."""
    if program.lint_input is None:
        return None
    for occurrence in program.lint_input.selector_uses:
        for each in checked_selector.walk_requirements(occurrence.selector):
            if each.span.file == text and each.span.start <= offset < each.span.end:
                return RequirementOccurrence(each, occurrence.about)
    return None


def extract_requirement_text(program: programs.PolicyProgram, found: RequirementOccurrence) -> str:
    """Return a requirement as written, on one line."""
    return " ".join(program.check_result.texts[found.span.file].slice(found.span).split())


def describe_match_count(program: programs.PolicyProgram, found: RequirementOccurrence) -> str:
    """Return the number of matching nodes or member clusters as text, or "".

    The text is empty if the cluster is not known, or if the requirement is about other objects.
    """
    cluster = program.known.cluster
    if cluster is not None and found.about == "clusters":
        cluster = cluster.members
    if cluster is None or found.about not in {"nodes", "clusters"}:
        return ""
    count = cluster.count_matching_nodes(found.selector)
    return f"matches {count} of {len(cluster.nodes)} {found.about}"


@dataclasses.dataclass(frozen=True, slots=True)
class InlineNote:
    """A short text next to a statement or policy."""

    span: source.Span
    text: str


Notes: TypeAlias = Callable[[programs.PolicyProgram, str], Iterator[InlineNote]]
"""A function that yields the notes on a text of a program."""


def list_match_count_notes(program: programs.PolicyProgram, text: str) -> Iterator[InlineNote]:
    """Yield the match counts of the policies in a text, their affinities and cluster groups."""
    cluster = program.known.cluster
    if cluster is None or program.check_result.program is None:
        return
    checked_program = program.check_result.program
    for policy in (*checked_program.policies, *checked_program.cluster_policies):
        known = _select_cluster_facts(policy, cluster)
        if policy.span.file != text or known is None:
            continue
        yield InlineNote(policy.span, ", ".join(describe_policy_matches(program, policy.name)))
        for rule in policy.rules:
            if isinstance(rule, checked.NodeAffinityRule):
                yield InlineNote(rule.head.span, _format_match_count(policy, known, rule.selector))
        for group in policy.clusters.groups if policy.clusters else ():
            yield InlineNote(group.span, _format_match_count(policy, known, group.selector))


def _select_cluster_facts(
    policy: checked.CheckedPolicy, cluster: cluster_facts.ClusterFacts
) -> cluster_facts.ClusterFacts | None:
    """Return the facts with which a policy is compared: the cluster, or its member clusters.

    None means that there are no member clusters for a clusterPolicy.
    """
    return cluster if policy.clusters is None else cluster.members


def _format_match_count(
    policy: checked.CheckedPolicy,
    known: cluster_facts.ClusterFacts,
    *selectors: checked_selector.Selector,
) -> str:
    what = "nodes" if policy.clusters is None else "clusters"
    return f"matches {known.count_matching_nodes(*selectors)}/{len(known.nodes)} {what}"


def describe_policy_matches(program: programs.PolicyProgram, name: str) -> list[str]:
    """Return the numbers of pods in the scope of a policy and of nodes that its affinities permit.

    For a clusterPolicy, it counts bindings and clusters instead. Without a known cluster, the list
    is empty.
    """
    cluster, known = program.known.cluster, program.check_result.program
    if cluster is None or known is None:
        return []
    every = (*known.policies, *known.cluster_policies)
    policy = next((each for each in every if each.name == name), None)
    compared = None if policy is None else _select_cluster_facts(policy, cluster)
    if policy is None or compared is None:
        return []
    required = [
        rule.selector
        for rule in policy.rules
        if isinstance(rule, checked.NodeAffinityRule) and rule.weight is None
    ]
    what = "pods" if policy.clusters is None else "bindings"
    facts = [f"{len(compared.list_pods_of_policy(policy))}/{len(compared.pods)} {what}"]
    if required:
        facts.append(_format_match_count(policy, compared, *required))
    return facts


def list_weight_share_notes(program: programs.PolicyProgram, text: str) -> Iterator[InlineNote]:
    """Yield, for each weight in a text, its share of all weights that apply to the same pods."""
    if program.check_result.program is None:
        return
    seen: set[source.Span] = set()
    for profile in program.check_result.program.profiles:
        across = cluster_profile.replace_pod_by_cluster_policies(profile)
        for rule, share in (*_compute_weight_shares(profile), *_compute_weight_shares(across)):
            span = rule.head.span
            if span.file == text and span not in seen:
                seen.add(span)
                yield InlineNote(span, f"{share:.1%}" if share < _SMALL else f"{share:.0%}")


def _compute_weight_shares(profile: checked.CheckedProfile) -> Iterator[tuple[checked.Rule, float]]:
    """Yield the scores of a profile with their shares of the total weight, computed as in PS307."""
    enforced = [policy for policy in profile.policies if policy.mode == "enforce"]
    covering = scopes.ScopeIndex(enforced)
    builtin = ps307_disproportionate_weight.sum_scoring_plugin_weights(profile)
    for policy in enforced:
        weighed = [
            (rule, _get_rule_weight(rule)) for rule in policy.rules if _get_rule_weight(rule)
        ]
        if not weighed:
            continue
        others = (
            _get_rule_weight(rule)
            for other in covering.find_covering_policies(policy)
            for rule in other.rules
        )
        total = builtin + sum(others)
        for rule, weight in weighed:
            yield rule, weight / total


def _get_rule_weight(rule: checked.Rule) -> int:
    """Return the weight of a score or preference, or 0 for a rule that filters."""
    return getattr(rule, "weight", None) or 0
