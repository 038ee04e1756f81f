"""Pods that fit nowhere when they were last tried, and pods that are gated.

An event interests few plugins, and only pods that one of these rejected can be helped by it. Pods
are therefore grouped by what rejected them: most events touch no group at all, however many pods
are waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from policysched.framework import queued_pod

_Group: TypeAlias = tuple[str, frozenset[str]]
"""schedulerName and the plugins to be asked."""


def rejectors(queued: queued_pod.QueuedPodInfo) -> frozenset[str]:
    """Return the plugins whose opinion may have to change before the pod can be scheduled.

    For a gated pod that is the plugin that gates it: nothing else is asked before.
    """
    if queued.gating_plugin:
        return frozenset((queued.gating_plugin,))
    return frozenset(queued.unschedulable_plugins | queued.pending_plugins)


class UnschedulablePods:
    """Pods by uid, grouped by profile and rejecting plugins."""

    def __init__(self) -> None:
        """Start empty."""
        self._pods: dict[str, tuple[queued_pod.QueuedPodInfo, _Group]] = {}
        self._groups: dict[_Group, dict[str, queued_pod.QueuedPodInfo]] = {}

    def __len__(self) -> int:
        """Return how many pods are here, gated ones included."""
        return len(self._pods)

    @property
    def gated_count(self) -> int:
        """How many pods are gated."""
        return sum(queued.is_gated for queued, _ in self._pods.values())

    def get(self, uid: str) -> queued_pod.QueuedPodInfo | None:
        """Return the pod with this uid."""
        found = self._pods.get(uid)
        return found[0] if found else None

    def add(self, queued: queued_pod.QueuedPodInfo) -> None:
        """Add a pod; call it again when what rejects the pod changed."""
        self.remove(queued.uid)
        group = (queued.info.pod.spec.scheduler_name, rejectors(queued))
        self._pods[queued.uid] = (queued, group)
        self._groups.setdefault(group, {})[queued.uid] = queued

    def remove(self, uid: str) -> queued_pod.QueuedPodInfo | None:
        """Take out the pod with this uid; None when it is not here."""
        found = self._pods.pop(uid, None)
        if found is None:
            return None
        queued, group = found
        del self._groups[group][uid]
        if not self._groups[group]:
            del self._groups[group]
        return queued

    def rejected_by(self, plugins: Mapping[str, Iterable[str]]) -> list[queued_pod.QueuedPodInfo]:
        """Return the pods that one of the plugins rejected; `plugins` is keyed by schedulerName."""
        return [
            queued
            for (scheduler_name, rejecting), pods in self._groups.items()
            if scheduler_name in plugins and not rejecting.isdisjoint(plugins[scheduler_name])
            for queued in pods.values()
        ]

    def older_than(self, before_seconds: float) -> list[queued_pod.QueuedPodInfo]:
        """Return the pods that are not gated and came here before a time."""
        return [
            queued
            for queued, _ in self._pods.values()
            if queued.timestamp_seconds < before_seconds and not queued.is_gated
        ]

    def pods(self) -> list[queued_pod.QueuedPodInfo]:
        """Return all pods."""
        return [queued for queued, _ in self._pods.values()]
