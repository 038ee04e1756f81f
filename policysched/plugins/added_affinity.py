"""The affinity that a profile adds to that of all pods, checked as kube-scheduler checks it.

Sources: `apis/config/validation/validation_pluginargs.go`, ValidateNodeAffinityArgs;
apimachinery `pkg/labels/selector.go`, NewRequirement.
"""

from __future__ import annotations

from collections.abc import Iterator

from policysched.cluster import objects, selectors
from policysched.lang import kubernetes_names
from policysched.plugins import arguments

_OPERATORS = ", ".join(selectors.Operator)
_FIELD_OPERATORS = ("In", "NotIn")
_REQUIRED = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_PREFERRED = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"


class NodeAffinityArgs(arguments.ArgumentStruct, frozen=True):
    """Arguments of NodeAffinity: an affinity that holds for all pods, besides their own."""

    added_affinity: objects.NodeAffinity | None = None


def from_args(args: arguments.Arguments) -> objects.NodeAffinity | None:
    """Return the added affinity.

    Raises:
        ArgumentError: a requirement in it can never be met, or means nothing.
    """
    added = arguments.decode(args, NodeAffinityArgs).added_affinity
    for where, term in _terms(added or objects.NodeAffinity()):
        _check(where, term)
    return added


def _terms(added: objects.NodeAffinity) -> Iterator[tuple[str, objects.NodeSelectorTerm]]:
    required = added.required_during_scheduling_ignored_during_execution
    for i, term in enumerate(required.node_selector_terms if required else ()):
        yield f"{_REQUIRED}[{i}]", term
    for i, weighted in enumerate(added.preferred_during_scheduling_ignored_during_execution):
        if weighted.weight:
            yield f"{_PREFERRED}[{i}].preference", weighted.preference


def _check(where: str, term: objects.NodeSelectorTerm) -> None:
    for i, expression in enumerate(term.match_expressions):
        problem = _expression_problem(expression)
        if problem:
            msg = f"`{where}.matchExpressions[{i}]` {problem}"
            raise arguments.ArgumentError(msg)
    for i, field in enumerate(term.match_fields):
        problem = _field_problem(field)
        if problem:
            msg = f"`{where}.matchFields[{i}]` {problem}"
            raise arguments.ArgumentError(msg)


def _expression_problem(expression: objects.SelectorRequirement) -> str:
    if expression.operator not in tuple(selectors.Operator):
        return f"has the operator `{expression.operator}`, but the operators are {_OPERATORS}"
    problem = kubernetes_names.label_key(expression.key)
    if problem:
        return f"has the key `{expression.key}`, which {problem}"
    problem = selectors.values_problem(expression)
    if problem:
        return problem
    wrong = ((v, kubernetes_names.label_value(v)) for v in expression.values)
    return next((f"has the value `{v}`, which {problem}" for v, problem in wrong if problem), "")


def _field_problem(field: objects.SelectorRequirement) -> str:
    if field.operator not in _FIELD_OPERATORS:
        return f"has the operator `{field.operator}`, but fields have In and NotIn only"
    if len(field.values) != 1:
        return f"must have one value, not {len(field.values)}"
    return ""
