"""Label selectors and node selector terms of Kubernetes, as selectors of the language."""

from __future__ import annotations

import enum
from typing import cast

from policysched.importing import fields, policy_text
from policysched.lang import syntax_expr

_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})


class Match(enum.Enum):
    """A selector that says nothing about labels."""

    ALL = "all"
    NONE = "none"


def label_selector(given: fields.Fields | None) -> syntax_expr.Selector | Match:
    """Return a LabelSelector; none matches nothing, an empty one everything."""
    if given is None:
        return Match.NONE
    found: list[syntax_expr.Selector] = labels(given.labels("matchLabels"))
    for expression in given.objects("matchExpressions"):
        requirement = _expression(expression)
        if requirement is not None:
            found.append(requirement)
    return policy_text.every(found) if found else Match.ALL


def labels(given: dict[str, str]) -> list[syntax_expr.Selector]:
    """Return a requirement for each label."""
    return [policy_text.requirement(key, "=", (value,)) for key, value in given.items()]


def node_term(given: fields.Fields) -> syntax_expr.Selector | Match:
    """Return a NodeSelectorTerm; an empty one matches no node."""
    found: list[syntax_expr.Selector] = []
    for expression in given.objects("matchExpressions"):
        requirement = _expression(expression)
        if requirement is not None:
            found.append(requirement)
    for expression in given.objects("matchFields"):
        key = expression.text("key")
        if key != "metadata.name":
            problem = f"`{key}` is no field of nodes that pods can be matched with"
            given.report.warn(expression.place, problem, "match `metadata.name` or a label")
            continue
        operator, values = _operator(expression), expression.texts("values")
        if operator is not None:
            found.append(policy_text.field_requirement("nodeName", operator, values))
    return policy_text.every(found) if found else Match.NONE


def _expression(given: fields.Fields) -> syntax_expr.Requirement | None:
    key, values = given.text("key"), given.texts("values")
    operator = _operator(given)
    return None if operator is None else policy_text.requirement(key, operator, values)


def _operator(given: fields.Fields) -> syntax_expr.Operator | None:
    operator = given.text("operator")
    if operator not in _OPERATORS:
        problem = f"`{operator}` is no operator"
        given.report.warn(given.at("operator"), problem, f"write {', '.join(sorted(_OPERATORS))}")
        return None
    return cast("syntax_expr.Operator", operator)
