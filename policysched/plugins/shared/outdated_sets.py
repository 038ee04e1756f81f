"""Find the sets of pools about which an answer no longer holds."""

from __future__ import annotations

from policysched.cluster import change_log
from policysched.cluster.devices import cluster_devices, node_pools


class OutdatedSets:
    """Follows the changes of devices for one table of answers by set of pools."""

    def __init__(self) -> None:
        """Start with all answers outdated."""
        self._epoch = self._class_generation = -1
        self._uses = change_log.ChangeLogCursor()

    def find(
        self, pools: node_pools.NodePools, devices: cluster_devices.ClusterDevices
    ) -> set[int] | None:
        """Return the sets that have a pool whose use changed since the last call.

        None means that sets were numbered anew or classes changed: all answers are outdated.
        """
        changed = self._uses.read_changes(devices.allocated.changes)
        of_now = pools.epoch, devices.classes.generation
        if changed is None or of_now != (self._epoch, self._class_generation):
            self._epoch, self._class_generation = of_now
            return None
        return pools.list_sets_with(set(changed)) if changed else set()
