"""Converts label selectors and node selector terms of Kubernetes to selectors of the language."""

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
    """A selector without conditions: it matches all objects, or none."""

    ALL = "all"
    NONE = "none"


def convert_label_selector(
    given: fields.StrictFields | None,
) -> syntax_expr.Selector | TrivialSelector:
    """Convert a LabelSelector; a missing selector matches nothing, an empty one matches everything.

    Raises:
        InputError: an operator is unknown.
    """
    if given is None:
        return TrivialSelector.NONE
    found = convert_labels_to_requirements(given.read_labels("matchLabels"))
    found += [_convert_label_expression(each) for each in given.read_objects("matchExpressions")]
    return policy_text.join_by_and(found) if found else TrivialSelector.ALL


def convert_labels_to_requirements(given: dict[str, str]) -> list[syntax_expr.Selector]:
    """Return one requirement for each label."""
    return [policy_text.make_label_requirement(key, "=", (value,)) for key, value in given.items()]


def convert_node_term(given: fields.StrictFields) -> syntax_expr.Selector | TrivialSelector:
    """Convert a NodeSelectorTerm.

    An empty term, and a term whose Gt or Lt has no integer value, match no node.

    Raises:
        InputError: an operator or a field is unknown.
    """
    found = [_convert_label_expression(each) for each in given.read_objects("matchExpressions")]
    for expression in given.read_objects("matchFields"):
        key = expression.read_text("key")
        if key != "metadata.name":
            raise _make_refused_field_error(
                expression, "key", f"`{key}` is not a field for matching nodes"
            )
        operator = _read_requirement_operator(expression)
        values = _read_requirement_values(expression, operator)
        found.append(policy_text.make_field_requirement("nodeName", operator, values))
    is_met = all(map(_compares_numbers, found))
    return policy_text.join_by_and(found) if found and is_met else TrivialSelector.NONE


def _compares_numbers(requirement: syntax_expr.Requirement) -> bool:
    values = requirement.words
    is_number = len(values) == 1 and _INT.fullmatch(values[0].text) is not None
    return requirement.operator not in ("Gt", "Lt") or is_number


def _convert_label_expression(given: fields.StrictFields) -> syntax_expr.Requirement:
    operator = _read_requirement_operator(given)
    return policy_text.make_label_requirement(
        given.read_text("key"), operator, _read_requirement_values(given, operator)
    )


def _read_requirement_values(
    given: fields.StrictFields, operator: syntax_expr.Operator
) -> list[str]:
    values = given.read_texts("values")
    if operator in ("In", "NotIn") and not values:
        raise _make_refused_field_error(given, "values", f"`{operator}` has no values")
    return values


def _read_requirement_operator(given: fields.StrictFields) -> syntax_expr.Operator:
    operator = given.read_text("operator")
    if operator not in _OPERATORS:
        raise _make_refused_field_error(given, "operator", f"`{operator}` is not an operator")
    return cast("syntax_expr.Operator", operator)


def _make_refused_field_error(
    given: fields.StrictFields, key: str, problem: str
) -> findings.MalformedFieldError:
    """Return the error for a field that every API server would refuse."""
    return findings.MalformedFieldError(given.locate_field(key), problem)
