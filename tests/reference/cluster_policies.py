"""Cluster policies, rule by rule and cluster by cluster, read from Karmada's own objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from policysched import quantity
from policysched.karmada import objects
from policysched.lang.checked import checked, checked_expr, checked_selector
from tests.reference import policy_expressions, policy_scores, policy_selectors

Values = Mapping[str, Mapping[str, float]]
"""Key of a metric -> cluster -> value, of samples that count."""


@dataclasses.dataclass(frozen=True)
class World:
    """What is decided about.

    Attributes:
        binding: what is to be placed.
        clusters: those that are there.
        values: of metrics.
    """

    binding: objects.Binding
    clusters: Sequence[objects.Cluster]
    values: Values


# --- selectors -----------------------------------------------------------------------------------


def cluster_matches(selector: checked_selector.Selector, cluster: objects.Cluster) -> bool:
    """Return whether a cluster matches."""
    match selector:
        case checked_selector.SelectorConjunction(operands=operands):
            return all(cluster_matches(each, cluster) for each in operands)
        case checked_selector.SelectorDisjunction(operands=operands):
            return any(cluster_matches(each, cluster) for each in operands)
        case checked_selector.SelectorNegation(operand=operand):
            return not cluster_matches(operand, cluster)
        case checked_selector.LabelRequirement(key=key, operator=operator, values=values):
            actual = cluster.metadata.labels.get(key)
            return policy_selectors.pattern_holds(operator, values, actual)
        case checked_selector.TaintRequirement(pattern=pattern):
            return any(policy_selectors.taint_matches(pattern, t) for t in cluster.spec.taints)
        case checked_selector.FieldRequirement(field=field, operator=operator, values=values):
            found = {
                "clusterName": {cluster.metadata.name},
                "provider": {cluster.spec.provider},
                "region": {cluster.spec.region},
                "zone": set(cluster.spec.zones) or {""},
            }[field]
            has_one = any(policy_selectors.field_holds("In", values, each) for each in found)
            return has_one == (operator == "In")
        case _:
            raise AssertionError(selector)


def binding_matches(selector: checked_selector.Selector, binding: objects.Binding) -> bool:
    """Return whether a binding, with the resource that it places, matches."""
    meta, resource = binding.metadata, binding.spec.resource
    match selector:
        case checked_selector.SelectorConjunction(operands=operands):
            return all(binding_matches(each, binding) for each in operands)
        case checked_selector.SelectorDisjunction(operands=operands):
            return any(binding_matches(each, binding) for each in operands)
        case checked_selector.SelectorNegation(operand=operand):
            return not binding_matches(operand, binding)
        case checked_selector.LabelRequirement(key=key, operator=operator, values=values):
            return policy_selectors.pattern_holds(operator, values, meta.labels.get(key))
        case checked_selector.AnnotationRequirement(key=key, operator=operator, values=values):
            return policy_selectors.operator_holds(operator, values, meta.annotations.get(key))
        case checked_selector.FieldRequirement(field=field, operator=operator, values=values):
            actual = {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "resourceName": resource.name,
            }[field]
            return policy_selectors.field_holds(operator, values, actual)
        case checked_selector.NumberRequirement(resource=None, comparator=comparator, value=value):
            return policy_selectors.compare(comparator, priority(binding), value)
        case checked_selector.NumberRequirement(resource=name, comparator=comparator, value=value):
            return policy_selectors.compare(comparator, requested(binding, name or ""), value)
        case _:
            raise AssertionError(selector)


def priority(binding: objects.Binding) -> int:
    """Return the priority of a binding."""
    return binding.spec.schedule_priority.priority if binding.spec.schedule_priority else 0


def requested(binding: objects.Binding, resource: str) -> int:
    """Return what one replica requests."""
    asked = binding.spec.replica_requirements
    return amount(asked.resource_request, resource) if asked else 0


def is_about(policy: checked.CheckedPolicy, binding: objects.Binding) -> bool:
    """Return whether a policy is about a binding."""
    namespaces = policy.scope.namespaces
    if namespaces is not None and not policy_selectors.pattern_holds(
        "In", namespaces.names, binding.spec.resource.namespace
    ):
        return False
    return binding_matches(policy.scope.where, binding)


# --- expressions ---------------------------------------------------------------------------------


def amount(amounts: objects.ResourceList, resource: str) -> int:
    """Return an amount: milli of cpu, else whole units."""
    text = amounts.get(resource, 0)
    return (
        quantity.parse_milli_units(text) if resource == "cpu" else quantity.parse_whole_units(text)
    )


def number(expr: checked_expr.TypedExpr, world: World, cluster: objects.Cluster) -> float | None:
    """Return the value of a number, None if it is missing."""
    match expr:
        case checked_expr.Const(value=value):
            return value
        case checked_expr.MetricRef(metric=key):
            return world.values.get(key, {}).get(cluster.metadata.name)
        case checked_expr.ValueWithFallback(value=value, fallback=fallback):
            own = number(value, world, cluster)
            return number(fallback, world, cluster) if own is None else own
        case checked_expr.NodeResource(kind=kind, resource=resource):
            return float(of_summary(cluster.status.resource_summary, kind, resource))
        case checked_expr.PodRequests(resource=resource):
            return float(requested(world.binding, resource))
        case checked_expr.PodPriority():
            return float(priority(world.binding))
        case checked_expr.NodeLabelNumber(key=key):
            return policy_expressions.decimal(cluster.metadata.labels.get(key))
        case checked_expr.ArithmeticOperation(operator=operator, left=left, right=right):
            a, b = number(left, world, cluster), number(right, world, cluster)
            return policy_expressions.arithmetic(operator, a, b)
        case checked_expr.NumberFunctionCall(function=function, arguments=arguments):
            known = [number(each, world, cluster) for each in arguments]
            return policy_expressions.call(function, known)
        case _:
            raise AssertionError(expr)


def of_summary(summary: objects.ResourceSummary | None, kind: str, resource: str) -> int:
    """Return an amount of a resource summary; what is not allocatable is not counted."""
    if summary is None or resource not in summary.allocatable:
        return 0
    whole = amount(summary.allocatable, resource)
    taken = amount(summary.allocated, resource) + amount(summary.allocating, resource)
    return {"allocatable": whole, "requested": taken, "free": whole - taken}[kind]


def condition(expr: checked_expr.TypedExpr, world: World, cluster: objects.Cluster) -> bool | None:
    """Return whether a condition holds, None where that depends on what is missing."""
    match expr:
        case checked_expr.Compare(comparator=comparator, left=left, right=right):
            a, b = number(left, world, cluster), number(right, world, cluster)
            if a is None or b is None:
                return None
            return policy_selectors.compare(comparator, a, b)
        case checked_expr.NodeMatch(selector=selector):
            return cluster_matches(selector, cluster)
        case checked_expr.And(operands=operands):
            found = [condition(each, world, cluster) for each in operands]
            return False if False in found else None if None in found else True
        case checked_expr.Or(operands=operands):
            found = [condition(each, world, cluster) for each in operands]
            return True if True in found else None if None in found else False
        case checked_expr.Not(operand=operand):
            held = condition(operand, world, cluster)
            return None if held is None else not held
        case _:
            raise AssertionError(expr)


def is_out(expr: checked_expr.TypedExpr, world: World) -> bool:
    """Return whether a metric that is read has no value on any cluster, nor what stands for it."""
    match expr:
        case checked_expr.MetricRef(metric=key):
            names = {cluster.metadata.name for cluster in world.clusters}
            return not names & world.values.get(key, {}).keys()
        case checked_expr.ValueWithFallback(value=value, fallback=fallback):
            return is_out(value, world) and is_out(fallback, world)
        case _:
            return any(is_out(child, world) for child in checked_expr.list_operands(expr))


# --- rules ---------------------------------------------------------------------------------------


def reasons(policies: Sequence[checked.CheckedPolicy], world: World) -> dict[str, set[str]]:
    """Return what filters say of each cluster, by its name; no reason where it passes."""
    rules = [r for p in policies if is_about(p, world.binding) for r in p.rules]
    return {
        cluster.metadata.name: {
            reason for rule in rules if (reason := _reason(rule, world, cluster)) is not None
        }
        for cluster in world.clusters
    }


def _reason(rule: checked.Rule, world: World, cluster: objects.Cluster) -> str | None:
    if isinstance(rule, checked.RejectRule):
        present = {target.name for target in world.binding.spec.clusters}
        is_rejected = cluster.metadata.name not in present and rejects(rule, world, cluster)
        return f"cluster(s) rejected by policy {rule.head.name}" if is_rejected else None
    if isinstance(rule, checked.NodeAffinityRule) and rule.weight is None:
        matches = cluster_matches(rule.selector, cluster)
        return None if matches else f"cluster(s) didn't match policy {rule.head.name}"
    return None


def rejects(rule: checked.RejectRule, world: World, cluster: objects.Cluster) -> bool:
    """Return whether a rule rejects a cluster."""
    if is_out(rule.condition, world):
        return False
    held = condition(rule.condition, world, cluster)
    return rule.on_missing == "reject" if held is None else held


def points(
    policies: Sequence[checked.CheckedPolicy],
    world: World,
    feasible: Sequence[objects.Cluster],
) -> dict[str, dict[str, int]]:
    """Return what each rule gives each feasible cluster, in hundredths times its weight."""
    return {
        rule.head.name: {name: rule.weight * each for name, each in given.items()}
        for policy in policies
        if is_about(policy, world.binding)
        for rule in policy.rules
        if isinstance(rule, checked.ExpressionScoreRule | checked.NodeAffinityRule) and rule.weight
        for given in [_points(rule, world, feasible)]
    }


def _points(
    rule: checked.ExpressionScoreRule | checked.NodeAffinityRule,
    world: World,
    feasible: Sequence[objects.Cluster],
) -> dict[str, int]:
    if isinstance(rule, checked.NodeAffinityRule):
        return {c.metadata.name: 10_000 * cluster_matches(rule.selector, c) for c in feasible}
    names = [cluster.metadata.name for cluster in feasible]
    if is_out(rule.value, world):
        return dict.fromkeys(names, 0)
    missing = dict.fromkeys(names, 100 * (rule.missing_points or 0))
    if rule.normalization is None:
        held = {c.metadata.name: condition(rule.value, world, c) for c in feasible}
        return missing | {name: 10_000 * each for name, each in held.items() if each is not None}
    values = {c.metadata.name: number(rule.value, world, c) for c in feasible}
    known = {name: value for name, value in values.items() if value is not None}
    return missing | policy_scores.normalized(
        rule.normalization, known, prefer_low=rule.prefer == "low"
    )
