"""What happens in the cluster, told to the cache and the queue.

A reflector (`kube`) or the embedded cluster (`sim`) calls the sinks in watch order: `replace` with
everything after a list, `upsert` and `delete` for single changes. Each compares with what it knew
and turns the difference into precise cluster events (`pkg/scheduler/eventhandlers.go`):

- pods with a node go to the cache, pending pods of our profiles to the queue, and pods that have
  ended count as deleted;
- a pod may be deleted, or bound by somebody else, while it waits or is assumed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from policysched.cluster import cache as caches
from policysched.cluster import metric_table, objects, pod_shape
from policysched.framework import events, waiting_pods
from policysched.queue import scheduling_queue
from policysched.scheduler import object_changes

_Resource = events.EventResource
_Action = events.ActionType
POD_ADD = events.ClusterEvent(_Resource.POD, _Action.ADD)
POD_DELETE = events.ClusterEvent(_Resource.POD, _Action.DELETE)
NODE_ADD = events.ClusterEvent(_Resource.NODE, _Action.ADD)
NODE_DELETE = events.ClusterEvent(_Resource.NODE, _Action.DELETE)
NAMESPACE_ADD = events.ClusterEvent(_Resource.NAMESPACE, _Action.ADD)
NAMESPACE_UPDATE = events.ClusterEvent(_Resource.NAMESPACE, _Action.UPDATE_OTHER)
NAMESPACE_DELETE = events.ClusterEvent(_Resource.NAMESPACE, _Action.DELETE)
METRIC_UPDATE = events.ClusterEvent(_Resource.METRIC, _Action.UPDATE_OTHER)


class PodSink:
    """Pods; also the newest version of each, for `ports.PodLookup`."""

    def __init__(
        self,
        cache: caches.Cache,
        queue: scheduling_queue.SchedulingQueue,
        waiting: waiting_pods.WaitingPods,
        shapes: pod_shape.PodShapes,
        serves: Callable[[str], bool],
    ) -> None:
        """Start without pods; `serves` says whether a schedulerName is one of our profiles."""
        self._cache = cache
        self._queue = queue
        self._waiting = waiting
        self._shapes = shapes
        self._serves = serves
        self._known: dict[str, pod_shape.PodInfo] = {}
        self.is_synced = False
        """Whether the pods were listed once; scheduling before would see an empty cluster."""

    def current(self, uid: str) -> pod_shape.PodInfo | None:
        """Return the pod as last seen by the watch, None when it is gone or has ended."""
        return self._known.get(uid)

    # --- what the watch says ----------------------------------------------------------------------

    def replace(self, pods: Iterable[objects.Pod]) -> None:
        """Take in a complete list: pods that are not in it are gone."""
        listed = {_uid(pod): pod for pod in pods}
        for info in [info for uid, info in self._known.items() if uid not in listed]:
            self._remove(info)
        for pod in listed.values():
            self.upsert(pod)
        self.is_synced = True

    def upsert(self, pod: objects.Pod) -> None:
        """Take in a new or changed pod."""
        old = self._known.get(_uid(pod))
        if old is not None and _is_same_version(old.pod.metadata, pod.metadata):
            return
        if pod.is_terminal:
            if old is not None:
                self._remove(old)
            return
        new = self._shapes.info(pod)
        self._known[new.uid] = new
        if pod.spec.node_name:
            self._placed(old, new)
        elif self._serves(pod.spec.scheduler_name):
            self._waits(old, new)

    def delete(self, pod: objects.Pod) -> None:
        """Forget a pod that was deleted."""
        known = self._known.get(_uid(pod))
        if known is not None:
            self._remove(known)

    # --- pods with a node -------------------------------------------------------------------------

    def _placed(self, old: pod_shape.PodInfo | None, new: pod_shape.PodInfo) -> None:
        self._cache.update_pod(new)
        if old is not None and old.pod.spec.node_name:
            for change in object_changes.pod_changes(old, new):
                self._queue.move_all_to_active_or_backoff(change, old, new)
            return
        # Bound, by us or by another scheduler while the pod was queued or waited for Permit.
        self._queue.delete(new.uid)
        self._waiting.reject(new.uid, "", f"pod was bound to {new.pod.spec.node_name}")
        self._queue.move_all_to_active_or_backoff(POD_ADD, None, new)

    def _remove(self, info: pod_shape.PodInfo) -> None:
        del self._known[info.uid]
        self._queue.delete(info.uid)
        if self._cache.is_assumed(info):
            self._undo_assumed(info)
        elif self._cache.remove_pod(info):
            self._queue.move_all_to_active_or_backoff(POD_DELETE, info, None)
        else:
            self._release_nomination(info)

    # --- pods without a node ----------------------------------------------------------------------

    def _waits(self, old: pod_shape.PodInfo | None, new: pod_shape.PodInfo) -> None:
        if self._cache.is_assumed(new):
            if old is not None and new.is_terminating and not old.is_terminating:
                self._undo_assumed(new)
            return
        if old is None:
            self._queue.add(new)
            return
        self._queue.update(old, new, object_changes.pod_changes(old, new))
        if old.pod.status.nominated_node_name != new.pod.status.nominated_node_name:
            self._release_nomination(old)

    def _undo_assumed(self, info: pod_shape.PodInfo) -> None:
        """Free the place of a pod that is being deleted while its binding is under way.

        A pod that waits for Permit is turned away and undone by its own binding cycle; the binding
        of any other will be refused by the API server.
        """
        placed = on_node(info, self._cache.node_of(info.uid) or "")
        if not self._waiting.reject(info.uid, "", "pod is being deleted"):
            self._cache.forget_pod(info)
            self._queue.move_all_to_active_or_backoff(POD_DELETE, placed, None)

    def _release_nomination(self, old: pod_shape.PodInfo) -> None:
        """Wake the pods that had to leave room for a nominated pod: those of no higher priority."""
        if old.pod.status.nominated_node_name:
            self._queue.move_all_to_active_or_backoff(
                POD_DELETE, old, None, lambda pod: pod.shape.priority <= old.shape.priority
            )

    # --- profiles that change ---------------------------------------------------------------------

    def drop_unserved(self) -> None:
        """Take the pods that no profile serves any more out of the queue."""
        for info in self._known.values():
            if not info.pod.spec.node_name and not self._serves(info.pod.spec.scheduler_name):
                self._queue.delete(info.uid)

    def add_served(self) -> None:
        """Queue the pending pods that no profile served before."""
        for info in self._known.values():
            is_ours = self._serves(info.pod.spec.scheduler_name)
            if is_ours and not info.pod.spec.node_name and not self._cache.is_assumed(info):
                self._queue.add(info)

    def set_shapes(self, shapes: pod_shape.PodShapes) -> None:
        """Look at all pods anew, because policies read other annotations now."""
        self._shapes = shapes
        for uid, old in self._known.items():
            new = self._known[uid] = shapes.info(old.pod)
            if new.pod.spec.node_name:
                self._cache.update_pod(new)
            elif self._queue.get(uid) is not None:
                self._queue.update(old, new, ())


class NodeSink:
    """Nodes."""

    def __init__(self, cache: caches.Cache, queue: scheduling_queue.SchedulingQueue) -> None:
        """Start without nodes."""
        self._cache = cache
        self._queue = queue
        self._names: set[str] = set()
        self.is_synced = False
        """Whether the nodes were listed once."""

    def replace(self, nodes: Iterable[objects.Node]) -> None:
        """Take in a complete list: nodes that are not in it are gone."""
        listed = {node.name: node for node in nodes}
        for name in self._names - listed.keys():
            self._remove(name)
        for node in listed.values():
            self.upsert(node)
        self.is_synced = True

    def upsert(self, node: objects.Node) -> None:
        """Take in a new or changed node."""
        old = self._cache.get_node(node.name)
        if old is not None and _is_same_version(old.metadata, node.metadata):
            return
        self._names.add(node.name)
        if not self._cache.set_node(node):
            return
        if old is None:
            self._queue.move_all_to_active_or_backoff(NODE_ADD, None, node)
            return
        for change in object_changes.node_changes(old, node):
            self._queue.move_all_to_active_or_backoff(change, old, node)

    def delete(self, node: objects.Node) -> None:
        """Forget a node that was deleted."""
        if node.name in self._names:
            self._remove(node.name)

    def _remove(self, name: str) -> None:
        old = self._cache.get_node(name)
        self._names.discard(name)
        self._cache.remove_node(name)
        self._queue.move_all_to_active_or_backoff(NODE_DELETE, old, None)


class NamespaceSink:
    """Namespaces; only their labels matter."""

    def __init__(self, cache: caches.Cache, queue: scheduling_queue.SchedulingQueue) -> None:
        """Start without namespaces."""
        self._cache = cache
        self._queue = queue
        self._known: dict[str, objects.Namespace] = {}
        self.is_synced = False
        """Whether the namespaces were listed once."""

    def replace(self, namespaces: Iterable[objects.Namespace]) -> None:
        """Take in a complete list: namespaces that are not in it are gone."""
        listed = {namespace.metadata.name: namespace for namespace in namespaces}
        for gone in [known for name, known in self._known.items() if name not in listed]:
            self.delete(gone)
        for namespace in listed.values():
            self.upsert(namespace)
        self.is_synced = True

    def upsert(self, namespace: objects.Namespace) -> None:
        """Take in a new or changed namespace."""
        name = namespace.metadata.name
        old = self._known.get(name)
        self._known[name] = namespace
        if old is not None and old.metadata.labels == namespace.metadata.labels:
            return
        self._cache.set_namespace(name, namespace.metadata.labels)
        event = NAMESPACE_ADD if old is None else NAMESPACE_UPDATE
        self._queue.move_all_to_active_or_backoff(event, old, namespace)

    def delete(self, namespace: objects.Namespace) -> None:
        """Forget a namespace that was deleted."""
        old = self._known.pop(namespace.metadata.name, None)
        if old is not None:
            self._cache.set_namespace(namespace.metadata.name, None)
            self._queue.move_all_to_active_or_backoff(NAMESPACE_DELETE, old, None)


class EventHandlers:
    """All sinks of one scheduler.

    Attributes:
        pods, nodes, namespaces: to be fed by one reflector each.
    """

    def __init__(
        self,
        cache: caches.Cache,
        queue: scheduling_queue.SchedulingQueue,
        waiting: waiting_pods.WaitingPods,
        shapes: pod_shape.PodShapes,
        serves: Callable[[str], bool],
    ) -> None:
        """Feed `cache` and `queue`; see `PodSink` for the rest."""
        self._cache = cache
        self._queue = queue
        self.pods = PodSink(cache, queue, waiting, shapes, serves)
        self.nodes = NodeSink(cache, queue)
        self.namespaces = NamespaceSink(cache, queue)

    @property
    def is_synced(self) -> bool:
        """Whether everything that scheduling reads was listed once."""
        return self.pods.is_synced and self.nodes.is_synced and self.namespaces.is_synced

    def refresh_metrics(self, samples: Mapping[str, Mapping[str, metric_table.Sample]]) -> None:
        """Replace all samples of some metrics: metric → node → sample."""
        for metric, by_node in samples.items():
            self._cache.metrics.refresh(metric, by_node)
        self._queue.move_all_to_active_or_backoff(METRIC_UPDATE, None, None)


def on_node(info: pod_shape.PodInfo, node_name: str) -> pod_shape.PodInfo:
    """Return a pod as it looks once it is bound to a node; its shape stays the same."""
    spec = msgspec.structs.replace(info.pod.spec, node_name=node_name)
    return pod_shape.PodInfo(msgspec.structs.replace(info.pod, spec=spec), info.shape)


def _uid(pod: objects.Pod) -> str:
    return pod.metadata.uid or pod.key


def _is_same_version(old: objects.ObjectMeta, new: objects.ObjectMeta) -> bool:
    return bool(new.resource_version) and old.resource_version == new.resource_version
