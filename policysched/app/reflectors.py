"""The watches of the cluster, each connected to its sink."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Any

from policysched.cluster import cache as caches
from policysched.cluster.objects import objects
from policysched.kube.http import client
from policysched.kube.reading import reflector, resources
from policysched.scheduler import scheduler as schedulers


class ClusterReflectors:
    """Keeps a scheduler's cache and queue in sync with the cluster.

    Attributes:
        nodes, pods: the reflectors of nodes and pods.
    """

    def __init__(
        self, api: client.ApiClient, scheduler: schedulers.Scheduler, rng: random.Random
    ) -> None:
        """Create the reflectors; they do nothing until `run` is called on each."""
        handlers = scheduler.events
        self.nodes = reflector.Reflector(api, resources.NODES, handlers.nodes, rng=rng)
        self.pods = reflector.Reflector(api, resources.PODS, handlers.pods, rng=rng)
        others: list[tuple[resources.ApiResource[Any], reflector.ReflectorSink[Any]]] = [
            (resources.NAMESPACES, handlers.namespaces),
            *((resources.OWNERS[kind], sink) for kind, sink in handlers.owners.items()),
            *((resources.STORAGE[kind], sink) for kind, sink in handlers.storage.items()),
            *((resources.DEVICES[kind], sink) for kind, sink in handlers.devices.items()),
            (resources.BUDGETS, handlers.budgets),
        ]
        self._all: list[reflector.Reflector[Any]] = [
            self.nodes,
            *(reflector.Reflector(api, resource, sink, rng=rng) for resource, sink in others),
            self.pods,
        ]

    def __iter__(self) -> Iterator[reflector.Reflector[Any]]:
        """Iterate over all reflectors."""
        return iter(self._all)


class NodeMetricTargets:
    """The nodes of the cache, as the targets of a metrics source."""

    def __init__(self, cache: caches.Cache, synced: asyncio.Event) -> None:
        """Use the nodes of `cache`, which is complete once `synced` is set."""
        self._cache = cache
        self._synced = synced

    async def wait_synced(self) -> None:
        """Wait until all nodes have been listed."""
        await self._synced.wait()

    def current(self) -> list[objects.Node]:
        """Return the current nodes."""
        return [node for node in self._cache.nodes.nodes if node is not None]
