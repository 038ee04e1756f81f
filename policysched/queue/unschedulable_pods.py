"""Pods that did not fit on any node in their last attempt, and gated pods.

An event concerns only a few plugins, and can help only pods that one of them rejected. Therefore
pods are grouped by shape and by the plugins that rejected them. Most events do not concern any
group, and an event that does is evaluated once for all pods of the group.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from policysched.cluster.pods import pod_shape
from policysched.framework import queued_pod


class _RejectedGroup(NamedTuple):
    scheduler_name: str
    rejecting: frozenset[str]
    pending: frozenset[str]
    gating_plugin: str
    shape: pod_shape.PodShape


def list_rejecting_plugins(queued: queued_pod.QueuedPodInfo) -> frozenset[str]:
    """Return the plugins that rejected or gate a pod.

    At least one of them must change its decision before another attempt is worthwhile.
    """
    return frozenset(queued.unschedulable_plugins | queued.pending_plugins)


class UnschedulablePods:
    """Pods keyed by uid, and grouped by profile, rejecting plugins and shape."""

    def __init__(self) -> None:
        """Start empty."""
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
        group = _RejectedGroup(
            queued.info.pod.spec.scheduler_name,
            list_rejecting_plugins(queued),
            frozenset(queued.pending_plugins),
            queued.gating_plugin,
            queued.info.shape,
        )
        self._pods[queued.uid] = (queued, group)
        self._groups.setdefault(group, {})[queued.uid] = queued

    def remove(self, uid: str) -> queued_pod.QueuedPodInfo | None:
        """Remove and return the pod with this uid, or None."""
        found = self._pods.pop(uid, None)
        if found is None:
            return None
        queued, group = found
        del self._groups[group][uid]
        if not self._groups[group]:
            del self._groups[group]
        return queued

    def list_groups(self) -> list[list[queued_pod.QueuedPodInfo]]:
        """Return all pods, grouped by shape, profile and rejecting plugins."""
        return [list(pods.values()) for pods in self._groups.values()]

    def list_groups_rejected_by(
        self, plugins: Mapping[str, Container[str]]
    ) -> list[list[queued_pod.QueuedPodInfo]]:
        """Return the groups that one of `plugins`, keyed by schedulerName, rejected."""
        return [
            list(pods.values())
            for group, pods in self._groups.items()
            if any(plugin in plugins.get(group.scheduler_name, ()) for plugin in group.rejecting)
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
