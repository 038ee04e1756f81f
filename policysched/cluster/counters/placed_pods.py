"""Pods on rows, and everything that is counted of them.

The one place where a pod comes onto a row or leaves it: columns, counters and the pods with volumes
follow from here, for pods of the cache as for those of a what-if question.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from policysched.cluster.columns import columns
from policysched.cluster.counters import pod_counts
from policysched.cluster.metrics import recent_placements
from policysched.cluster.pods import pod_shape
from policysched.cluster.storage import storage


class PlacedPods:
    """Placed and assumed pods by row.

    Attributes:
        recent: those that came a short time ago; what is only supposed does not count there.
    """

    def __init__(
        self,
        nodes: columns.NodeColumns,
        counts: pod_counts.PodCounts,
        stored: storage.Storage,
    ) -> None:
        """Start without pods; what is counted of them goes into the three."""
        self.nodes = nodes
        self.counts = counts
        self.storage = stored
        self.recent = recent_placements.RecentPlacements(nodes.usage_changes)
        self._on: dict[int, dict[str, pod_shape.PodInfo]] = {}

    def get_pods(self, row: int) -> Collection[pod_shape.PodInfo]:
        """Return the pods of a row, in the order in which they came."""
        return self._on.get(row, {}).values()

    def add(self, info: pod_shape.PodInfo, row: int) -> None:
        """Count a pod on a row."""
        self._on.setdefault(row, {})[info.uid] = info
        self.nodes.add_pod(row, info.shape)
        self.counts.add(info, row)
        self.storage.pods.add(info, row)

    def add_all(self, pods: Sequence[tuple[pod_shape.PodInfo, int]]) -> None:
        """Count pods on rows, all in one go."""
        if not pods:
            return
        for info, row in pods:
            self._on.setdefault(row, {})[info.uid] = info
        self.nodes.add_pods(pods)
        for info, row in pods:
            self.counts.add(info, row)
            self.storage.pods.add(info, row)

    def replace(self, info: pod_shape.PodInfo, row: int) -> None:
        """Take a newer version of a pod that counts the same."""
        self._on[row][info.uid] = info
        self.storage.pods.replace(info, row)

    def remove(self, info: pod_shape.PodInfo, row: int) -> None:
        """Take back what `add` counted for the same `info`."""
        pods = self._on[row]
        del pods[info.uid]
        if not pods:
            del self._on[row]
        self.recent.remove(info)
        self.storage.pods.remove(info, row)
        self.counts.remove(info, row)
        self.nodes.remove_pod(row, info.shape)

    def suppose_placed_pods(
        self, pods: Sequence[tuple[pod_shape.PodInfo, int]], change: int
    ) -> None:
        """Let pods be on rows (1) or not (-1), until the opposite is supposed."""
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
        """Put the pods of a row into the order of `infos`, which are all of them."""
        self.storage.pods.reorder(row, infos)
        if infos:
            self._on[row] = {info.uid: info for info in infos}
        else:
            self._on.pop(row, None)
