"""Queries of guards: `$new_pods` and `$old_pods` stand for matchers of the pods of a version.

A query is accepted only if each of its selectors contains one of them. Without, it would read the
pods of both versions together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from policysched.rollout import tally

NEW_PODS, OLD_PODS = "$new_pods", "$old_pods"
MOST_PODS = 100
"""Number of pods in a matcher; the latest ones."""
_VARIABLE = re.compile(r"\$(new_pods|old_pods)\b")
_MARK = "__policysched_pods__"


def fill_query(
    query: str, new: Iterable[tally.JudgedPod], old: Iterable[tally.JudgedPod]
) -> str | None:
    """Return the query for these pods, or None if a version that it reads has none."""
    matchers = {"new_pods": _make_matchers(new), "old_pods": _make_matchers(old)}
    if any(not matchers[found] for found in _VARIABLE.findall(query)):
        return None
    return _VARIABLE.sub(lambda found: matchers[found[1]], query)


def _make_matchers(pods: Iterable[tally.JudgedPod]) -> str:
    """Return matchers for the namespaces and names of pods; "" without pods."""
    listed = list(pods)
    if not listed:
        return ""
    namespaces = "|".join(sorted({re.escape(pod.namespace) for pod in listed}))
    names = "|".join(sorted({re.escape(pod.name) for pod in listed}))
    return f"namespace=~{_quote(namespaces)},pod=~{_quote(names)}"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def find_query_problem(query: str) -> str:
    """Return why a guard cannot use a query, or ""."""
    from policysched.promql import marked_selectors  # noqa: PLC0415 - few guards have a query

    if NEW_PODS not in query:
        return f"must contain `{NEW_PODS}`; otherwise it does not measure the new version"
    marked = _VARIABLE.sub(f'{_MARK}="x"', query)
    try:
        selector = marked_selectors.find_selector_without_label(marked, _MARK)
    except ValueError as error:
        return f"is not PromQL: {str(error).partition(chr(10))[0]}"
    if selector is None:
        return ""
    return (
        f"must contain `{NEW_PODS}` or `{OLD_PODS}` in each selector; "
        f"`{selector}` reads the pods of both versions"
    )
