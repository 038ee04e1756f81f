"""Which pods policies are about, compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policysched.lang import checked, checked_selector
from policysched.lint import selector_sets


def covers(wide: checked_selector.PodScope, narrow: checked_selector.PodScope) -> bool:
    """Return whether it is certain that all pods of `narrow` are in `wide`, too."""
    if wide is narrow:
        return True
    if not _covers_namespaces(wide.namespaces, narrow.namespaces):
        return False
    return selector_sets.implies(narrow.where, wide.where)


def are_apart(one: checked_selector.PodScope, other: checked_selector.PodScope) -> bool:
    """Return whether it is certain that no pod is in both."""
    return _are_namespaces_apart(one.namespaces, other.namespaces) or selector_sets.never_match(
        one.where, other.where
    )


class Covering:
    """Finds the policies whose scope covers another, without a look at each pair.

    A policy that asks for a label by `In` can only cover one whose pods have such a value, so these
    are found by key and value.
    """

    def __init__(self, policies: Iterable[checked.CheckedPolicy]) -> None:
        self._anywhere: list[checked.CheckedPolicy] = []
        self._by_label: dict[tuple[str, str], list[checked.CheckedPolicy]] = {}
        for policy in policies:
            asked = _asked_label(policy.scope.where)
            if asked is None:
                self._anywhere.append(policy)
                continue
            for value in asked.values:
                self._by_label.setdefault((asked.key, value), []).append(policy)

    def of(self, policy: checked.CheckedPolicy) -> Iterator[checked.CheckedPolicy]:
        """Yield the policies that are about all pods of `policy`, itself included."""
        candidates = list(self._anywhere)
        for variable, value in (selector_sets.witness(policy.scope.where) or {}).items():
            if variable[0] == "label" and isinstance(value, str):
                candidates += self._by_label.get((str(variable[1]), value), ())
        for candidate in candidates:
            if covers(candidate.scope, policy.scope):
                yield candidate


def _asked_label(
    where: checked_selector.Selector,
) -> checked_selector.LabelRequirement | None:
    operands = where.operands if isinstance(where, checked_selector.AllOf) else (where,)
    for each in operands:
        if isinstance(each, checked_selector.LabelRequirement) and each.operator == "In":
            return each
    return None


def _are_namespaces_apart(
    one: checked_selector.NamespaceSet | None, other: checked_selector.NamespaceSet | None
) -> bool:
    if one is None or other is None or one.selector is not None or other.selector is not None:
        return False
    return not set(one.names) & set(other.names)


def _covers_namespaces(
    wide: checked_selector.NamespaceSet | None, narrow: checked_selector.NamespaceSet | None
) -> bool:
    if wide is None or wide == narrow or wide.selector == checked_selector.EVERYTHING:
        return True
    if narrow is None or not set(narrow.names) <= set(wide.names):
        return False
    if narrow.selector is None:
        return True
    return wide.selector is not None and selector_sets.implies(narrow.selector, wide.selector)
