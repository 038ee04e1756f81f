"""Selectors on pods and namespaces, lowered to functions that are asked once per shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, assert_never

from policysched.cluster.columns import label_column
from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_requests, pod_shape
from policysched.compiler import value_tests
from policysched.compiler.pods import pod_fields
from policysched.lang.checked import checked_selector, comparisons
from policysched.lang.words import glob_patterns

PodPredicate: TypeAlias = Callable[[pod_shape.PodShape], bool]
LabelsPredicate: TypeAlias = Callable[[Mapping[str, str]], bool]
NamespacePredicate: TypeAlias = Callable[[str, pod_counts.NamespaceLabels], bool]


def lower(selector: checked_selector.Selector) -> PodPredicate:
    """Return a function that says whether pods of a shape match.

    Raises:
        TypeError: a requirement that the checker does not allow on pods.
    """
    match selector:
        case checked_selector.SelectorConjunction(operands=operands):
            return _all([lower(operand) for operand in operands])
        case checked_selector.SelectorDisjunction(operands=operands):
            return _any([lower(operand) for operand in operands])
        case checked_selector.SelectorNegation(operand=operand):
            return _not(lower(operand))
        case checked_selector.LabelRequirement():
            return _label(value_tests.make_value_test(selector))
        case checked_selector.AnnotationRequirement():
            return _annotation(value_tests.make_value_test(selector))
        case checked_selector.FieldRequirement():
            return _field(selector)
        case checked_selector.NumberRequirement():
            return _number(selector)
        case (
            checked_selector.TaintRequirement()
            | checked_selector.ConditionRequirement()
            | checked_selector.VersionRequirement()
        ):
            msg = f"{selector.span}: a pod has no {type(selector).__name__}"
            raise TypeError(msg)
        case _:
            assert_never(selector)


def lower_namespaces(namespaces: checked_selector.NamespaceSet) -> NamespacePredicate:
    """Return a function that says whether a namespace, given the labels of all, is in the set."""
    is_named = _lower_names(namespaces.names)
    if namespaces.selector is None:
        return lambda name, _: is_named(name)
    if namespaces.selector == checked_selector.EVERYTHING:
        return lambda _name, _labels: True
    matches = _lower_labels(namespaces.selector)
    return lambda name, labels: is_named(name) or matches(labels.get(name, {}))


def _lower_names(names: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a function that says whether a name has one of some names or patterns."""
    if not any(map(glob_patterns.is_pattern, names)):
        return frozenset(names).__contains__
    return lambda name: glob_patterns.matches_any_pattern(names, name)


def reads_namespace_labels(namespaces: checked_selector.NamespaceSet | None) -> bool:
    """Return whether labels of namespaces decide who is in the set."""
    if namespaces is None:
        return False
    return namespaces.selector not in (None, checked_selector.EVERYTHING)


def _lower_labels(selector: checked_selector.Selector) -> LabelsPredicate:
    match selector:
        case checked_selector.SelectorConjunction(operands=operands):
            return _all([_lower_labels(operand) for operand in operands])
        case checked_selector.SelectorDisjunction(operands=operands):
            return _any([_lower_labels(operand) for operand in operands])
        case checked_selector.SelectorNegation(operand=operand):
            return _not(_lower_labels(operand))
        case checked_selector.LabelRequirement():
            required = value_tests.make_value_test(selector)
            return lambda labels: required.matches_value(labels.get(required.key))
        case _:
            msg = f"{selector.span}: a namespace has labels only"
            raise TypeError(msg)


def _all(predicates: list[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    return lambda subject: all(predicate(subject) for predicate in predicates)


def _any(predicates: list[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    return lambda subject: any(predicate(subject) for predicate in predicates)


def _not(predicate: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda subject: not predicate(subject)


def _label(required: label_column.ValueTest) -> PodPredicate:
    return lambda shape: required.matches_value(shape.labels.get(required.key))


def _annotation(required: label_column.ValueTest) -> PodPredicate:
    return lambda shape: required.matches_value(shape.annotations.get(required.key))


def _field(required: checked_selector.FieldRequirement) -> PodPredicate:
    wanted, field = required.values, required.field
    match field:
        case "nodeName" | "clusterName" | "provider" | "region" | "zone":
            msg = f"{required.span}: a pod is selected by where it runs"
            raise TypeError(msg)
        case _:
            pass
    is_image = field == "image"
    has_patterns = any(map(glob_patterns.is_pattern, wanted))

    def has_one(shape: pod_shape.PodShape) -> bool:
        values = pod_fields.values(shape, field)
        if is_image:
            return any(pod_fields.image_matches(each, value) for value in values for each in wanted)
        if has_patterns:
            return any(glob_patterns.matches_field(wanted, value) for value in values)
        return any(value in wanted for value in values)

    return has_one if required.operator == "In" else _not(has_one)


def _number(required: checked_selector.NumberRequirement) -> PodPredicate:
    compare, wanted = comparisons.SIGNS[required.comparator], required.value
    resource = required.resource
    if resource is None:
        return lambda shape: compare(shape.priority, wanted)
    if required.amount == "limits":
        return _limit(resource, compare, wanted)
    return lambda shape: compare(shape.get_requested_amount(resource), wanted)


def _limit(resource: str, compare: Callable[[Any, Any], bool], wanted: float) -> PodPredicate:
    def matches(shape: pod_shape.PodShape) -> bool:
        limit = pod_requests.get_resource_limit(shape.limits, resource)
        return limit is not None and compare(limit, wanted)

    return matches
