"""Serve /debug/cluster: names, labels and amounts of all nodes, as columns.

Names and labels are made again only after a node has changed, and amounts at most once per second,
for all clients together. The texts are made in a thread, because they take milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from policysched import clock as clocks
from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.lang.checked import checked
from policysched.observability.live_page import cluster_columns
from policysched.serving import http_server, json_answers, query_parameters

_AGE_SECONDS = 1.0
"""Maximum age of the amounts."""
_NOTHING = msgspec.Raw(b"null")


class MapPage:
    """Makes the page from the cache of the scheduler."""

    def __init__(
        self,
        take_snapshot: Callable[[], snapshot.Snapshot],
        list_metrics: Callable[[], Iterable[checked.CheckedMetric]],
        clock: clocks.Clock,
    ) -> None:
        """Show the nodes of a snapshot, and their metrics."""
        self._take_snapshot = take_snapshot
        self._list_metrics = list_metrics
        self._clock = clock
        self._making = asyncio.Lock()
        self._made_at_seconds = float("-inf")
        self._generation = -1
        self._rows: cluster_columns.Rows
        self._nodes = self._usage = _NOTHING

    async def make_page(self, query: http_server.QueryParameters) -> http_server.HttpPage:
        """Return the columns; those of nodes are null if the client has them (`since`).

        Raises:
            ParameterError: a parameter is unknown or invalid.
        """
        query_parameters.check_names(query, ("since",))
        since = query_parameters.parse_count(query, "since")
        async with self._making:
            if self._clock.monotonic_seconds() - self._made_at_seconds >= _AGE_SECONDS:
                await self._make_columns()
        is_known = "since" in query and since == self._generation
        return json_answers.make_json_answer(
            {
                "generation": self._generation,
                "nodes": _NOTHING if is_known else self._nodes,
                "usage": self._usage,
            }
        )

    async def _make_columns(self) -> None:
        snap = self._take_snapshot()
        generation = snap.nodes.node_changes.generation
        is_changed = generation != self._generation
        rows = cluster_columns.list_rows(snap) if is_changed else self._rows
        usage = cluster_columns.make_usage_columns(snap, rows, self._list_metrics())
        if is_changed:
            nodes = cluster_columns.list_nodes(snap, rows)
            self._nodes = await asyncio.to_thread(_encode_nodes, nodes)
            self._generation, self._rows = generation, rows
        self._usage = await asyncio.to_thread(_encode, usage)
        self._made_at_seconds = self._clock.monotonic_seconds()


def _encode_nodes(nodes: Sequence[objects.Node]) -> msgspec.Raw:
    return _encode(cluster_columns.make_node_columns(nodes))


def _encode(document: dict[str, Any]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(document))
