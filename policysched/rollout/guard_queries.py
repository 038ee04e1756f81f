"""Queries of guards: `$new_pods` and `$old_pods` are matchers of the pods of a version.

A query is accepted only if each of its selectors contains one of them. A selector without them
reads the pods of both versions together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

PodKey: TypeAlias = tuple[str, str]
"""Namespace and name of a pod."""

NEW_PODS, OLD_PODS = "$new_pods", "$old_pods"
MOST_PODS = 100
"""Maximum number of pods in a matcher: those that were created last."""
_VARIABLE = re.compile(r"\$(new_pods|old_pods)\b")
_NEW_MARK, _OLD_MARK = "__policysched_new_pods__", "__policysched_old_pods__"
"""Labels that replace the variables while a query is checked."""


def fill_query(query: str, new: Iterable[PodKey], old: Iterable[PodKey]) -> str | None:
    """Return the query for these pods, or None if a version that it reads has none."""
    new_pods = set(new)
    # The new version decided last about a pod of both: it decides about ever more pods.
    old_pods = set(old) - new_pods
    matchers = {
        "new_pods": _make_matchers(_leave_out_shared_names(new_pods, old_pods)),
        "old_pods": _make_matchers(_leave_out_shared_names(old_pods, new_pods)),
    }
    if any(not matchers[found] for found in _VARIABLE.findall(query)):
        return None
    return _VARIABLE.sub(lambda found: matchers[found[1]], query)


def _leave_out_shared_names(pods: set[PodKey], others: set[PodKey]) -> set[PodKey]:
    """Return the pods without those whose name a pod of the other version has in their namespaces.

    A selector matches namespaces and names separately. With replicas of StatefulSets in several
    namespaces, it would match pods of both versions.
    """
    namespaces = {namespace for namespace, _ in pods}
    names = {name for namespace, name in others if namespace in namespaces}
    return {pod for pod in pods if pod[1] not in names}


def _make_matchers(pods: set[PodKey]) -> str:
    """Return matchers for the namespaces and names of pods; "" without pods."""
    if not pods:
        return ""
    namespaces = "|".join(sorted({re.escape(namespace) for namespace, _ in pods}))
    names = "|".join(sorted({re.escape(name) for _, name in pods}))
    return f"namespace=~{_quote(namespaces)},pod=~{_quote(names)}"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def find_query_problem(query: str) -> str:
    """Return why a guard cannot use a query, or ""."""
    from policysched.promql import marked_selectors  # noqa: PLC0415 - few guards have a query

    marked = _VARIABLE.sub(r'__policysched_\1__="x"', query)
    try:
        selectors = marked_selectors.list_selector_labels(marked)
    except ValueError as error:
        return f"is not PromQL: {str(error).partition(chr(10))[0]}"
    for name, labels in selectors:
        if labels.isdisjoint((_NEW_MARK, _OLD_MARK)):
            return (
                f"must contain `{NEW_PODS}` or `{OLD_PODS}` in each selector; "
                f"`{name}` reads the pods of both versions"
            )
        if labels.issuperset((_NEW_MARK, _OLD_MARK)):
            return f"selects no series with `{NEW_PODS}` and `{OLD_PODS}` in one selector: `{name}`"
    if not any(_NEW_MARK in labels for _, labels in selectors):
        return f"must contain `{NEW_PODS}`; otherwise it does not measure the new version"
    return ""
