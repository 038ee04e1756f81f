"""The evidence of a condition on a node, in words: `free(cpu) 1.5 < 2`.

Asked for people alone. Metrics are told of by `evidence`; this is about everything else.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

from policysched import amounts, units
from policysched.cluster import snapshot
from policysched.cluster.objects import fields_as_labels, node_texts, objects
from policysched.cluster.pods import pod_shape
from policysched.compiler import evidence, lowering, time_evidence
from policysched.compiler.nodes import node_masks
from policysched.compiler.pods import pod_evidence, pod_values
from policysched.framework import cycle_state
from policysched.lang.checked import checked_expr, checked_selector, comparisons
from policysched.plugins.shared import node_rejection_texts


class _OneNode(NamedTuple):
    """A view of one node, and the pod whose condition is explained."""

    node: snapshot.NodeView
    pod: pod_shape.PodInfo
    state: cycle_state.CycleState

    @property
    def shape(self) -> pod_shape.PodShape:
        """The shape of the pod."""
        return self.pod.shape


class ConditionEvidence:
    """Formats the values of nodes and of the pod that a condition compared."""

    def __init__(self, condition: checked_expr.TypedExpr, lower: lowering.Lowering) -> None:
        """Take `condition`; its parts are lowered on demand."""
        self._condition = condition
        self._metric_name = lower.metric_name
        self._lower = functools.cache(lower.lower)

    def on_node(
        self, node: snapshot.NodeView, pod: pod_shape.PodInfo, state: cycle_state.CycleState
    ) -> list[str]:
        """Return the parts that make the condition true or unknown on the only node of a view."""
        one = _OneNode(node, pod, state)
        return list(dict.fromkeys(self._parts(self._condition, True, one)))

    def _parts(
        self,
        expr: checked_expr.TypedExpr,
        wanted: bool,  # noqa: FBT001 - a truth value, not a switch
        one: _OneNode,
    ) -> Iterator[str]:
        """Yield the parts that make an expression `wanted`, or unknown."""
        match expr:
            case checked_expr.And(operands=operands) | checked_expr.Or(operands=operands):
                for operand in operands:
                    if self._evaluate(operand, one) != (not wanted):
                        yield from self._parts(operand, wanted, one)
            case checked_expr.Not(operand=operand):
                yield from self._parts(operand, not wanted, one)
            case checked_expr.Compare() if not evidence.is_bound_of_metric(expr):
                elapsed = time_evidence.describe_comparison(expr, one.pod, one.node)
                yield self._comparison(expr, one) if elapsed is None else elapsed
            case checked_expr.NodeMatch(selector=selector):
                yield from selector_parts(selector, wanted=wanted, node=one.node)
            case checked_expr.NodeLabelIsPodValue():
                yield from _compared_label(expr, one)
            case checked_expr.PodMatch(selector=selector):
                yield from pod_evidence.selector_parts(selector, wanted=wanted, shape=one.shape)
            case _:
                return

    def _evaluate(self, expr: checked_expr.TypedExpr, one: _OneNode) -> float:
        """Return a number, or 1 or 0 for a condition; NaN if it is missing or unknown."""
        return self._lower(expr).evaluate(one.node, one.shape, one.state).item(0)

    def _comparison(self, compare: checked_expr.Compare, one: _OneNode) -> str:
        comparator = compare.comparator
        if self._evaluate(compare, one) == 0:
            comparator = comparisons.NEGATED[comparator]
        left, right = compare.left, compare.right
        if isinstance(left, checked_expr.Const):
            left, right, comparator = right, left, comparisons.MIRRORED[comparator]
        leaves = dict.fromkeys((*self._leaves(left, one), *self._leaves(right, one)))
        text = f"{self._side(left, one)} {comparator} {self._side(right, one)}"
        return f"{text} ({', '.join(leaves)})" if leaves else text

    def _side(self, expr: checked_expr.TypedExpr, one: _OneNode) -> str:
        """Return an expression with its value; an `=` separates them if both may be numbers."""
        value = self._value(expr, one)
        if isinstance(expr, checked_expr.Const):
            return value
        text = self._written(expr)
        return f"{text} = {value}" if _is_compound(expr, text) else f"{text} {value}"

    def _leaves(self, expr: checked_expr.TypedExpr, one: _OneNode) -> Iterator[str]:
        """Yield the values that an expression of several parts is made of."""
        for each in checked_expr.walk_expressions(expr):
            is_leaf = not checked_expr.list_operands(each) and not isinstance(
                each, checked_expr.Const
            )
            if is_leaf and each is not expr:
                yield self._side(each, one)

    def _value(self, expr: checked_expr.TypedExpr, one: _OneNode) -> str:
        value = self._evaluate(expr, one)
        if math.isnan(value):
            return "missing"
        unit = expr.unit or units.NUMBER
        is_scaled = unit == units.CORES and not isinstance(expr, checked_expr.MetricRef)
        return amounts.format_policy_amount(value / units.CORES_SCALE if is_scaled else value, unit)

    def _written(self, expr: checked_expr.TypedExpr) -> str:
        """Return a number as a policy has it."""
        match expr:
            case checked_expr.ArithmeticOperation() if evidence.metric_alone(expr) is not None:
                return self._written(expr.left)
            case checked_expr.ArithmeticOperation(operator=operator, left=left, right=right):
                return f"{self._operand(left)} {operator} {self._operand(right)}"
            case checked_expr.NumberFunctionCall(function=function, arguments=operands):
                return f"{function}({', '.join(map(self._written, operands))})"
            case checked_expr.ValueWithFallback(value=value, fallback=fallback):
                return f"{self._operand(value)} else {self._operand(fallback)}"
            case checked_expr.MetricRef():
                return self._metric_name(expr)
            case _:
                return _written_leaf(expr)

    def _operand(self, expr: checked_expr.TypedExpr) -> str:
        text = self._written(expr)
        return f"({text})" if _is_compound(expr, text) else text


def _is_compound(expr: checked_expr.TypedExpr, text: str) -> bool:
    """Return whether an expression that is written as `text` has several parts."""
    return (
        isinstance(expr, checked_expr.ArithmeticOperation | checked_expr.ValueWithFallback)
        and " " in text
    )


def selector_parts(
    selector: checked_selector.Selector, *, wanted: bool, node: snapshot.NodeView
) -> Iterator[str]:
    """Yield the facts of the only node of a view that decide whether a selector matches."""
    if bool(node_masks.lower(selector).mask(node)[0]) is not wanted:
        return
    match selector:
        case (
            checked_selector.SelectorConjunction(operands=operands)
            | checked_selector.SelectorDisjunction(operands=operands)
        ):
            for operand in operands:
                yield from selector_parts(operand, wanted=wanted, node=node)
        case checked_selector.SelectorNegation(operand=operand):
            yield from selector_parts(operand, wanted=not wanted, node=node)
        case _:
            yield from _fact(selector, node_rejection_texts.get_only_node(node))


def _fact(selector: checked_selector.Selector, node: objects.Node) -> Iterator[str]:
    match selector:
        case checked_selector.LabelRequirement(key=key):
            yield node_rejection_texts.format_node_label(node, key)
        case checked_selector.TaintRequirement(pattern=pattern):
            having = [t for t in node.spec.taints if t.key == pattern.key]
            yield ", ".join(map(str, having)) or f"no taint {pattern.key}"
        case checked_selector.FieldRequirement(field=field):
            values = _list_field_values(field, node)
            yield f"{field} is {', '.join(values)}" if values else f"no {field}"
        case checked_selector.AnnotationRequirement(key=key):
            value = node.metadata.annotations.get(key)
            yield f"no annotation {key}" if value is None else f"annotation {key}={value}"
        case checked_selector.ConditionRequirement(condition=condition):
            status = node_texts.read_condition_status(node, condition)
            yield (
                f"no condition {condition}" if status is None else f"condition {condition}={status}"
            )
        case checked_selector.VersionRequirement():
            yield f"kubelet version {node.status.node_info.kubelet_version or 'unknown'}"
        case _:
            return


def _list_field_values(field: str, node: objects.Node) -> list[str]:
    """Return the values of a field of the node, or of a cluster that is represented as a node."""
    match field:
        case "provider" | "region":
            values = {node.metadata.labels.get(fields_as_labels.make_field_label_key(field), "")}
        case "zone":
            values = set(fields_as_labels.list_field_values(field, node.metadata.labels))
        case _:
            values = {node.name}
    return sorted(values - {""})


def _compared_label(expr: checked_expr.NodeLabelIsPodValue, one: _OneNode) -> Iterator[str]:
    """Yield the label of the node and the value of the pod that were compared."""
    node = node_rejection_texts.get_only_node(one.node)
    yield node_rejection_texts.format_node_label(node, expr.key)
    yield pod_values.format_pod_value(expr.value, one.shape, one.node.snapshot)


def _written_leaf(expr: checked_expr.TypedExpr) -> str:
    match expr:
        case checked_expr.Const(value=value, unit=unit):
            scale = units.CORES_SCALE if unit == units.CORES else 1.0
            return amounts.format_policy_amount(value / scale, unit)
        case (
            checked_expr.NodeResource(kind=kind, resource=name)
            | checked_expr.DeviceNumber(kind=kind, name=name)
        ):
            return f"{kind}({_quoted(name)})"
        case checked_expr.PodRequests(resource=resource):
            return f"requests({_quoted(resource)})"
        case checked_expr.PodLimits(resource=resource):
            return f"limits({_quoted(resource)})"
        case checked_expr.NodeLabelNumber(key=key):
            return f"{expr.of}({_quoted(key)})"
        case checked_expr.PodPriority():
            return "priority"
        case checked_expr.PlacedPodCount():
            return expr.text
        case _:
            msg = f"{expr.span}: a condition where a number belongs"
            raise TypeError(msg)


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'
