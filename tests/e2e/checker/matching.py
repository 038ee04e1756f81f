"""Kubernetes' matching rules on plain dicts: labels, nodes, taints, namespaces.

Written from the API documentation, not from any scheduler's code, so that it is an independent
witness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Labels: TypeAlias = "Mapping[str, str]"
Object: TypeAlias = "Mapping[str, Any]"


def requirement_holds(requirement: Object, labels: Labels) -> bool:
    """Return whether labels satisfy one `{key, operator, values}`.

    Raises:
        ValueError: the operator is none of Kubernetes'.
    """
    value = labels.get(requirement["key"])
    values = requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _is_integer(value) and int(value or "") > int(values[0])
        case "Lt":
            return _is_integer(value) and int(value or "") < int(values[0])
        case operator:
            raise ValueError(f"`{operator}` is not an operator")


def selector_holds(selector: Object | None, labels: Labels) -> bool:
    """Return whether labels satisfy a LabelSelector; a missing one selects nothing, {} all."""
    if selector is None:
        return False
    equal = (selector.get("matchLabels") or {}).items()
    return all(labels.get(key) == value for key, value in equal) and all(
        requirement_holds(one, labels) for one in selector.get("matchExpressions") or []
    )


def node_selector_holds(selector: Object, node: Object) -> bool:
    """Return whether a node satisfies a NodeSelector: one of its terms, each of all its parts."""
    return any(_node_term_holds(term, node) for term in selector["nodeSelectorTerms"])


def _node_term_holds(term: Object, node: Object) -> bool:
    expressions = term.get("matchExpressions") or []
    fields = term.get("matchFields") or []
    if not expressions and not fields:
        return False
    labels = node["metadata"].get("labels") or {}
    names = {"metadata.name": node["metadata"]["name"]}
    return all(requirement_holds(one, labels) for one in expressions) and all(
        requirement_holds(one, names) for one in fields
    )


def is_tolerated(taint: Object, tolerations: Iterable[Object]) -> bool:
    """Return whether one of the tolerations tolerates the taint."""
    return any(_tolerates(one, taint) for one in tolerations)


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if not toleration.get("key"):
        return operator == "Exists"
    if toleration["key"] != taint["key"]:
        return False
    value, limit = taint.get("value") or "", toleration.get("value") or ""
    match operator:
        case "Exists":
            return True
        case "Equal":
            return bool(value == limit)
        case "Gt" | "Lt":
            if not (_is_integer(value) and _is_integer(limit)):
                return False
            return int(value) > int(limit) if operator == "Gt" else int(value) < int(limit)
        case _:
            raise ValueError(f"`{operator}` is not an operator of tolerations")


def term_holds(term: Object, owner: Object, pod: Object, namespaces: Mapping[str, Labels]) -> bool:
    """Return whether `pod` is one that a pod (anti-)affinity term of `owner` means.

    Args:
        term: a PodAffinityTerm.
        owner: the pod that carries the term; its namespace is meant where the term says nothing.
        pod: the pod in question.
        namespaces: labels by namespace.
    """
    namespace = pod["metadata"]["namespace"]
    listed = term.get("namespaces") or []
    by_label = term.get("namespaceSelector")
    if not listed and by_label is None:
        is_meant = namespace == owner["metadata"]["namespace"]
    else:
        is_meant = namespace in listed or selector_holds(by_label, namespaces.get(namespace, {}))
    return is_meant and selector_holds(
        term.get("labelSelector"), pod["metadata"].get("labels") or {}
    )


def _is_integer(text: str | None) -> bool:
    try:
        int(text or "")
    except ValueError:
        return False
    return True
