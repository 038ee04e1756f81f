"""Expressions of policies on one node: None is missing, or unknown."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping

from policysched.cluster.objects import objects
from policysched.lang.checked import checked, checked_expr, checked_selector
from tests.reference import (
    policy_claims,
    policy_pods,
    policy_selectors,
    policy_times,
    policy_world,
    requests,
    single_node,
)

NONE = checked_selector.PolicyPodScope(None, checked_selector.SelectorDisjunction(()))


@dataclasses.dataclass(frozen=True)
class Place:
    """A pod on its way to a node."""

    pod: objects.Pod
    node: objects.Node
    world: policy_world.World
    metrics: Mapping[str, checked.CheckedMetric]
    grows: bool = True


def finite(number: float) -> float | None:
    """Return a number, None for what is not finite."""
    return number if math.isfinite(number) else None


def number(expr: checked_expr.TypedExpr, place: Place) -> float | None:
    """Return the value of a number."""
    match expr:
        case checked_expr.Const(value=value):
            return value
        case checked_expr.MetricRef():
            return metric_value(expr, place)
        case checked_expr.ValueWithFallback(value=value, fallback=fallback):
            own = number(value, place)
            return number(fallback, place) if own is None else own
        case checked_expr.NodeResource(kind=kind, resource=resource):
            return float(node_resource(kind, resource, place))
        case checked_expr.PodRequests() | checked_expr.PodLimits() | checked_expr.PodPriority():
            return pod_number(expr, place.pod)
        case checked_expr.ElapsedTime() | checked_expr.NodeLabelNumber():
            return time_or_label(expr, place)
        case checked_expr.PlacedPodCount():
            return counted(expr, place)
        case checked_expr.ArithmeticOperation(operator=operator, left=left, right=right):
            return arithmetic(operator, number(left, place), number(right, place))
        case checked_expr.NumberFunctionCall(function=function, arguments=arguments):
            return call(function, [number(each, place) for each in arguments])
        case _:
            raise AssertionError(expr)


def time_or_label(
    expr: checked_expr.ElapsedTime | checked_expr.NodeLabelNumber, place: Place
) -> float | None:
    """Return a time of the pod or the node, or a label or annotation of the node."""
    if isinstance(expr, checked_expr.NodeLabelNumber):
        of = place.node.metadata
        return decimal({"label": of.labels, "annotation": of.annotations}[expr.of].get(expr.key))
    return policy_times.measure(expr.kind, place.pod, place.node, place.world.now_seconds)


def pod_number(
    expr: checked_expr.PodRequests | checked_expr.PodLimits | checked_expr.PodPriority,
    pod: objects.Pod,
) -> float | None:
    """Return a number of the pod."""
    match expr:
        case checked_expr.PodRequests(resource="storage"):
            return float(policy_claims.requested_bytes(pod))
        case checked_expr.PodRequests(resource=resource):
            return float(requests.requested(pod).get(resource, 0))
        case checked_expr.PodLimits(resource=resource):
            limit = requests.limited(pod, resource)
            return None if limit is None else float(limit)
        case checked_expr.PodPriority():
            return float(pod.spec.priority or 0)


def counted(expr: checked_expr.PlacedPodCount, place: Place) -> float | None:
    """Return how many pods are placed on the node, or on the nodes of its domain."""
    if policy_pods.lacks_text(expr.pods, place.pod):
        return None
    nodes = [place.node]
    if expr.topology_key is not None:
        domain = place.node.metadata.labels.get(expr.topology_key)
        if domain is None:
            return None
        nodes = [
            each
            for each in place.world.nodes.values()
            if each.metadata.labels.get(expr.topology_key) == domain
        ]
    return float(
        policy_pods.Sets(place.world).count(expr.pods, expr.policy or NONE, place.pod, nodes)
    )


def metric_value(ref: checked_expr.MetricRef, place: Place) -> float | None:
    """Return the value of a metric, with what just-placed pods add."""
    metric = place.metrics[ref.metric]
    measured = place.world.valid_value(metric, place.node.name, ref.window)
    if measured is None or metric.placed is None or not place.grows:
        return measured
    return finite(measured + added(metric.placed, place))


def added(cost: checked.PlacedCost, place: Place) -> float:
    """Return what pods add to a metric of the node that were placed a short time ago."""
    total = 0.0
    for pod in place.world.pods_on(place.node):
        if place.world.placed_at_seconds[pod.metadata.uid] + cost.seconds > place.world.now_seconds:
            own = number(cost.value, dataclasses.replace(place, pod=pod))
            total += max(own or 0.0, 0.0)
    return total


def is_out(expr: checked_expr.TypedExpr, place: Place) -> bool:
    """Return whether an expression reads a metric without any valid sample, or a fallback does."""
    match expr:
        case checked_expr.MetricRef(metric=key, window=window):
            return place.world.is_out(place.metrics[key], window)
        case checked_expr.ValueWithFallback(value=value, fallback=fallback):
            return is_out(value, place) and is_out(fallback, place)
        case _:
            return any(is_out(child, place) for child in checked_expr.list_operands(expr))


def node_resource(kind: str, resource: str, place: Place) -> int:
    """Return an amount of the node."""
    allocatable = single_node.allocatable(place.node, resource)
    if resource == "pods":
        requested = len(place.world.pods_on(place.node))
    elif resource in place.world.resources:
        requested = single_node.used(place.node, resource, place.world)
    else:
        requested = 0
    return {"allocatable": allocatable, "requested": requested, "free": allocatable - requested}[
        kind
    ]


def decimal(text: str | None) -> float | None:
    """Return the decimal number that a label spells."""
    if text is None or not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text):
        return None
    return finite(float(text))


def arithmetic(operator: str, left: float | None, right: float | None) -> float | None:
    """Return the result, None for a missing operand, division by zero and overflow."""
    if left is None or right is None:
        return None
    if operator == "+":
        return finite(left + right)
    if operator == "-":
        return finite(left - right)
    if operator == "*":
        return finite(left * right)
    return None if right == 0 else finite(left / right)


def call(function: str, arguments: list[float | None]) -> float | None:
    """Return the value of a function, None for a missing argument."""
    known = [each for each in arguments if each is not None]
    if len(known) < len(arguments):
        return None
    if function in ("min", "max"):
        return min(known) if function == "min" else max(known)
    if function == "mod":
        left, right = known
        return None if right == 0 else left % right
    (only,) = known
    if function == "abs":
        return abs(only)
    return float(math.floor(only) if function == "floor" else math.ceil(only))


def pod_text(value: checked_selector.IncomingPodValue, place: Place) -> str | None:
    """Return a text of the pod or of its namespace, None where it has none."""
    if value.kind == "namespaceLabel":
        labels = place.world.namespaces.get(place.pod.metadata.namespace, {})
        return labels.get(value.key)
    return policy_pods.own_text(value, place.pod)


def condition(expr: checked_expr.TypedExpr, place: Place) -> bool | None:
    """Return whether a condition holds, None where that depends on what is missing."""
    match expr:
        case checked_expr.And(operands=operands):
            found = [condition(each, place) for each in operands]
            if False in found:
                return False
            return None if None in found else True
        case checked_expr.Or(operands=operands):
            found = [condition(each, place) for each in operands]
            if True in found:
                return True
            return None if None in found else False
        case checked_expr.Not(operand=operand):
            held = condition(operand, place)
            return None if held is None else not held
        case _:
            return simple_condition(expr, place)


def simple_condition(expr: checked_expr.TypedExpr, place: Place) -> bool | None:
    """Return whether a condition without parts holds."""
    match expr:
        case checked_expr.Compare(comparator=comparator, left=left, right=right):
            a, b = number(left, place), number(right, place)
            if a is None or b is None:
                return None
            return policy_selectors.compare(comparator, a, b)
        case checked_expr.NodeMatch(selector=selector):
            return policy_selectors.node_matches(selector, place.node)
        case checked_expr.PodMatch(selector=selector):
            return policy_selectors.pod_matches(selector, place.pod)
        case checked_expr.NodeLabelIsPodValue(key=key, value=value):
            wanted = pod_text(value, place)
            return None if wanted is None else place.node.metadata.labels.get(key) == wanted
        case _:
            raise AssertionError(expr)
