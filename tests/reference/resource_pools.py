"""The pools of a node, without anything kept from before."""

from __future__ import annotations

from policysched.cluster.devices import pools, slices
from policysched.cluster.objects import objects


def gather_pools(known: slices.ResourceSlices, node: objects.Node) -> list[pools.NodePool]:
    """Return the pools of a node, and every pool with counters as the node sees it.

    Raises:
        NodeSelectionError: a node selector cannot be parsed.
    """
    every = set(known.list_pools_with_counters())
    counters = [each for pool in every for each in known.list_counters(pool)]
    of_node = [each for each in pools.select_slices(known, node) if not each.counter_sets]
    return pools.make_pools(known, pools.group_newest([*of_node, *counters]))
