"""Pass changes in the cluster to the cache and the queue.

A reflector (`kube`) or the simulated cluster (`sim`) calls the sinks in watch order: `replace` with
all objects after a list, `upsert` and `delete` for single changes. Each sink compares an object
with its previous version and derives specific cluster events (`pkg/scheduler/eventhandlers.go`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from policysched.cluster import cache as caches
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.cluster.objects import objects
from policysched.cluster.pods import owner_objects, owner_selectors, pod_shape
from policysched.framework import waiting_pods
from policysched.queue import scheduling_queue
from policysched.scheduler import (
    device_sinks,
    node_ages,
    object_changes,
    pod_sink,
    storage_sinks,
)


class NodeSink:
    """Processes changes to nodes."""

    def __init__(
        self,
        cache: caches.Cache,
        queue: scheduling_queue.SchedulingQueue,
        ages: node_ages.NodeAgeTimers,
    ) -> None:
        """Start without nodes."""
        self._cache = cache
        self._queue = queue
        self._ages = ages
        self._names: set[str] = set()

    def replace(self, nodes: Iterable[objects.Node]) -> None:
        """Apply a complete list; nodes that are not in it are removed."""
        listed = {node.name: node for node in nodes}
        for name in self._names - listed.keys():
            self._remove_node(name)
        for node in listed.values():
            self.upsert(node)

    def upsert(self, node: objects.Node) -> None:
        """Apply a new or changed node."""
        old = self._cache.get_node(node.name)
        if old is not None and object_changes.is_same_version(old.metadata, node.metadata):
            return
        self._names.add(node.name)
        if not self._cache.set_node(node):
            return
        if old is None or old.metadata.creation_timestamp != node.metadata.creation_timestamp:
            self._ages.add_node(node)
        if old is None:
            self._queue.move_all_to_active_or_backoff(object_changes.NODE_ADD, None, node)
            return
        for change in object_changes.list_node_events(old, node):
            self._queue.move_all_to_active_or_backoff(change, old, node)

    def delete(self, node: objects.Node) -> None:
        """Remove a deleted node."""
        if node.name in self._names:
            self._remove_node(node.name)

    def _remove_node(self, name: str) -> None:
        old = self._cache.get_node(name)
        self._names.discard(name)
        self._cache.remove_node(name)
        self._queue.move_all_to_active_or_backoff(object_changes.NODE_DELETE, old, None)


class NamespaceSink:
    """Processes changes to namespace labels."""

    def __init__(self, cache: caches.Cache, queue: scheduling_queue.SchedulingQueue) -> None:
        """Start without namespaces."""
        self._cache = cache
        self._queue = queue
        self._known: dict[str, objects.Namespace] = {}

    def replace(self, namespaces: Iterable[objects.Namespace]) -> None:
        """Apply a complete list; namespaces that are not in it are removed."""
        listed = {namespace.metadata.name: namespace for namespace in namespaces}
        for gone in [known for name, known in self._known.items() if name not in listed]:
            self.delete(gone)
        for namespace in listed.values():
            self.upsert(namespace)

    def upsert(self, namespace: objects.Namespace) -> None:
        """Apply a new or changed namespace."""
        name = namespace.metadata.name
        old = self._known.get(name)
        self._known[name] = namespace
        if old is not None and old.metadata.labels == namespace.metadata.labels:
            return
        self._cache.set_namespace(name, namespace.metadata.labels)
        event = object_changes.NAMESPACE_ADD if old is None else object_changes.NAMESPACE_UPDATE
        self._queue.move_all_to_active_or_backoff(event, old, namespace)

    def delete(self, namespace: objects.Namespace) -> None:
        """Remove a deleted namespace."""
        old = self._known.pop(namespace.metadata.name, None)
        if old is not None:
            self._cache.set_namespace(namespace.metadata.name, None)
            self._queue.move_all_to_active_or_backoff(object_changes.NAMESPACE_DELETE, old, None)


Owner: TypeAlias = owner_objects.Service | owner_objects.Workload


class OwnerSink:
    """Processes changes to the pod selectors of services, or of controllers of one kind.

    These changes wake no pods: they affect only default constraints of Score plugins.
    """

    def __init__(self, cache: caches.Cache, kind: owner_selectors.OwnerKind) -> None:
        """Start without objects."""
        self._cache = cache
        self._kind = kind
        self._known: set[tuple[str, str]] = set()

    def replace(self, owners: Iterable[Owner]) -> None:
        """Apply a complete list; objects that are not in it are removed."""
        listed = {(owner.metadata.namespace, owner.metadata.name): owner for owner in owners}
        for namespace, name in self._known - listed.keys():
            self._forget_selector(namespace, name)
        for owner in listed.values():
            self.upsert(owner)

    def upsert(self, owner: Owner) -> None:
        """Apply a new or changed object."""
        namespace, name = owner.metadata.namespace, owner.metadata.name
        self._known.add((namespace, name))
        self._cache.owners.set_selector(self._kind, namespace, name, owner.selector)

    def delete(self, owner: Owner) -> None:
        """Remove a deleted object."""
        self._forget_selector(owner.metadata.namespace, owner.metadata.name)

    def _forget_selector(self, namespace: str, name: str) -> None:
        self._known.discard((namespace, name))
        self._cache.owners.set_selector(self._kind, namespace, name, None)


class ClusterEventHandlers:
    """The sinks of one scheduler, one for each kind of object.

    Attributes:
        pods, nodes, namespaces: each fed by its own reflector.
        owners: sinks of services and controllers, keyed by kind. If they are not fed, default
            spread constraints have no effect.
        storage: sinks of storage objects, keyed by type.
        budgets: sink of PodDisruptionBudgets.
        devices: sinks of claims, slices and classes of devices.
    """

    def __init__(
        self,
        cache: caches.Cache,
        queue: scheduling_queue.SchedulingQueue,
        waiting: waiting_pods.WaitingPods,
        shapes: pod_shape.PodShapeCache,
        serves: Callable[[str], bool],
        ages: node_ages.NodeAgeTimers,
    ) -> None:
        """Feed `cache`, `queue` and `ages`; `pod_sink.PodSink` documents the other arguments."""
        self._cache = cache
        self._queue = queue
        self.pods = pod_sink.PodSink(cache, queue, waiting, shapes, serves)
        self.nodes = NodeSink(cache, queue, ages)
        self.namespaces = NamespaceSink(cache, queue)
        self.owners = {kind: OwnerSink(cache, kind) for kind in owner_selectors.OwnerKind}
        self.storage = storage_sinks.make_storage_sinks(
            cache.storage, queue, self.pods.apply_changed_claim
        )
        self.budgets = storage_sinks.BudgetSink(cache.budgets)
        self.devices = device_sinks.make_device_sinks(cache.devices, queue)

    def refresh_metrics(self, samples: Mapping[str, Mapping[str, metric_table.Sample]]) -> None:
        """Replace all samples of the given metrics (metric → node → sample) and retry pods."""
        for metric, by_node in samples.items():
            self._cache.metrics.refresh(metric, by_node)
        self._queue.move_all_to_active_or_backoff(object_changes.METRIC_UPDATE, None, None)

    def backfill_metrics(self, history: Mapping[str, metric_windows.OlderSamples]) -> None:
        """Add older samples of the given metrics for windows, and retry pods."""
        for metric, older in history.items():
            self._cache.metrics.backfill(metric, older)
        self._queue.move_all_to_active_or_backoff(object_changes.METRIC_UPDATE, None, None)

    def expire_samples(self) -> None:
        """Expire samples and recent placements by the clock, and retry pods that this can help."""
        self._cache.expire_samples()
        self._queue.move_all_to_active_or_backoff(object_changes.METRIC_UPDATE, None, None)
