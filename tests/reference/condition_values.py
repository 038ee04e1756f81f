"""Numbers and conditions of policies where the value of everything that they read is given."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from policysched.lang.checked import checked_expr
from tests.reference import policy_expressions, policy_selectors, selector_sets


@dataclasses.dataclass(frozen=True)
class Values:
    """What is read.

    Attributes:
        numbers: values of metrics, resources and requests.
        node_labels: labels of the node.
        pod_labels: labels of the pod.
    """

    numbers: Mapping[checked_expr.TypedExpr, float]
    node_labels: Mapping[str, str]
    pod_labels: Mapping[str, str]


def number(expr: checked_expr.TypedExpr, values: Values) -> float | None:
    """Return the value of a number, None where it is missing (a division by 0)."""
    match expr:
        case checked_expr.Const(value=value):
            return value
        case checked_expr.ArithmeticOperation(operator=operator, left=left, right=right):
            return policy_expressions.arithmetic(
                operator, number(left, values), number(right, values)
            )
        case checked_expr.NumberFunctionCall(function=function, arguments=arguments):
            return policy_expressions.call(function, [number(each, values) for each in arguments])
        case checked_expr.ValueWithFallback(value=own, fallback=fallback):
            found = number(own, values)
            return number(fallback, values) if found is None else found
        case _:
            return values.numbers[expr]


def holds(expr: checked_expr.TypedExpr, values: Values) -> bool | None:
    """Return whether a condition holds, None where that depends on what is missing."""
    match expr:
        case checked_expr.Compare(comparator=comparator, left=left, right=right):
            first, second = number(left, values), number(right, values)
            if first is None or second is None:
                return None
            return policy_selectors.compare(comparator, first, second)
        case checked_expr.NodeMatch(selector=selector):
            return selector_sets.matches(selector, dict(values.node_labels))
        case checked_expr.PodMatch(selector=selector):
            return selector_sets.matches(selector, dict(values.pod_labels))
        case checked_expr.And(operands=operands):
            found = [holds(each, values) for each in operands]
            return False if False in found else None if None in found else True
        case checked_expr.Or(operands=operands):
            found = [holds(each, values) for each in operands]
            return True if True in found else None if None in found else False
        case checked_expr.Not(operand=operand):
            held = holds(operand, values)
            return None if held is None else not held
        case _:
            raise AssertionError(expr)
