"""Track the pods on each row, and all counts that are derived from them.

All additions and removals of pods pass through here. They update columns, counters and the pods
with volumes, both for the cache and for what-ifs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from policysched.cluster.columns import columns
from policysched.cluster.counters import pod_counts
from policysched.cluster.metrics import recent_placements
from policysched.cluster.pods import pod_shape
from policysched.cluster.storage import storage


class PlacedPods:
    """Placed and assumed pods by row.

    Attributes:
        recent: recent placements; pods of a what-if do not count.
    """

    def __init__(
        self,
        nodes: columns.NodeColumns,
        counts: pod_counts.PodCounts,
        stored: storage.Storage,
    ) -> None:
        """Start without pods; `nodes`, `counts` and `stored` are updated with each pod."""
        self.nodes = nodes
        self.counts = counts
        self.storage = stored
        self.recent = recent_placements.RecentPlacements(nodes.usage_changes)
        self._on: dict[int, dict[str, pod_shape.PodInfo]] = {}
        self._priorities: Counter[int] = Counter()

    def get_pods(self, row: int) -> Collection[pod_shape.PodInfo]:
        """Return the pods of a row in the order in which they were added."""
        return self._on.get(row, {}).values()

    @property
    def lowest_priority(self) -> int | None:
        """The lowest priority of all pods, including pods that a what-if has removed."""
        return min(self._priorities, default=None)

    def add(self, info: pod_shape.PodInfo, row: int) -> None:
        """Count a pod on a row."""
        self._on.setdefault(row, {})[info.uid] = info
        self._priorities[info.shape.priority] += 1
        self.nodes.add_pod(row, info.shape)
        self.counts.add(info, row)
        self.storage.pods.add(info, row)

    def add_all(self, pods: Sequence[tuple[pod_shape.PodInfo, int]]) -> None:
        """Count (pod, row) pairs in one batch."""
        if not pods:
            return
        for info, row in pods:
            self._on.setdefault(row, {})[info.uid] = info
            self._priorities[info.shape.priority] += 1
        self.nodes.add_pods(pods)
        for info, row in pods:
            self.counts.add(info, row)
            self.storage.pods.add(info, row)

    def replace(self, info: pod_shape.PodInfo, row: int) -> None:
        """Replace a pod with a newer version that counts in the same columns."""
        self._on[row][info.uid] = info
        self.storage.pods.replace(info, row)

    def remove(self, info: pod_shape.PodInfo, row: int) -> None:
        """Subtract a pod that `add` counted with the same `info`."""
        pods = self._on[row]
        del pods[info.uid]
        if not pods:
            del self._on[row]
        self._uncount_priority(info.shape.priority)
        self.recent.remove(info)
        self.storage.pods.remove(info, row)
        self.counts.remove(info, row)
        self.nodes.remove_pod(row, info.shape)

    def _uncount_priority(self, priority: int) -> None:
        self._priorities[priority] -= 1
        if not self._priorities[priority]:
            del self._priorities[priority]

    def suppose_placed_pods(
        self, pods: Sequence[tuple[pod_shape.PodInfo, int]], change: int
    ) -> None:
        """Add (`change` 1) or remove (-1) pods in a what-if.

        The caller must undo this with the opposite change.
        """
        if not pods:
            return
        for info, row in pods:
            if change > 0:
                self._on.setdefault(row, {})[info.uid] = info
            else:
                del self._on[row][info.uid]
        stored = self.storage.pods
        move = stored.add if change > 0 else stored.remove
        for info, row in pods:
            if info.shape.has_volumes:
                move(info, row)
        self.nodes.suppose_pods(pods, change)
        self.counts.suppose(pods, change)

    def reorder(self, row: int, infos: Collection[pod_shape.PodInfo]) -> None:
        """Put the pods of a row into the order of `infos`, which must contain the same pods."""
        self.storage.pods.reorder(row, infos)
        if infos:
            self._on[row] = {info.uid: info for info in infos}
        else:
            self._on.pop(row, None)
