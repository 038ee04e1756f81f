"""What is known of a cluster: its nodes and pods, as the scheduler would see them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping

from policysched.cluster import objects, pod_shape, snapshot
from policysched.compiler import node_masks, scope
from policysched.lang import checked, checked_selector


@dataclasses.dataclass(frozen=True)
class ClusterFacts:
    """A cluster at one moment.

    Attributes:
        name: what to call it, usually the path of the file.
        nodes: all of them.
        pods: with their shapes; those that have ended are left out.
        snapshot: of the same nodes.
    """

    name: str
    nodes: tuple[objects.Node, ...]
    pods: tuple[tuple[objects.Pod, pod_shape.PodShape], ...]
    snapshot: snapshot.Snapshot

    @functools.cached_property
    def node_labels(self) -> Mapping[str, frozenset[str]]:
        """Label key -> its values on the nodes."""
        found: dict[str, set[str]] = {}
        for node in self.nodes:
            for key, value in node.metadata.labels.items():
                found.setdefault(key, set()).add(value)
        return {key: frozenset(values) for key, values in found.items()}

    def nodes_with(self, key: str) -> int:
        """Return how many nodes have a label."""
        return sum(key in node.metadata.labels for node in self.nodes)

    def matching(self, *selectors: checked_selector.Selector) -> int:
        """Return how many nodes match all the selectors."""
        mask = node_masks.lower(checked_selector.AllOf(selectors))
        return int((mask.mask(self.snapshot.all_rows()) & self.snapshot.is_alive).sum())

    def pods_of(self, policy: checked.CheckedPolicy) -> list[objects.Pod]:
        """Return the pods that a policy is about."""
        scoped = scope.PolicyScope(policy.scope)
        namespaces = self.snapshot.counts.namespaces
        return [pod for pod, shape in self.pods if scoped.selects(shape, namespaces)]
