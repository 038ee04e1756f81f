"""How many nodes and pods of the known cluster a selector matches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from policysched.lang import source
from policysched.lang.checked import checked, checked_selector, cluster_profile
from policysched.language_server.project import programs
from policysched.lint.policies import scopes
from policysched.lint.rules import ps307

if TYPE_CHECKING:
    from policysched.lint.facts import cluster_facts  # brings NumPy

_SMALL = 0.01


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A requirement of a selector.

    Attributes:
        about: as `subject.Occurrence` has it.
    """

    selector: checked_selector.Requirement
    about: str

    @property
    def span(self) -> source.Span:
        """Where it is written."""
        return self.selector.span


def at(program: programs.Program, text: str, offset: int) -> Found | None:
    """Return the requirement that is written at an offset; None while the program has errors."""
    if program.about is None:
        return None
    for occurrence in program.about.occurrences:
        for each in checked_selector.walk_requirements(occurrence.selector):
            if each.span.file == text and each.span.start <= offset < each.span.end:
                return Found(each, occurrence.about)
    return None


def written(program: programs.Program, found: Found) -> str:
    """Return a requirement as it is written, on one line."""
    return " ".join(program.result.texts[found.span.file].slice(found.span).split())


def count(program: programs.Program, found: Found) -> str:
    """Say how many nodes, or member clusters, match; "" if none are known."""
    cluster = program.known.cluster
    if cluster is not None and found.about == "clusters":
        cluster = cluster.members
    if cluster is None or found.about not in {"nodes", "clusters"}:
        return ""
    return f"matches {cluster.matching(found.selector)} of {len(cluster.nodes)} {found.about}"


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    """A few words about a statement or policy."""

    span: source.Span
    text: str


Notes: TypeAlias = Callable[[programs.Program, str], Iterator[Note]]
"""Finds what is to be said about a text of a program."""


def lenses(program: programs.Program, text: str) -> Iterator[Note]:
    """Yield what the policies of a text, and their node affinities, match on the cluster."""
    cluster = program.known.cluster
    if cluster is None or program.result.program is None:
        return
    checked_program = program.result.program
    for policy in (*checked_program.policies, *checked_program.cluster_policies):
        known = _compared_with(policy, cluster)
        if policy.span.file != text or known is None:
            continue
        yield Note(policy.span, ", ".join(facts_of_policy(program, policy.name)))
        for rule in policy.rules:
            if isinstance(rule, checked.NodeAffinityRule):
                yield Note(rule.head.span, _matches(policy, known, rule.selector))
        for group in policy.clusters.groups if policy.clusters else ():
            yield Note(group.span, _matches(policy, known, group.selector))


def _compared_with(
    policy: checked.CheckedPolicy, cluster: cluster_facts.ClusterFacts
) -> cluster_facts.ClusterFacts | None:
    """Return nodes and pods, or for a clusterPolicy what stands for them; None without any."""
    return cluster if policy.clusters is None else cluster.members


def _matches(
    policy: checked.CheckedPolicy,
    known: cluster_facts.ClusterFacts,
    *selectors: checked_selector.Selector,
) -> str:
    what = "nodes" if policy.clusters is None else "clusters"
    return f"matches {known.matching(*selectors)}/{len(known.nodes)} {what}"


def facts_of_policy(program: programs.Program, name: str) -> list[str]:
    """Return for how many pods a policy is, and how many nodes its affinities leave them.

    Of a clusterPolicy: for how many bindings, and how many clusters.
    """
    cluster, known = program.known.cluster, program.result.program
    if cluster is None or known is None:
        return []
    every = (*known.policies, *known.cluster_policies)
    policy = next((each for each in every if each.name == name), None)
    compared = None if policy is None else _compared_with(policy, cluster)
    if policy is None or compared is None:
        return []
    required = [
        rule.selector
        for rule in policy.rules
        if isinstance(rule, checked.NodeAffinityRule) and rule.weight is None
    ]
    what = "pods" if policy.clusters is None else "bindings"
    facts = [f"{len(compared.pods_of(policy))}/{len(compared.pods)} {what}"]
    if required:
        facts.append(_matches(policy, compared, *required))
    return facts


def shares(program: programs.Program, text: str) -> Iterator[Note]:
    """Yield for each weight of a text what part it is of all that count for the same pods."""
    if program.result.program is None:
        return
    seen: set[source.Span] = set()
    for profile in program.result.program.profiles:
        across = cluster_profile.as_rows(profile)
        for rule, share in (*_shares(profile), *_shares(across)):
            span = rule.head.span
            if span.file == text and span not in seen:
                seen.add(span)
                yield Note(span, f"{share:.1%}" if share < _SMALL else f"{share:.0%}")


def _shares(profile: checked.CheckedProfile) -> Iterator[tuple[checked.Rule, float]]:
    """Yield the scores of a profile with their parts of the weight, as PS307 counts them."""
    enforced = [policy for policy in profile.policies if policy.mode == "enforce"]
    covering = scopes.Covering(enforced)
    builtin = ps307.built_in_weight(profile)
    for policy in enforced:
        weighed = [(rule, _weight(rule)) for rule in policy.rules if _weight(rule)]
        if not weighed:
            continue
        others = (_weight(rule) for other in covering.of(policy) for rule in other.rules)
        total = builtin + sum(others)
        for rule, weight in weighed:
            yield rule, weight / total


def _weight(rule: checked.Rule) -> int:
    """Return the weight of a score or preference, 0 of what filters."""
    return getattr(rule, "weight", None) or 0
