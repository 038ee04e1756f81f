"""Forward pod changes: pods with a node go to the cache, waiting pods to the queue.

Waiting pods of other schedulers count as unserved, and terminated pods as deleted. A pod can be
deleted, or bound by another scheduler, while it waits or is assumed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from policysched.cluster import cache as caches
from policysched.cluster.objects import objects, storage_objects
from policysched.cluster.pods import pod_shape, storage_requests
from policysched.framework import events, waiting_pods
from policysched.queue import scheduling_queue
from policysched.scheduler import claim_users, nominations, object_changes, unserved_pods


class PodSink:
    """The sink of pods; as `ports.PodLookup`, it also keeps the newest version of each pod.

    Attributes:
        unserved: pods that wait for other schedulers.
        before_placed: called with a waiting pod and its node when the watch shows the binding,
            before the cache is updated; the dry run sets it.
    """

    def __init__(
        self,
        cache: caches.Cache,
        queue: scheduling_queue.SchedulingQueue,
        waiting: waiting_pods.WaitingPods,
        shapes: pod_shape.PodShapeCache,
        serves: Callable[[str], bool],
    ) -> None:
        """Start without pods; `serves` returns whether a profile has the given schedulerName."""
        self._cache = cache
        self._queue = queue
        self._waiting = waiting
        self._shapes = shapes
        self._serves = serves
        self.unserved = unserved_pods.UnservedPods(serves)
        self._known: dict[str, pod_shape.PodInfo] = {}
        self._claim_users: claim_users.ClaimUsers | None = None
        self.before_placed: Callable[[pod_shape.PodInfo, str], None] | None = None

    def current(self, uid: str) -> pod_shape.PodInfo | None:
        """Return the newest version of a pod from the watch; None if it is gone or terminated."""
        return self._known.get(uid)

    def __iter__(self) -> Iterator[pod_shape.PodInfo]:
        """Iterate over the newest versions of all pods that are not gone or terminated."""
        return iter(self._known.values())

    # --- updates from the watch -------------------------------------------------------------------

    def replace(self, pods: Iterable[objects.Pod]) -> None:
        """Apply a complete list; pods that are not in it are removed."""
        listed = {_get_uid(pod): pod for pod in pods}
        for info in [info for uid, info in self._known.items() if uid not in listed]:
            self._remove_pod(info)
        for pod in listed.values():
            self.upsert(pod)

    def upsert(self, pod: objects.Pod) -> None:
        """Apply a new or changed pod."""
        old = self._known.get(_get_uid(pod))
        if old is not None and object_changes.is_same_version(old.pod.metadata, pod.metadata):
            return
        if pod.is_terminal:
            if old is not None:
                self._remove_pod(old)
            return
        new = self._shapes.make_pod_info(pod)
        self._known[new.uid] = new
        if self._claim_users is not None:
            self._claim_users.add(new)
        self.unserved.observe_pod(new.uid, pod)
        if pod.spec.node_name:
            self._apply_placed_pod(old, new)
        elif self._serves(pod.spec.scheduler_name):
            self._apply_waiting_pod(old, new)

    def delete(self, pod: objects.Pod) -> None:
        """Remove a deleted pod."""
        known = self._known.get(_get_uid(pod))
        if known is not None:
            self._remove_pod(known)

    # --- pods with a node -------------------------------------------------------------------------

    def _apply_placed_pod(self, old: pod_shape.PodInfo | None, new: pod_shape.PodInfo) -> None:
        """Apply a pod with a node; if it was pending here, end its queueing or its Permit wait."""
        if self.before_placed and old is not None and not old.pod.spec.node_name:
            self.before_placed(old, new.pod.spec.node_name)
        self._cache.update_pod(new)
        if old is not None and old.pod.spec.node_name:
            for change in object_changes.list_pod_events(old, new):
                self._queue.move_all_to_active_or_backoff(change, old, new)
            return
        # Bound by this process, or by another scheduler while it was queued or waited for Permit.
        nominations.end_nomination(self._queue, new, new.pod.spec.node_name)
        self._queue.delete(new.uid)
        self._waiting.reject(new.uid, "", f"pod was bound to {new.pod.spec.node_name}")
        self._queue.move_all_to_active_or_backoff(object_changes.POD_ADD, None, new)

    def _remove_pod(self, info: pod_shape.PodInfo) -> None:
        del self._known[info.uid]
        if self._claim_users is not None:
            self._claim_users.remove(info)
        self.unserved.forget_pod(info.uid)
        nominations.end_nomination(self._queue, info)
        self._queue.delete(info.uid)
        if self._cache.is_assumed(info):
            self._undo_assumed_pod(info)
        elif self._cache.remove_pod(info):
            self._queue.move_all_to_active_or_backoff(object_changes.POD_DELETE, info, None)

    # --- pods without a node ----------------------------------------------------------------------

    def _apply_waiting_pod(self, old: pod_shape.PodInfo | None, new: pod_shape.PodInfo) -> None:
        """Queue or update a pod without a node; undo the assumption of a pod being deleted."""
        if self._cache.is_assumed(new):
            if old is not None and new.is_terminating and not old.is_terminating:
                self._undo_assumed_pod(new)
            return
        if old is None:
            self._queue.add(new)
            return
        nominations.update_waiting_pod(
            self._queue, old, new, object_changes.list_pod_events(old, new)
        )

    def _undo_assumed_pod(self, info: pod_shape.PodInfo) -> None:
        """Release the resources of an assumed pod that is being deleted.

        A pod that waits for Permit is rejected, and its own binding cycle undoes the assumption.
        The binding of any other pod will fail at the API server.
        """
        placed = object_changes.copy_pod_with_node(
            info, self._cache.get_node_of_pod(info.uid) or ""
        )
        if not self._waiting.reject(info.uid, "", "pod is being deleted"):
            self._cache.forget_pod(info)
            self._queue.move_all_to_active_or_backoff(object_changes.POD_DELETE, placed, None)

    # --- changes of profiles ----------------------------------------------------------------------

    def drop_unserved_pods(self) -> None:
        """Remove from the queue the pods that no profile serves any more."""
        for info in self._known.values():
            self.unserved.observe_pod(info.uid, info.pod)
            if not info.pod.spec.node_name and not self._serves(info.pod.spec.scheduler_name):
                self._queue.delete(info.uid)

    def add_newly_served_pods(self) -> None:
        """Queue the pending pods that no profile served before."""
        for info in self._known.values():
            is_ours = self._serves(info.pod.spec.scheduler_name)
            if is_ours and not info.pod.spec.node_name and not self._cache.is_assumed(info):
                self._queue.add(info)

    def set_annotation_keys(self, keys: frozenset[str]) -> None:
        """Rebuild the pods whose annotations policies newly read or no longer read."""
        changed = self._shapes.set_annotation_keys(keys)
        for uid, old in self._known.items() if changed else ():
            if not changed.isdisjoint(old.pod.metadata.annotations):
                self._renew_shape(uid)

    def follow_claims(self, find_claim: storage_requests.FindClaim | None) -> None:
        """Begin or cease to read claims, which `find_claim` finds, for the shapes of pods."""
        if not self._shapes.find_claims_with(find_claim):
            return
        self._claim_users = None if find_claim is None else claim_users.ClaimUsers()
        for uid, info in self._known.items():
            if not info.shape.claims:
                continue
            if self._claim_users is not None:
                self._claim_users.add(info)
            self._renew_shape(uid)

    def apply_changed_claim(self, claim: storage_objects.PersistentVolumeClaim) -> None:
        """Renew the pods that use a claim, and wake those that its change can help."""
        if self._claim_users is None:
            return
        for uid in self._claim_users.list_users(claim.metadata.namespace, claim.metadata.name):
            old = self._known[uid]
            if old.pod.spec.node_name:
                new = self._renew_shape(uid)
                if new.shape is not old.shape:
                    self._queue.move_all_to_active_or_backoff(events.PLACED_POD_STORAGE, old, new)
            else:
                self._renew_shape(uid, (events.POD_STORAGE,))

    def _renew_shape(
        self, uid: str, happened: tuple[events.ClusterEvent, ...] = ()
    ) -> pod_shape.PodInfo:
        """Give a known pod the shape that it has now; `happened` may have changed it."""
        old = self._known[uid]
        new = self._shapes.make_pod_info(old.pod)
        if new.shape is old.shape:
            return old
        self._known[uid] = new
        if new.pod.spec.node_name:
            self._cache.update_pod(new)
        elif (waiting := self._queue.get(uid)) is not None:
            self._queue.update(waiting.info, new, happened)
        return new


def _get_uid(pod: objects.Pod) -> str:
    return pod.metadata.uid or pod.key
