"""The fields of pods that policies read; pods that differ only in others share answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policysched import units
from policysched.cluster.pods import shape_projection
from policysched.lang.checked import checked, checked_expr, checked_selector, rule_parts


def annotation_keys(policies: Iterable[checked.CheckedPolicy]) -> frozenset[str]:
    """Return the keys of all annotations that policies read."""
    policies = tuple(policies)
    in_selectors = (
        requirement.key
        for policy in policies
        for selector in _pod_selectors(policy)
        for requirement in checked_selector.walk_requirements(selector)
        if isinstance(requirement, checked_selector.AnnotationRequirement)
    )
    in_values = (
        value.key
        for policy in policies
        for value in _pod_values(policy)
        if value.kind == "annotation"
    )
    return frozenset((*in_selectors, *in_values))


def projection(policies: Iterable[checked.CheckedPolicy]) -> shape_projection.PodFieldsRead:
    """Return what policies read of an incoming pod."""
    keys: set[str] = set()
    reads_workload = reads_owner_name = reads_claims = reads_devices = False
    for policy in policies:
        for selector in _pod_selectors(policy):
            for requirement in checked_selector.walk_requirements(selector):
                match requirement:
                    case checked_selector.LabelRequirement(key=key):
                        keys.add(key)
                    case checked_selector.FieldRequirement(field="owner(name)"):
                        reads_owner_name = True
                    case (
                        checked_selector.FieldRequirement(field="storageClass")
                        | checked_selector.NumberRequirement(resource=units.STORAGE)
                    ):
                        reads_claims = True
                    case _:
                        pass
        values = tuple(_pod_values(policy))
        keys.update(value.key for value in values if value.kind == "label")
        reads_owner_name |= any(value.kind == "owner(name)" for value in values)
        for rule in policy.rules:
            reads_claims |= any(map(_reads_storage, _expressions(rule)))
            reads_devices |= any(
                map(checked_expr.reads_devices, rule_parts.list_rule_expressions(rule))
            )
            for pods in rule_parts.list_pod_selections(rule):
                keys.update(pods.match_label_keys, pods.mismatch_label_keys)
                keys.update(each.key for each in pods.compared)
                reads_workload |= pods.kind == "sameWorkload"
    return shape_projection.PodFieldsRead(
        frozenset(keys), reads_workload, reads_owner_name, reads_claims, reads_devices
    )


def _reads_storage(expr: checked_expr.TypedExpr) -> bool:
    return isinstance(expr, checked_expr.PodRequests) and expr.resource == units.STORAGE


def _pod_selectors(policy: checked.CheckedPolicy) -> Iterator[checked_selector.Selector]:
    yield policy.scope.where
    for rule in policy.rules:
        for pods in rule_parts.list_pod_selections(rule):
            if pods.selector is not None:
                yield pods.selector
        for each in _expressions(rule):
            if isinstance(each, checked_expr.PodMatch):
                yield each.selector
            elif isinstance(each, checked_expr.PlacedPodCount) and each.policy is not None:
                yield each.policy.where


def _pod_values(policy: checked.CheckedPolicy) -> Iterator[checked_selector.IncomingPodValue]:
    """Yield the values of pods with which the rules compare labels."""
    for rule in policy.rules:
        for pods in rule_parts.list_pod_selections(rule):
            for label in pods.compared:
                yield from label.pod_values
        for each in _expressions(rule):
            if isinstance(each, checked_expr.NodeLabelIsPodValue):
                yield each.value


def _expressions(rule: checked.Rule) -> Iterator[checked_expr.TypedExpr]:
    for expr in rule_parts.list_rule_expressions(rule):
        yield from checked_expr.walk_expressions(expr)
