"""Handle watch events: update the store, and queue the bindings that need another attempt.

Source: Karmada v1.18.2 `pkg/scheduler/event_handler.go`. A change to a cluster can concern all
bindings. Therefore the handler only records it, and each call of `process_oldest_cluster_change`
checks the bindings for one change.
"""

from __future__ import annotations

import collections
import logging
from typing import TYPE_CHECKING, Final

import msgspec

from policysched.karmada.scheduler import triggers
from policysched.karmada.state import object_validation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from policysched.karmada import objects
    from policysched.karmada.scheduler import work_queue
    from policysched.karmada.state import store

_log = logging.getLogger(__name__)

ADD: Final = "BindingAdd"
UPDATE: Final = "BindingUpdate"
CLUSTER_CHANGED: Final = "ClusterChanged"
SAMPLES_CHANGED: Final = "MetricsRefreshed"
POLICIES_CHANGED: Final = "PoliciesLoaded"
FAILURE: Final = "ScheduleAttemptFailure"


class BindingEventHandlers:
    """Receives the events of the control plane.

    Attributes:
        store: the known objects.
        queue: keys of the bindings to check.
        clusters, bindings, cluster_bindings: sinks of the watches.
        incoming: number of queued bindings, keyed by the cause.
    """

    def __init__(
        self,
        known: store.ControlPlaneStore,
        queue: work_queue.WorkQueue,
        scheduler_name: str,
        *,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """Queue only bindings of the scheduler `scheduler_name`.

        `on_change` is called when `process_oldest_cluster_change` has a new change to process.
        """
        self.store = known
        self.queue = queue
        self._scheduler_name = scheduler_name
        self._on_change = on_change
        self._changed: collections.deque[tuple[objects.Cluster, ...]] = collections.deque()
        self.incoming: collections.Counter[str] = collections.Counter()
        self._is_standing_by = False
        self.clusters = _ClusterSink(self, known)
        self.bindings = _BindingSink(self, known, "ResourceBinding")
        self.cluster_bindings = _BindingSink(self, known, "ClusterResourceBinding")

    def stop_queueing(self) -> None:
        """Queue nothing until `requeue_all_bindings`; events until then update only the store."""
        self._is_standing_by = True
        self._changed.clear()
        self.queue.clear()

    def requeue_all_bindings(self) -> None:
        """Queue all bindings of this scheduler, and later each binding that has an event."""
        self._is_standing_by = False
        self._changed.clear()
        self.queue.clear()
        for key, binding in self.store.bindings.items():
            if self.is_for_this_scheduler(binding):
                self.queue_binding(key, ADD)

    def queue_binding(self, key: str, event: str) -> None:
        """Queue a binding, unless the process is on standby."""
        if not self._is_standing_by:
            self.incoming[event] += 1
            self.queue.add(key)

    def is_for_this_scheduler(self, binding: objects.Binding) -> bool:
        """Return whether this scheduler is responsible for the binding."""
        return triggers.is_handled_by_scheduler(binding, self._scheduler_name)

    def note_changed_cluster(self, *cluster: objects.Cluster) -> None:
        """Record the states of a changed cluster; the bindings that it affects are queued later."""
        if not self._is_standing_by:
            self._changed.append(cluster)
            self._on_change()

    def process_oldest_cluster_change(self) -> bool:
        """Queue the bindings affected by the oldest cluster change; return whether one existed."""
        if not self._changed:
            return False
        states = self._changed.popleft()
        for key, binding in self.store.bindings.items():
            if key not in self.queue and any(
                triggers.is_affected_by_cluster(state, binding, self._scheduler_name)
                for state in states
            ):
                self.queue_binding(key, CLUSTER_CHANGED)
        return True


class _ClusterSink:
    """Ignores invalid states of clusters, because they would move workloads off the clusters."""

    def __init__(self, handlers: BindingEventHandlers, known: store.ControlPlaneStore) -> None:
        self._handlers = handlers
        self._store = known

    def replace(self, clusters: Sequence[objects.Cluster]) -> None:
        names = {cluster.metadata.name for cluster in clusters}
        for name in self._store.clusters.keys() - names:
            self._store.drop_cluster(name)
        for cluster in clusters:
            self.upsert(cluster)

    def upsert(self, cluster: objects.Cluster) -> None:
        name = cluster.metadata.name
        problem = object_validation.find_object_problem(cluster)
        if problem:
            _log.error("cluster %s is invalid: %s", name, problem)
            return
        old = self._store.clusters.get(name)
        self._store.put_cluster(cluster)
        if old is None or not triggers.is_relevant_cluster_change(old, cluster):
            return
        if old.metadata.deletion_timestamp is None and cluster.metadata.deletion_timestamp:
            self._handlers.note_changed_cluster(cluster)
        else:
            self._handlers.note_changed_cluster(old, cluster)

    def delete(self, cluster: objects.Cluster) -> None:
        self._store.drop_cluster(cluster.metadata.name)


class _BindingSink:
    """Compares each watched state with the previous watched state, not with the store."""

    def __init__(
        self, handlers: BindingEventHandlers, known: store.ControlPlaneStore, kind: str
    ) -> None:
        self._handlers = handlers
        self._store = known
        self._kind = kind
        # uid and generation of the bindings of this scheduler
        self._ours: dict[str, tuple[str, int]] = {}
        self._all: set[str] = set()

    def replace(self, bindings: Sequence[objects.Binding]) -> None:
        named = [self._add_binding_kind(binding) for binding in bindings]
        for key in self._all - {binding.key for binding in named}:
            self._drop_binding(key)
        for binding in named:
            self._store.replace_binding(binding)  # versions are smaller after etcd is restored
            self._queue_changed_binding(binding)

    def upsert(self, binding: objects.Binding) -> None:
        binding = self._add_binding_kind(binding)
        self._store.put_binding_unless_older(binding)
        self._queue_changed_binding(binding)  # last, because the queue reads its priority

    def delete(self, binding: objects.Binding) -> None:
        self._drop_binding(self._add_binding_kind(binding).key)

    def _queue_changed_binding(self, binding: objects.Binding) -> None:
        """Queue a binding of this scheduler if it is new or has changed."""
        key, state = binding.key, (binding.metadata.uid, binding.metadata.generation)
        self._all.add(key)
        if not self._handlers.is_for_this_scheduler(binding):
            self._ours.pop(key, None)
            return
        before = self._ours.get(key)
        self._ours[key] = state
        if before is None:
            self._handlers.queue_binding(key, ADD)
        elif before != state:
            self._handlers.queue_binding(key, UPDATE)

    def _drop_binding(self, key: str) -> None:
        self._all.discard(key)
        self._ours.pop(key, None)
        self._store.drop_binding(key)

    def _add_binding_kind(self, binding: objects.Binding) -> objects.Binding:
        """Return the binding with its kind, which list items may omit."""
        if binding.kind == self._kind:
            return binding
        return msgspec.structs.replace(binding, kind=self._kind)
