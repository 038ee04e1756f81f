"""Compares the scopes of policies."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from policysched.lang.checked import checked, checked_selector
from policysched.lang.words import glob_patterns
from policysched.lint.sets import selector_sets


def covers_scope(
    wide: checked_selector.PolicyPodScope, narrow: checked_selector.PolicyPodScope
) -> bool:
    """Return whether `wide` certainly contains all pods of `narrow`."""
    if wide is narrow:
        return True
    if not _covers_namespaces(wide.namespaces, narrow.namespaces):
        return False
    return selector_sets.does_selector_imply(narrow.where, wide.where)


def are_scopes_disjoint(
    one: checked_selector.PolicyPodScope, other: checked_selector.PolicyPodScope
) -> bool:
    """Return whether it is certain that no pod is in both scopes."""
    return _are_namespaces_apart(
        one.namespaces, other.namespaces
    ) or selector_sets.can_never_match_together(one.where, other.where)


_Trait = tuple[str, str, str]
"""A label or namespace of pods: (`pod` or `namespace`, the label key or "", the value)."""


class ScopeIndex:
    """Finds the policies whose scope covers another scope, without comparing all pairs.

    A policy that requires a pod or namespace label with `In`, or namespaces by name, can only cover
    scopes whose pods have one of these values. The index therefore lists it under these values.
    """

    def __init__(self, policies: Iterable[checked.CheckedPolicy]) -> None:
        """List each policy under the traits that it requires."""
        self._anywhere: list[checked.CheckedPolicy] = []
        self._by_trait: dict[_Trait, list[checked.CheckedPolicy]] = {}
        for policy in policies:
            asked = _find_required_traits(policy.scope)
            if not asked:
                self._anywhere.append(policy)
            for trait in asked:
                self._by_trait.setdefault(trait, []).append(policy)

    def find_covering_policies(
        self, policy: checked.CheckedPolicy
    ) -> Iterator[checked.CheckedPolicy]:
        """Yield `policy` and the policies whose scope certainly contains all its pods."""
        candidates = list(self._anywhere)
        for trait in _find_example_traits(policy.scope):
            candidates += self._by_trait.get(trait, ())
        for candidate in candidates:
            if covers_scope(candidate.scope, policy.scope):
                yield candidate


def _find_required_traits(scope: checked_selector.PolicyPodScope) -> Sequence[_Trait]:
    """Return traits of which each pod in the scope has at least one; empty if unknown."""
    found = _find_required_labels("pod", scope.where)
    if found or scope.namespaces is None:
        return found
    if any(map(glob_patterns.is_pattern, scope.namespaces.names)):
        return ()
    if scope.namespaces.selector is None:
        return [("namespace", "", name) for name in scope.namespaces.names]
    if scope.namespaces.names:
        return ()
    return _find_required_labels("namespace", scope.namespaces.selector)


def _find_required_labels(kind: str, selector: checked_selector.Selector) -> Sequence[_Trait]:
    """Return the traits of the first `In` requirement that the whole selector implies.

    A requirement with patterns has no traits.
    """
    operands = (
        selector.operands
        if isinstance(selector, checked_selector.SelectorConjunction)
        else (selector,)
    )
    for each in operands:
        match each:
            case checked_selector.LabelRequirement(operator="In", has_patterns=False):
                return [(kind, each.key, value) for value in each.values]
            case _:
                pass
    return ()


def _find_example_traits(scope: checked_selector.PolicyPodScope) -> Iterator[_Trait]:
    """Yield the traits of an example pod in a scope; every covering scope contains this pod."""
    yield from _find_example_labels("pod", scope.where)
    if scope.namespaces is None:
        return
    yield from (("namespace", "", name) for name in scope.namespaces.names[:1])
    if scope.namespaces.selector is not None:
        yield from _find_example_labels("namespace", scope.namespaces.selector)


def _find_example_labels(kind: str, selector: checked_selector.Selector) -> Iterator[_Trait]:
    for variable, value in (selector_sets.find_matching_object(selector) or {}).items():
        if variable[0] == "label" and isinstance(value, str):
            yield kind, str(variable[1]), value


def _are_namespaces_apart(
    one: checked_selector.NamespaceSet | None, other: checked_selector.NamespaceSet | None
) -> bool:
    if one is None or other is None or one.selector is not None or other.selector is not None:
        return False
    pairs = itertools.product(one.names, other.names)
    return all(itertools.starmap(glob_patterns.are_apart, pairs))


def _covers_namespaces(
    wide: checked_selector.NamespaceSet | None, narrow: checked_selector.NamespaceSet | None
) -> bool:
    """Return whether `wide` certainly contains all namespaces in `narrow`; None means all."""
    if wide is None or wide == narrow or wide.selector == checked_selector.EVERYTHING:
        return True
    if narrow is None:
        return False
    if not all(glob_patterns.matches_any_pattern(wide.names, name) for name in narrow.names):
        return False
    if narrow.selector is None:
        return True
    return wide.selector is not None and selector_sets.does_selector_imply(
        narrow.selector, wide.selector
    )
