"""Where answers are joined with the nodes: a thread of its own, which alone knows their names.

The event loop, on which pods are scheduled, hands over the nodes that there are (objects that never
change) and takes what comes of it. One thread does it for all metrics, one answer at a time, so
that names need no lock.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from policysched.cluster.objects import node_aliases, objects

_T = TypeVar("_T")


class NodeLister(Protocol):
    """The nodes of the cluster."""

    async def wait_synced(self) -> None:
        """Return when all nodes have been listed."""
        ...

    def current(self) -> Sequence[objects.Node]:
        """Return the nodes that there are now, in a list of their own."""
        ...


class NodeNamesThread:
    """Does what needs the names of the nodes."""

    def __init__(self) -> None:
        """Start without nodes."""
        self._names = node_aliases.NodeAliasIndex()
        self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="joining")

    async def run_with_node_names(
        self, nodes: Sequence[objects.Node], work: Callable[[node_aliases.NodeAliasIndex], _T]
    ) -> _T:
        """Return what `work` makes of the names of `nodes`; it runs in the thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._update_names_and_run, nodes, work)

    def close(self) -> None:
        """Do nothing more; what is under way ends by itself."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _update_names_and_run(
        self, nodes: Sequence[objects.Node], work: Callable[[node_aliases.NodeAliasIndex], _T]
    ) -> _T:
        self._names.follow_nodes(nodes)
        return work(self._names)
