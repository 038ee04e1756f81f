"""Nodes that come and go while a server goes on naming the machines of before."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections.abc import AsyncIterator

import msgspec

from policysched.cluster import cache as caches
from policysched.cluster.objects import objects
from policysched.promapi import answers, failures
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.promapi import worlds


class _Cluster:
    """A cache with what a live source brings, from a server that last scraped `n1` at its start."""

    def __init__(self) -> None:
        self.world = worlds.World()
        self.clock = self.world.time.clock
        self.cache = caches.Cache(self.clock)
        self.world.table = self.cache.metrics
        self.named = "n1"
        self.world.server.reply = lambda _: self._reply()
        self.set_nodes(self.created("n1", "old"))

    def created(self, name: str, uid: str, address: str = "10.0.0.1") -> objects.Node:
        """Return a node that is created now; the API server's times have whole seconds."""
        at = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        node = worlds.node(name, address, uid=uid)
        metadata = msgspec.structs.replace(node.metadata, creation_timestamp=at)
        return msgspec.structs.replace(node, metadata=metadata)

    def set_nodes(self, *nodes: objects.Node) -> None:
        """Let these be the nodes that there are."""
        for name in {node.name for node in self.world.nodes} - {node.name for node in nodes}:
            self.cache.remove_node(name)
        for node in nodes:
            self.cache.set_node(node)
        self.world.nodes = list(nodes)

    def aged(self, name: str, uid: str, *addresses: str) -> objects.Node:
        """Return a node that was created a day before."""
        node = worlds.node(name, *addresses, uid=uid)
        at = (builders.EPOCH - datetime.timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        metadata = msgspec.structs.replace(node.metadata, creation_timestamp=at)
        return msgspec.structs.replace(node, metadata=metadata)

    def _reply(self) -> answers.InstantVector:
        passed = self.clock.now() - builders.EPOCH
        return worlds.answer(
            {self.named: 0.02},
            {self.named: 5000.0},
            at_seconds=5000.0 + passed / datetime.timedelta(seconds=1),
        )


@contextlib.asynccontextmanager
async def _running() -> AsyncIterator[_Cluster]:
    cluster = _Cluster()
    world = cluster.world
    task = asyncio.create_task(world.live.run(world.refresh, world, world.backfill))
    await world.time.advance(15)
    try:
        yield cluster
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@asynchronous
async def test_a_replaced_node_does_not_inherit_the_sample_of_its_name() -> None:
    """Neither until the next refresh nor after it, when the server still names the old one."""
    async with _running() as cluster:
        assert cluster.world.ages()["n1"][0] == 0.02
        cluster.set_nodes(cluster.created("n1", "new", "10.0.0.9"))
        assert cluster.world.ages() == {}
        await cluster.world.time.advance(20)
        assert cluster.world.ages() == {}


@asynchronous
async def test_a_node_does_not_inherit_the_sample_of_its_address() -> None:
    """A new node got the address of a machine that the server still names."""
    async with _running() as cluster:
        cluster.named = "10.0.0.1:9100"
        await cluster.world.time.advance(10)
        assert "n1" in cluster.world.ages()
        cluster.set_nodes()
        await cluster.world.time.advance(10)
        cluster.set_nodes(cluster.created("brand-new", "new"))
        await cluster.world.time.advance(12)
        assert cluster.world.ages() == {}


@asynchronous
async def test_a_node_that_gets_an_address_does_not_inherit_its_sample() -> None:
    """An old node takes the address of a machine that is gone, and that the server still names."""
    async with _running() as cluster:
        cluster.named = "10.0.0.1:9100"
        cluster.set_nodes(
            cluster.aged("n1", "old", "10.0.0.1"), cluster.aged("n2", "two", "10.0.0.2")
        )
        await cluster.world.time.advance(10)
        assert list(cluster.world.ages()) == ["n1"]
        cluster.set_nodes(cluster.aged("n2", "two", "10.0.0.1"))
        await cluster.world.time.advance(20)
        assert cluster.world.ages() == {}


@asynchronous
async def test_an_address_of_two_nodes_is_of_neither() -> None:
    """Their samples are missing and counted, until one of them is alone again."""
    async with _running() as cluster:
        cluster.named = "10.0.0.1:9100"
        one, two = (cluster.aged(name, name, "10.0.0.1") for name in ("n1", "n2"))
        cluster.set_nodes(one, two)
        await cluster.world.time.advance(70)
        assert cluster.world.stats().counts[failures.QueryIssue.AMBIGUOUS] == 7
        assert all(age > 60 for _, age in cluster.world.ages().values())
        cluster.set_nodes(one)
        await cluster.world.time.advance(10)
        assert list(cluster.world.ages()) == ["n1"]
