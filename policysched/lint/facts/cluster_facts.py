"""Facts about a cluster: its nodes and pods in the form that the scheduler uses."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.compiler.nodes import node_masks
from policysched.compiler.pods import pod_predicates, scope
from policysched.lang.checked import checked, checked_selector
from policysched.lint.facts import device_facts


@dataclasses.dataclass(frozen=True)
class ClusterFacts:
    """The state of a cluster at a point in time.

    Attributes:
        name: the name in messages, usually the path of the cluster file.
        nodes: all nodes.
        pods: the pods that have not terminated, with their shapes.
        snapshot: the scheduler's snapshot of the same nodes.
        members: the clusters of a Karmada control plane as nodes, with its bindings as pods; None
            without member clusters.
        scheduler_names: the schedulerNames of the pods that the profiles schedule; None for all.
    """

    name: str
    nodes: tuple[objects.Node, ...]
    pods: tuple[tuple[objects.Pod, pod_shape.PodShape], ...]
    snapshot: snapshot.Snapshot
    members: ClusterFacts | None = None
    scheduler_names: frozenset[str | None] | None = None

    def restrict_to_profiles(self, program: checked.CheckedProgram) -> ClusterFacts:
        """Return these facts, in which policies select only pods that the profiles schedule."""
        if program.decides_all_pods:
            return self
        names = frozenset(each.name for each in program.profiles)
        return dataclasses.replace(self, scheduler_names=names)

    @functools.cached_property
    def node_labels(self) -> Mapping[str, frozenset[str]]:
        """Map each label key to its values on the nodes."""
        found: dict[str, set[str]] = {}
        for node in self.nodes:
            for key, value in node.metadata.labels.items():
                found.setdefault(key, set()).add(value)
        return {key: frozenset(values) for key, values in found.items()}

    @functools.cached_property
    def node_annotations(self) -> frozenset[str]:
        """The keys of the annotations of nodes."""
        return frozenset(key for node in self.nodes for key in node.metadata.annotations)

    @functools.cached_property
    def node_conditions(self) -> frozenset[str]:
        """The types of the conditions of nodes."""
        return frozenset(each.type for node in self.nodes for each in node.status.conditions)

    @functools.cached_property
    def devices(self) -> device_facts.DeviceFacts:
        """The names of device classes, and of attributes and capacities of devices."""
        return device_facts.collect_device_facts(self.snapshot.devices)

    def count_nodes_with_label(self, key: str) -> int:
        """Return the number of nodes that have a label."""
        return sum(key in node.metadata.labels for node in self.nodes)

    def count_matching_nodes(self, *selectors: checked_selector.Selector) -> int:
        """Return the number of nodes that match all the selectors."""
        return len(self.find_matching_nodes(*selectors))

    def find_matching_nodes(
        self, *selectors: checked_selector.Selector
    ) -> tuple[objects.Node, ...]:
        """Return the nodes that match all the selectors."""
        mask = self.snapshot.is_alive
        for selector in selectors:
            mask = mask & self._find_selector_mask(selector)
        found = itertools.compress(self._row_nodes, mask)
        return tuple(node for node in found if node is not None)

    def _find_selector_mask(self, selector: checked_selector.Selector) -> columns.BoolArray:
        known = self._cached_masks.get(selector)
        if known is None:
            rows = self.snapshot.view_all_rows()
            known = self._cached_masks[selector] = node_masks.lower(selector).mask(rows)
        return known

    @functools.cached_property
    def _cached_masks(self) -> dict[checked_selector.Selector, columns.BoolArray]:
        return {}

    @functools.cached_property
    def _row_nodes(self) -> list[objects.Node | None]:
        return self.snapshot.view_all_rows().objects()

    def list_pods_of_policy(self, policy: checked.CheckedPolicy) -> list[objects.Pod]:
        """Return the pods in the scope of a policy."""
        return [
            pod
            for shape in self.list_pod_shapes_of_policy(policy)
            for pod in self.scheduled_pods_by_shape[shape]
        ]

    def list_pod_shapes_of_policy(self, policy: checked.CheckedPolicy) -> list[pod_shape.PodShape]:
        """Return the shapes of the pods in the scope of a policy.

        Pods that are equal for scheduling share a shape.
        """
        known = self._shapes_by_scope.get(policy.scope)
        if known is None:
            scoped = scope.PolicyScope(policy.scope)
            namespaces = self.snapshot.counts.namespaces
            known = [
                shape for shape in self.scheduled_pods_by_shape if scoped.selects(shape, namespaces)
            ]
            self._shapes_by_scope[policy.scope] = known
        return known

    def find_pods_in_selection(
        self, pods: checked_selector.PodSelection, policy: checked.CheckedPolicy, namespace: str
    ) -> list[objects.Pod]:
        """Return the pods that an affinity or spread rule counts for a pod of `namespace`.

        Label keys that must equal those of the pod (`matchLabelKeys`) are ignored, so the result
        may contain pods that the rule does not count.
        """
        where = policy.scope.where if pods.selector is None else pods.selector
        matches = pod_predicates.lower(where)
        known = self.snapshot.counts.namespaces
        is_in = (
            (lambda name, _: name == namespace)
            if pods.namespaces is None
            else pod_predicates.lower_namespaces(pods.namespaces)
        )
        return [
            pod
            for shape, each in self.pods_by_shape.items()
            if is_in(shape.namespace, known) and matches(shape)
            for pod in each
        ]

    @functools.cached_property
    def pods_by_shape(self) -> Mapping[pod_shape.PodShape, list[objects.Pod]]:
        """The pods, grouped by shape."""
        found: dict[pod_shape.PodShape, list[objects.Pod]] = {}
        for pod, shape in self.pods:
            found.setdefault(shape, []).append(pod)
        return found

    @functools.cached_property
    def scheduled_pods_by_shape(self) -> Mapping[pod_shape.PodShape, list[objects.Pod]]:
        """The pods that the profiles schedule, grouped by shape."""
        names = self.scheduler_names
        if names is None:
            return self.pods_by_shape
        ours = {
            shape: [pod for pod in pods if pod.spec.scheduler_name in names]
            for shape, pods in self.pods_by_shape.items()
        }
        return {shape: pods for shape, pods in ours.items() if pods}

    @functools.cached_property
    def _shapes_by_scope(self) -> dict[checked_selector.PolicyPodScope, list[pod_shape.PodShape]]:
        return {}
