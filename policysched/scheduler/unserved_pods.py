"""Track waiting pods whose schedulerName belongs to no profile of this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from policysched.cluster.objects import objects, time_text

_SCHEDULED = "PodScheduled"


class UnservedPods:
    """The waiting pods that no profile serves, as the watch shows them."""

    def __init__(self, serves: Callable[[str], bool]) -> None:
        """Start without pods; `serves` returns whether a profile has the given schedulerName."""
        self._serves = serves
        self._pods: dict[str, objects.Pod] = {}

    def observe_pod(self, uid: str, pod: objects.Pod) -> None:
        """Apply a new or changed pod, or check a known pod against changed profiles."""
        if pod.spec.node_name or self._serves(pod.spec.scheduler_name):
            self._pods.pop(uid, None)
        else:
            self._pods[uid] = pod

    def forget_pod(self, uid: str) -> None:
        """Stop tracking a deleted pod."""
        self._pods.pop(uid, None)

    def __len__(self) -> int:
        """Return the number of waiting pods."""
        return len(self._pods)

    def __iter__(self) -> Iterator[objects.Pod]:
        """Iterate over the waiting pods; they must not change meanwhile."""
        return iter(self._pods.values())

    def count_by_scheduler_name(self) -> Counter[str]:
        """Return the number of waiting pods, keyed by schedulerName."""
        return Counter(pod.spec.scheduler_name for pod in self._pods.values())

    def list_ignored_pods(self, before_seconds: float) -> Iterator[objects.Pod]:
        """Yield unserved pods created before a given time that no scheduler has handled.

        A scheduler that finds no node for a pod writes its PodScheduled condition; for pods with
        scheduling gates, the API server writes it. Pods with this condition, terminating pods and
        pods without a creation time are skipped.

        Args:
            before_seconds: the given time, in seconds since 1970.
        """
        for pod in self._pods.values():
            created = pod.metadata.creation_timestamp
            if created is None or pod.metadata.deletion_timestamp is not None:
                continue
            is_mentioned = any(each.type == _SCHEDULED for each in pod.status.conditions)
            if not is_mentioned and time_text.parse_rfc3339_seconds(created) < before_seconds:
                yield pod
