"""The thread that joins answers with nodes, so that the event loop is free to schedule pods.

The event loop passes the current nodes (immutable objects) and awaits the result. One thread
handles all metrics, one answer at a time, and only this thread uses the index of node names, so the
index needs no lock.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from policysched.cluster.objects import node_aliases, objects

_T = TypeVar("_T")


class NodeLister(Protocol):
    """Lists the nodes of the cluster."""

    async def wait_synced(self) -> None:
        """Return when all nodes have been listed."""
        ...

    def current(self) -> Sequence[objects.Node]:
        """Return the current nodes, in a new list."""
        ...


class NodeNamesThread:
    """Runs functions that need the index of node names in one thread."""

    def __init__(self) -> None:
        """Start without nodes."""
        self._names = node_aliases.NodeAliasIndex()
        self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="joining")

    async def run_with_node_names(
        self, nodes: Sequence[objects.Node], work: Callable[[node_aliases.NodeAliasIndex], _T]
    ) -> _T:
        """Call `work` with the index of `nodes` in the thread; return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._update_names_and_run, nodes, work)

    def close(self) -> None:
        """Stop accepting work and cancel pending work; running work continues to its end."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _update_names_and_run(
        self, nodes: Sequence[objects.Node], work: Callable[[node_aliases.NodeAliasIndex], _T]
    ) -> _T:
        self._names.update_indexed_nodes(nodes)
        return work(self._names)
