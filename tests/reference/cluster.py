"""A cluster as plain objects, and the obvious way to ask it things.

The functions in this package say one pod and one node at a time what the plugins say of all nodes
at once. They read objects as the API server gives them, never columns, masks or counters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from policysched.cluster.objects import objects

Labels = Mapping[str, str]


@dataclasses.dataclass
class Cluster:
    """Everything a plugin may read.

    Attributes:
        nodes: by name.
        pods: placed pods by uid, also those on nodes that do not exist.
        namespaces: labels by name.
        services: (namespace, selector) of each Service.
        replica_sets: selector by (namespace, name).
    """

    nodes: dict[str, objects.Node] = dataclasses.field(default_factory=dict)
    pods: dict[str, objects.Pod] = dataclasses.field(default_factory=dict)
    namespaces: dict[str, Labels] = dataclasses.field(default_factory=dict)
    services: list[tuple[str, Labels]] = dataclasses.field(default_factory=list)
    replica_sets: dict[tuple[str, str], objects.LabelSelector] = dataclasses.field(
        default_factory=dict
    )

    def pods_on(self, node: objects.Node) -> list[objects.Pod]:
        """Return the pods of one node."""
        return [p for p in self.pods.values() if p.spec.node_name == node.name]

    def placed(self) -> Iterator[tuple[objects.Pod, objects.Node]]:
        """Return all pods on nodes that exist, with their nodes."""
        for pod in self.pods.values():
            if pod.spec.node_name in self.nodes:
                yield pod, self.nodes[pod.spec.node_name]


def matches_selector(selector: objects.LabelSelector | None, labels: Labels) -> bool:
    """Return whether a label selector selects an object; None selects nothing."""
    if selector is None:
        return False
    pairs_match = all(labels.get(k) == v for k, v in selector.match_labels.items())
    return pairs_match and matches_expressions(selector.match_expressions, labels)


def matches_expressions(expressions: Iterable[objects.SelectorRequirement], labels: Labels) -> bool:
    """Return whether labels satisfy all requirements."""
    return all(_matches(e, labels) for e in expressions)


def _matches(expression: objects.SelectorRequirement, labels: Labels) -> bool:
    value = labels.get(expression.key)
    if expression.operator == "In":
        return value is not None and value in expression.values
    if expression.operator == "NotIn":
        return value is None or value not in expression.values
    if expression.operator == "Exists":
        return value is not None
    if expression.operator == "DoesNotExist":
        return value is None
    if value is None or not value.lstrip("+-").isdigit():
        return False
    if expression.operator == "Gt":
        return int(value) > int(expression.values[0])
    return int(value) < int(expression.values[0])
