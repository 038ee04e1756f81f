"""The profiles of the queue, and the choice of the profile that decides about a pod."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from policysched.cluster import elapsed_time
from policysched.cluster.pods import pod_shape
from policysched.framework import events, queued_pod, status
from policysched.queue import heap


class QueueProfile(Protocol):
    """The part of a profile that the queue needs; `framework.runtime.Framework` implements it."""

    def pre_enqueue(self, pod: pod_shape.PodInfo) -> status.Status:
        """Return success, or the first rejection with the name of its plugin."""
        ...

    def sort_key(self, queued: queued_pod.QueuedPodInfo) -> heap.SortKey:
        """Return the sort key of a pod in activeQ; smaller keys come first."""
        ...

    @property
    def time_bounds(self) -> elapsed_time.TimeBounds:
        """The times of pods and nodes at which answers of policies change."""
        ...

    def events_to_register(self) -> Mapping[str, Sequence[events.ClusterEventWithHint]]:
        """Return the events for which each plugin waits, keyed by the plugin's name."""
        ...


FindProfileName: TypeAlias = Callable[[pod_shape.PodInfo], str]
"""Returns the name of the profile that decides about a pod."""


def get_scheduler_name(info: pod_shape.PodInfo) -> str:
    """Return the schedulerName of a pod; without a rollout, this is the name of its profile."""
    return info.pod.spec.scheduler_name


class QueueProfiles:
    """All profiles, and the name of the profile of each pod.

    Attributes:
        by_name: the profiles by their names.
        find_name: returns the name for a pod; there may be no profile of this name.
    """

    def __init__(
        self,
        by_name: Mapping[str, QueueProfile],
        find_name: FindProfileName = get_scheduler_name,
    ) -> None:
        """Use `by_name`, whose content the caller may change later."""
        self.by_name = by_name
        self.find_name = find_name

    def get(self, info: pod_shape.PodInfo) -> QueueProfile:
        """Return the profile that decides about a pod, which must exist."""
        return self.by_name[self.find_name(info)]

    def serves(self, info: pod_shape.PodInfo) -> bool:
        """Return whether there is a profile for a pod."""
        return self.find_name(info) in self.by_name

    def sort_key(self, queued: queued_pod.QueuedPodInfo) -> heap.SortKey:
        """Return the sort key of a pod; the QueueSort plugin of the first profile orders all."""
        return next(iter(self.by_name.values())).sort_key(queued)
