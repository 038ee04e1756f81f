"""How many nodes and pods of the known cluster a selector matches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TypeAlias

from policysched.lang import checked, checked_selector, source
from policysched.language_server import programs
from policysched.lint import scopes, selector_sets
from policysched.lint.rules import ps307

_SMALL = 0.01


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A requirement of a selector.

    Attributes:
        about: `pods`, `nodes` or `namespaces`.
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
        for each in selector_sets.requirements(occurrence.selector):
            if each.span.file == text and each.span.start <= offset < each.span.end:
                return Found(each, occurrence.about)
    return None


def written(program: programs.Program, found: Found) -> str:
    """Return a requirement as it is written, on one line."""
    return " ".join(program.result.texts[found.span.file].slice(found.span).split())


def count(program: programs.Program, found: Found) -> str:
    """Say how many nodes match; "" if no cluster is known, or it is not about nodes."""
    cluster = program.known.cluster
    if cluster is None or found.about != "nodes":
        return ""
    return f"matches {cluster.matching(found.selector)} of {len(cluster.nodes)} nodes"


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
    total = len(cluster.nodes)
    for policy in program.result.program.policies:
        if policy.span.file != text:
            continue
        yield Note(policy.span, ", ".join(facts_of_policy(program, policy.name)))
        for rule in policy.rules:
            if isinstance(rule, checked.NodeAffinityRule):
                matching = cluster.matching(rule.selector)
                yield Note(rule.head.span, f"matches {matching}/{total} nodes")


def facts_of_policy(program: programs.Program, name: str) -> list[str]:
    """Return for how many pods a policy is, and how many nodes its affinities leave them."""
    cluster, known = program.known.cluster, program.result.program
    if cluster is None or known is None:
        return []
    policy = next((each for each in known.policies if each.name == name), None)
    if policy is None:
        return []
    required = [
        rule.selector
        for rule in policy.rules
        if isinstance(rule, checked.NodeAffinityRule) and rule.weight is None
    ]
    pods = len(cluster.pods_of(policy))
    facts = [f"{pods}/{len(cluster.pods)} pods"]
    if required:
        facts.append(f"matches {cluster.matching(*required)}/{len(cluster.nodes)} nodes")
    return facts


def shares(program: programs.Program, text: str) -> Iterator[Note]:
    """Yield for each weight of a text what part it is of all that count for the same pods."""
    if program.result.program is None:
        return
    seen: set[source.Span] = set()
    for profile in program.result.program.profiles:
        for rule, share in _shares(profile):
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
