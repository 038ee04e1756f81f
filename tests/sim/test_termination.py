"""Evictions from the simulated API server, and pods that end in virtual time."""

from __future__ import annotations

import asyncio
import random

import pytest

from policysched import clock as clocks
from policysched.cluster.pods import pod_shape
from policysched.scheduler import ports
from policysched.sim import api_server, collection, virtual_time
from tests import builders

CONDITION = ports.PodCondition("True", "PreemptionByScheduler", "to make room")
SHAPES = pod_shape.PodShapeCache()


class World:
    """A server in virtual time on which running pods take 30 s to end."""

    def __init__(self) -> None:
        self.time = virtual_time.VirtualTime(clocks.ManualClock(builders.EPOCH))
        self.server = api_server.SimulatedApiServer(
            self.time.clock, random.Random(1), self.time.sleep
        )
        self.server.terminations.grace_seconds = lambda _pod: 30.0

    def create(self, pod: builders.PodBuilder) -> pod_shape.PodInfo:
        """Create a pod."""
        return SHAPES.make_pod_info(self.server.pods.create(pod.build()))


def test_a_running_pod_is_marked_and_ends_after_its_grace_period() -> None:
    """Until then it is there, terminating, with the condition that says why."""

    async def scenario() -> None:
        world = World()
        victim = world.create(builders.make_pod("a").node("n1"))
        assert await world.server.evict(victim, CONDITION)
        pod = world.server.pods.get("a", "default")
        (condition,) = pod.status.conditions
        assert (condition.type, condition.reason) == ("DisruptionTarget", CONDITION.reason)
        assert pod.metadata.deletion_timestamp == "2026-01-05T12:00:30Z"
        await world.time.advance(29.0)
        assert await world.server.evict(victim, CONDITION)
        await world.time.advance(1.0)
        assert world.server.pods.find("a", "default") is None

    asyncio.run(scenario())


def test_a_pod_without_a_node_ends_at_once() -> None:
    """Nobody has to stop its containers."""

    async def scenario() -> None:
        world = World()
        assert await world.server.evict(world.create(builders.make_pod("a")), CONDITION)
        assert world.server.pods.find("a", "default") is None

    asyncio.run(scenario())


def test_another_pod_of_that_name_is_left_alone() -> None:
    """Neither an eviction that comes too late nor the end of the old pod hurts the new one."""

    async def scenario() -> None:
        world = World()
        victim = world.create(builders.make_pod("a").node("n1"))
        assert await world.server.evict(victim, CONDITION)
        world.server.pods.delete("a", "default")
        world.create(builders.make_pod("a").uid("new").node("n1"))
        assert not await world.server.evict(victim, CONDITION)
        await world.time.advance(60.0)
        assert world.server.pods.get("a", "default").metadata.deletion_timestamp is None

    asyncio.run(scenario())


def test_evictions_fail_as_planned() -> None:
    """A failed eviction leaves the pod as it was."""

    async def scenario() -> None:
        world = World()
        victim = world.create(builders.make_pod("a").node("n1"))
        world.server.eviction_faults.fail_next = 1
        with pytest.raises(collection.SimulatedApiError):
            await world.server.evict(victim, CONDITION)
        assert world.server.pods.get("a", "default").status.conditions == ()
        assert await world.server.evict(victim, CONDITION)

    asyncio.run(scenario())


def test_nominations_end_with_the_binding() -> None:
    """The API server clears the nominated node of a pod that is bound, and sets none after."""

    async def scenario() -> None:
        world = World()
        pod = world.create(builders.make_pod("a"))
        world.server.nominate(pod, "n1")
        assert world.server.pods.get("a", "default").status.nominated_node_name == "n1"
        assert await world.server.bind(pod, "n1") is None
        world.server.nominate(pod, "n2")
        assert world.server.pods.get("a", "default").status.nominated_node_name == ""

    asyncio.run(scenario())
