"""Pods that wait and whose schedulerName no profile has: another scheduler's, or nobody's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from policysched.cluster.objects import objects, time_text

_SCHEDULED = "PodScheduled"


class UnservedPods:
    """Follows them as the watch shows them."""

    def __init__(self, serves: Callable[[str], bool]) -> None:
        """Start without pods; `serves` says whether a schedulerName is one of our profiles."""
        self._serves = serves
        self._pods: dict[str, objects.Pod] = {}

    def observe_pod(self, uid: str, pod: objects.Pod) -> None:
        """Take in a pod that is new, has changed, or is to be judged by other profiles."""
        if pod.spec.node_name or self._serves(pod.spec.scheduler_name):
            self._pods.pop(uid, None)
        else:
            self._pods[uid] = pod

    def forget_pod(self, uid: str) -> None:
        """Leave out a pod that is gone."""
        self._pods.pop(uid, None)

    def count_by_scheduler_name(self) -> Counter[str]:
        """Return how many wait, by schedulerName."""
        return Counter(pod.spec.scheduler_name for pod in self._pods.values())

    def list_ignored_pods(self, before_seconds: float) -> Iterator[objects.Pod]:
        """Yield those that are older and of which no scheduler has said anything.

        A scheduler that finds no node for a pod says so in the condition PodScheduled; of pods with
        scheduling gates the API server does. Pods that are being deleted need no node.

        Args:
            before_seconds: when they were created at the latest, in seconds since 1970.
        """
        for pod in self._pods.values():
            created = pod.metadata.creation_timestamp
            if created is None or pod.metadata.deletion_timestamp is not None:
                continue
            is_mentioned = any(each.type == _SCHEDULED for each in pod.status.conditions)
            if not is_mentioned and time_text.parse_rfc3339_seconds(created) < before_seconds:
                yield pod
