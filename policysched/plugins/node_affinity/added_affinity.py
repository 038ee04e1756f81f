"""Validate the affinity that a profile adds to all pods, like kube-scheduler.

Source: `apis/config/validation/validation_pluginargs.go`, ValidateNodeAffinityArgs.
"""

from __future__ import annotations

from collections.abc import Iterator

from policysched.cluster.objects import objects, selector_errors
from policysched.lang.words import kubernetes_names
from policysched.plugins import arguments

_REQUIRED = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_PREFERRED = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"


class NodeAffinityArgs(arguments.ArgumentStruct, frozen=True):
    """Arguments of NodeAffinity: an affinity that applies to all pods, besides their own."""

    added_affinity: objects.NodeAffinity | None = None


def make_added_affinity(args: arguments.Arguments) -> objects.NodeAffinity | None:
    """Return the added affinity of the arguments, or None if there is none.

    Raises:
        ArgumentError: the arguments or a requirement are invalid.
    """
    added = arguments.decode_arguments(args, NodeAffinityArgs).added_affinity
    for where, term in _list_terms_with_paths(added or objects.NodeAffinity()):
        problems = [
            *_find_label_key_problems(where, term),
            *selector_errors.find_node_term_errors(term, where),
        ]
        if problems:
            raise arguments.ArgumentError(selector_errors.aggregate_errors(problems))
    return added


def _list_terms_with_paths(
    added: objects.NodeAffinity,
) -> Iterator[tuple[str, objects.NodeSelectorTerm]]:
    required = added.required_during_scheduling_ignored_during_execution
    for i, term in enumerate(required.node_selector_terms if required else ()):
        yield f"{_REQUIRED}[{i}]", term
    for i, weighted in enumerate(added.preferred_during_scheduling_ignored_during_execution):
        if weighted.weight:
            yield f"{_PREFERRED}[{i}].preference", weighted.preference


def _find_label_key_problems(where: str, term: objects.NodeSelectorTerm) -> Iterator[str]:
    for i, expression in enumerate(term.match_expressions):
        problem = kubernetes_names.find_label_key_problem(expression.key)
        if problem:
            yield f"{where}.matchExpressions[{i}].key: `{expression.key}` {problem}"
