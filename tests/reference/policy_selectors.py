"""Selectors of policies on one object at a time."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping

from policysched import quantity
from policysched.cluster.objects import objects
from policysched.lang.checked import checked_selector
from tests.reference import policy_claims, requests


def int64(text: str) -> int | None:
    """Return a decimal int64, None for anything else."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        return None
    return int(text) if -(2**63) <= int(text) < 2**63 else None


def pattern_holds(operator: str, values: tuple[str, ...], actual: str | None) -> bool:
    """Return whether a text, None if absent, satisfies an operator with patterns."""
    if operator in ("In", "NotIn"):
        wild = [value.split("*") for value in values]
        forms = [re.compile(".*".join(map(re.escape, pieces)), re.DOTALL) for pieces in wild]
        is_in = actual is not None and any(each.fullmatch(actual) for each in forms)
        return is_in is (operator == "In")
    return operator_holds(operator, values, actual)


def field_holds(operator: str, values: tuple[str, ...], actual: str) -> bool:
    """Return whether a field, "" if unset, satisfies an operator; unset is only equal to unset."""
    return (pattern_holds if actual else operator_holds)(operator, values, actual)


def operator_holds(operator: str, values: tuple[str, ...], actual: str | None) -> bool:
    """Return whether a label with the value `actual`, None if absent, satisfies an operator."""
    if operator == "Exists":
        return actual is not None
    if operator == "DoesNotExist":
        return actual is None
    if operator == "In":
        return actual in values
    if operator == "NotIn":
        return actual not in values
    left = None if actual is None else int64(actual)
    right = int64(values[0])
    if left is None or right is None:
        return False
    return left > right if operator == "Gt" else left < right


def taint_matches(pattern: checked_selector.TaintPattern, taint: objects.Taint) -> bool:
    """Return whether a taint is one of a pattern."""
    if taint.key != pattern.key or taint.effect not in pattern.effects:
        return False
    if pattern.operator == "Exists":
        return True
    if pattern.operator == "Equal":
        return taint.value == pattern.value
    return operator_holds(pattern.operator, (pattern.value,), taint.value)


def node_matches(selector: checked_selector.Selector, node: objects.Node) -> bool:
    """Return whether a node matches."""
    match selector:
        case checked_selector.SelectorConjunction(operands=operands):
            return all(node_matches(each, node) for each in operands)
        case checked_selector.SelectorDisjunction(operands=operands):
            return any(node_matches(each, node) for each in operands)
        case checked_selector.SelectorNegation(operand=operand):
            return not node_matches(operand, node)
        case checked_selector.LabelRequirement(key=key, operator=operator, values=values):
            return pattern_holds(operator, values, node.metadata.labels.get(key))
        case checked_selector.TaintRequirement(pattern=pattern):
            return any(taint_matches(pattern, taint) for taint in node.spec.taints)
        case checked_selector.FieldRequirement(operator=operator, values=values):
            return field_holds(operator, values, node.name)
        case checked_selector.AnnotationRequirement(key=key, operator=operator, values=values):
            return operator_holds(operator, values, node.metadata.annotations.get(key))
        case checked_selector.ConditionRequirement(operator=operator, values=values):
            found = {each.type: each.status for each in node.status.conditions}
            return operator_holds(operator, values, found.get(selector.condition))
        case checked_selector.VersionRequirement(comparator=comparator, bound=bound):
            return version_holds(comparator, bound.parts, node.status.node_info.kubelet_version)
        case _:
            raise AssertionError(selector)


def version_holds(comparator: str, parts: tuple[int, ...], text: str) -> bool:
    """Return whether a version compares with one of which `parts` are written.

    A pre-release is counted as a little less than its release.
    """
    number = re.match(r"v([0-9]+)\.([0-9]+)\.([0-9]+)", text)
    if number is None:
        return comparator == "!="
    own = [int(part) for part in number.groups()]
    is_early = re.match(r"-(alpha|beta|rc)\b", text[number.end() :]) is not None
    if is_early and not any(own[len(parts) :]):
        difference = -1 if own[: len(parts)] <= list(parts) else 1
    else:
        cut = own[: len(parts)]
        difference = (cut > list(parts)) - (cut < list(parts))
    return compare(comparator, difference, 0)


def labels_match(selector: checked_selector.Selector, labels: Mapping[str, str]) -> bool:
    """Return whether a namespace with these labels matches."""
    match selector:
        case checked_selector.SelectorConjunction(operands=operands):
            return all(labels_match(each, labels) for each in operands)
        case checked_selector.SelectorDisjunction(operands=operands):
            return any(labels_match(each, labels) for each in operands)
        case checked_selector.SelectorNegation(operand=operand):
            return not labels_match(operand, labels)
        case checked_selector.LabelRequirement(key=key, operator=operator, values=values):
            return pattern_holds(operator, values, labels.get(key))
        case _:
            raise AssertionError(selector)


def pod_matches(selector: checked_selector.Selector, pod: objects.Pod) -> bool:
    """Return whether a pod matches."""
    match selector:
        case checked_selector.SelectorConjunction(operands=operands):
            return all(pod_matches(each, pod) for each in operands)
        case checked_selector.SelectorDisjunction(operands=operands):
            return any(pod_matches(each, pod) for each in operands)
        case checked_selector.SelectorNegation(operand=operand):
            return not pod_matches(operand, pod)
        case checked_selector.LabelRequirement(key=key, operator=operator, values=values):
            return pattern_holds(operator, values, pod.metadata.labels.get(key))
        case checked_selector.AnnotationRequirement(key=key, operator=operator, values=values):
            return operator_holds(operator, values, pod.metadata.annotations.get(key))
        case checked_selector.FieldRequirement(field="image", operator=operator, values=values):
            containers = (*pod.spec.containers, *pod.spec.init_containers)
            found = any(image_matches(v, c.image) for v in values for c in containers)
            return found == (operator == "In")
        case checked_selector.FieldRequirement(field="storageClass"):
            classes = [claim.class_name for claim in policy_claims.list_claims(pod)]
            found = any(field_holds("In", selector.values, each) for each in classes)
            return found == (selector.operator == "In")
        case checked_selector.FieldRequirement(field=field, operator=operator, values=values):
            return field_holds(operator, values, field_value(field, pod))
        case checked_selector.NumberRequirement(comparator=comparator, value=value):
            return compare(comparator, number_of(selector, pod), value)
        case _:
            raise AssertionError(selector)


def number_of(selector: checked_selector.NumberRequirement, pod: objects.Pod) -> float:
    """Return the request or the priority that a requirement is about."""
    if selector.resource is None:
        return pod.spec.priority or 0
    if selector.resource == "storage":
        return policy_claims.requested_bytes(pod)
    return requests.requested(pod).get(selector.resource, 0)


def compare(comparator: str, left: float, right: float) -> bool:
    """Return whether a comparison holds."""
    holds = {"=": left == right, "!=": left != right, "<": left < right, ">": left > right}
    holds |= {"<=": left <= right, ">=": left >= right}
    return holds[comparator]


def image_matches(pattern: str, image: str) -> bool:
    """Return whether a pattern with `*` matches an image with or without tag and digest."""
    bare = re.sub(r"(:[^/:]*)?(@.*)?$", "", image)
    literal = re.sub(r"([\[?])", r"[\1]", pattern)
    return any(fnmatch.fnmatchcase(text, literal) for text in (image, bare))


def field_value(field: str, pod: objects.Pod) -> str:
    """Return a field that has one value, "" if unset."""
    if field in ("ownerKind", "owner(name)"):
        owners = [o for o in pod.metadata.owner_references if o.controller]
        texts = [owner.kind if field == "ownerKind" else owner.name for owner in owners]
        return texts[0] if texts else ""
    if field == "qosClass":
        return qos_class(pod)
    if field == "priorityClassName":
        return pod.spec.priority_class_name
    return pod.spec.service_account_name


def qos_class(pod: objects.Pod) -> str:
    """Return the QoS class by the definition of the Kubernetes documentation."""
    asked = [c.resources for c in (*pod.spec.containers, *pod.spec.init_containers)]
    amounts = [
        (
            quantity.parse_milli_units(r.requests.get(n, 0)),
            quantity.parse_milli_units(r.limits.get(n, 0)),
        )
        for r in asked
        for n in ("cpu", "memory")
    ]
    if all(pair == (0, 0) for pair in amounts):
        return "BestEffort"
    same = all(request == limit and limit > 0 for request, limit in amounts)
    return "Guaranteed" if same else "Burstable"
