"""Pods that did not fit on any node in their last attempt, and gated pods.

An event concerns only a few plugins, and can help only pods that one of them rejected. Therefore
pods are grouped by shape, by claims of their own and by the plugins that rejected them. Most events
do not concern any group, and an event that does is evaluated once for all pods of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import NamedTuple

from policysched import clock as clocks
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import queued_pod
from policysched.queue import heap, queue_profiles


class _RejectedGroup(NamedTuple):
    profile_name: str
    rejecting: frozenset[str]
    pending: frozenset[str]
    gating_plugin: str
    shape: pod_shape.PodShape
    claims: tuple[objects.PodResourceClaimStatus, ...]


class _PodTimer(NamedTuple):
    """The wall-clock time at which a time of the pod `uid` reaches a bound of policies."""

    due_seconds: float
    uid: str


def list_rejecting_plugins(queued: queued_pod.QueuedPodInfo) -> frozenset[str]:
    """Return the plugins that rejected or gate a pod.

    At least one of them must change its decision before another attempt is worthwhile.
    """
    return frozenset(queued.unschedulable_plugins | queued.pending_plugins)


class UnschedulablePods:
    """Pods keyed by uid, and grouped by profile, rejecting plugins, shape and own claims.

    Of the pods that are not gated, it knows when their times next reach a bound of policies.
    """

    def __init__(
        self, get_profiles: Callable[[], queue_profiles.QueueProfiles], clock: clocks.Clock
    ) -> None:
        """Start empty; `get_profiles` returns the profiles in use."""
        self._get_profiles = get_profiles
        self._clock = clock
        self._timers: heap.Heap[_PodTimer] = heap.Heap(lambda timer: (timer.due_seconds, timer.uid))
        self._pods: dict[str, tuple[queued_pod.QueuedPodInfo, _RejectedGroup]] = {}
        self._groups: dict[_RejectedGroup, dict[str, queued_pod.QueuedPodInfo]] = {}

    def __len__(self) -> int:
        """Return the number of pods, including gated pods."""
        return len(self._pods)

    @property
    def gated_count(self) -> int:
        """The number of gated pods."""
        return sum(queued.is_gated for queued, _ in self._pods.values())

    def get(self, uid: str) -> queued_pod.QueuedPodInfo | None:
        """Return the pod with this uid, or None."""
        found = self._pods.get(uid)
        return found[0] if found else None

    def add(self, queued: queued_pod.QueuedPodInfo) -> None:
        """Add a pod; call this again if the pod or the plugins that reject it have changed."""
        self.remove(queued.uid)
        self._set_timer(queued)
        group = _RejectedGroup(
            self._get_profiles().find_name(queued.info),
            list_rejecting_plugins(queued),
            frozenset(queued.pending_plugins),
            queued.gating_plugin,
            queued.info.shape,
            queued.info.pod.status.resource_claim_statuses,
        )
        self._pods[queued.uid] = (queued, group)
        self._groups.setdefault(group, {})[queued.uid] = queued

    def remove(self, uid: str) -> queued_pod.QueuedPodInfo | None:
        """Remove and return the pod with this uid, or None."""
        found = self._pods.pop(uid, None)
        if found is None:
            return None
        self._timers.remove(uid)
        queued, group = found
        del self._groups[group][uid]
        if not self._groups[group]:
            del self._groups[group]
        return queued

    # --- times of pods ----------------------------------------------------------------------------

    def _set_timer(self, queued: queued_pod.QueuedPodInfo) -> None:
        """Give a pod the shape that it had when it was looked at, and note when that changes."""
        bounds = self._get_profiles().get(queued.info).time_bounds
        queued.place_in_time(bounds)
        if not bounds.is_of_pods or queued.is_gated:
            return
        info = queued.info
        due_seconds = bounds.find_next_change(
            info.pod, info.first_try_seconds, queued.looked_at_seconds
        )
        if due_seconds is not None:
            self._timers.push(queued.uid, _PodTimer(due_seconds, queued.uid))

    def next_timer_seconds(self) -> float | None:
        """Return the monotonic time at which a pod next reaches a bound, or None."""
        first = self._timers.peek()
        if first is None:
            return None
        seconds = max(0.0, first.due_seconds - self._clock.now().timestamp())
        return self._clock.monotonic_seconds() + seconds

    def pop_pods_at_bounds(self) -> list[queued_pod.QueuedPodInfo]:
        """Remove and return the pods whose times have reached a bound; note that it is later."""
        popped: list[queued_pod.QueuedPodInfo] = []
        if self._timers.peek() is None:
            return popped
        now_seconds = self._clock.now().timestamp()
        while (first := self._timers.peek()) is not None and first.due_seconds <= now_seconds:
            queued = self.remove(first.uid)
            if queued is not None:
                queued.looked_at_seconds = now_seconds
                popped.append(queued)
        return popped

    # --- contents ---------------------------------------------------------------------------------

    def list_groups(self) -> list[list[queued_pod.QueuedPodInfo]]:
        """Return all pods, grouped by shape, profile and rejecting plugins."""
        return [list(pods.values()) for pods in self._groups.values()]

    def list_groups_rejected_by(
        self, plugins: Mapping[str, Container[str]]
    ) -> list[list[queued_pod.QueuedPodInfo]]:
        """Return the groups that one of `plugins`, keyed by profile, rejected."""
        return [
            list(pods.values())
            for group, pods in self._groups.items()
            if any(plugin in plugins.get(group.profile_name, ()) for plugin in group.rejecting)
        ]

    def list_pods_older_than(self, before_seconds: float) -> list[queued_pod.QueuedPodInfo]:
        """Return the pods, except gated pods, that have waited since before this monotonic time."""
        return [
            queued
            for queued, _ in self._pods.values()
            if queued.timestamp_seconds < before_seconds and not queued.is_gated
        ]

    def list_pods(self) -> list[queued_pod.QueuedPodInfo]:
        """Return all pods."""
        return [queued for queued, _ in self._pods.values()]
