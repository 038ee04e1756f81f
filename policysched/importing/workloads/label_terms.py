"""Label selectors and node selector terms of Kubernetes, as selectors of the language."""

from __future__ import annotations

import enum
import re
from typing import cast

from policysched.importing.reading import fields
from policysched.importing.result import findings, policy_text
from policysched.lang.syntax import syntax_expr

_INT = re.compile(r"-?[0-9]{1,18}")
_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})


class TrivialSelector(enum.Enum):
    """A selector that says nothing about labels."""

    ALL = "all"
    NONE = "none"


def label_selector(given: fields.StrictFields | None) -> syntax_expr.Selector | TrivialSelector:
    """Return a LabelSelector; none matches nothing, an empty one everything.

    Raises:
        InputError: an operator is unknown.
    """
    if given is None:
        return TrivialSelector.NONE
    found = labels(given.labels("matchLabels"))
    found += [_expression(each) for each in given.objects("matchExpressions")]
    return policy_text.join_by_and(found) if found else TrivialSelector.ALL


def labels(given: dict[str, str]) -> list[syntax_expr.Selector]:
    """Return a requirement for each label."""
    return [policy_text.requirement(key, "=", (value,)) for key, value in given.items()]


def node_term(given: fields.StrictFields) -> syntax_expr.Selector | TrivialSelector:
    """Return a NodeSelectorTerm.

    An empty one matches no node, nor does one that compares with what is no whole number.

    Raises:
        InputError: an operator or a field is unknown.
    """
    found = [_expression(each) for each in given.objects("matchExpressions")]
    for expression in given.objects("matchFields"):
        key = expression.text("key")
        if key != "metadata.name":
            raise _refused(expression, "key", f"`{key}` is no field that nodes can be matched by")
        operator = _operator(expression)
        values = _values(expression, operator)
        found.append(policy_text.field_requirement("nodeName", operator, values))
    is_met = all(map(_compares_numbers, found))
    return policy_text.join_by_and(found) if found and is_met else TrivialSelector.NONE


def _compares_numbers(requirement: syntax_expr.Requirement) -> bool:
    values = requirement.values
    is_number = len(values) == 1 and _INT.fullmatch(values[0].text) is not None
    return requirement.operator not in ("Gt", "Lt") or is_number


def _expression(given: fields.StrictFields) -> syntax_expr.Requirement:
    operator = _operator(given)
    return policy_text.requirement(given.text("key"), operator, _values(given, operator))


def _values(given: fields.StrictFields, operator: syntax_expr.Operator) -> list[str]:
    values = given.texts("values")
    if operator in ("In", "NotIn") and not values:
        raise _refused(given, "values", f"`{operator}` has no values")
    return values


def _operator(given: fields.StrictFields) -> syntax_expr.Operator:
    operator = given.text("operator")
    if operator not in _OPERATORS:
        raise _refused(given, "operator", f"`{operator}` is no operator")
    return cast("syntax_expr.Operator", operator)


def _refused(given: fields.StrictFields, key: str, problem: str) -> findings.MalformedFieldError:
    """Return the error about what no API server would take."""
    return findings.MalformedFieldError(given.locate_field(key), problem)
