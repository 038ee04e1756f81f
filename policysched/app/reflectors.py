"""The watches of the cluster, each connected to its sink."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic

from policysched.cluster import cache as caches
from policysched.cluster.objects import objects
from policysched.kube.http import client
from policysched.kube.reading import decoding, reflector, resources
from policysched.scheduler import scheduler as schedulers

if TYPE_CHECKING:  # most processes ask no extender
    from policysched.app import extenders
    from policysched.extenders import object_texts


class ClusterReflectors:
    """Keeps a scheduler's cache and queue in sync with the cluster.

    Attributes:
        nodes, pods: the reflectors of nodes and pods.
    """

    def __init__(
        self,
        api: client.ApiClient,
        scheduler: schedulers.Scheduler,
        rng: random.Random,
        connected: extenders.ConnectedExtenders | None = None,
    ) -> None:
        """Create the reflectors; they do nothing until `run` is called on each.

        For `connected` extenders, they keep the JSON of nodes and pods.
        """
        handlers = scheduler.events
        node_texts = None if connected is None else connected.nodes
        pod_texts = None if connected is None else connected.pods
        self.nodes = _make_reflector(api, resources.NODES, handlers.nodes, rng, node_texts)
        self.pods = _make_reflector(api, resources.PODS, handlers.pods, rng, pod_texts)
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


def _make_reflector(
    api: client.ApiClient,
    resource: resources.ApiResource[decoding.T],
    sink: reflector.ReflectorSink[decoding.T],
    rng: random.Random,
    texts: object_texts.ObjectTexts[decoding.T] | None,
) -> reflector.Reflector[decoding.T]:
    """Return a reflector that keeps the JSON of objects in `texts`, if given."""
    if texts is None:
        return reflector.Reflector(api, resource, sink, rng=rng)
    decoder = decoding.TextKeepingDecoder(resource.kind, texts.keep)
    forgetting = _TextForgettingSink(sink, texts)
    return reflector.Reflector(api, resource, forgetting, rng=rng, decoder=decoder)


class _TextForgettingSink(Generic[decoding.T]):
    """Passes changes on, and forgets the texts of deleted objects."""

    def __init__(
        self, sink: reflector.ReflectorSink[decoding.T], texts: object_texts.ObjectTexts[decoding.T]
    ) -> None:
        """Pass changes to `sink`; the decoder adds texts to `texts`."""
        self._sink = sink
        self._texts = texts

    def replace(self, objects: Sequence[decoding.T]) -> None:
        """Replace the whole content."""
        self._texts.retain(objects)
        self._sink.replace(objects)

    def upsert(self, obj: decoding.T) -> None:
        """Add or replace an object."""
        self._sink.upsert(obj)

    def delete(self, obj: decoding.T) -> None:
        """Remove an object."""
        self._texts.forget(obj)
        self._sink.delete(obj)


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
