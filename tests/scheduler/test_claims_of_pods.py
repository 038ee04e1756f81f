"""Pods wake when their claims change what policies read, and by no other event."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.cluster.objects import storage_objects
from policysched.cluster.pods import storage_requests
from policysched.compiler import compiler
from policysched.framework import profile, runtime
from tests import builders, storage_builders
from tests.compiler import desk
from tests.scheduler import fakes

FAST_ONLY = "policy p { for pods reject when pod(storageClass != fast) }"
LARGE_ONLY = "policy p { for pods reject when requests(storage) < 10Gi }"
NEAR_LARGE = (
    "policy p { for pods where app = web "
    "podAffinity required pods where requests(storage) >= 10Gi topologyKey kubernetes.io/hostname }"
)
WITHOUT = "policy p { for pods reject when not node(disk = ssd) }"
CLAIMS = storage_objects.PersistentVolumeClaim


def _make_framework(world: fakes.World, text: str) -> dict[str, runtime.Framework]:
    compiled = compiler.compile_program(desk.check(text)).profiles[0]
    *plugins, bind = world.plugins
    made = profile.Profile(
        "default-scheduler", (*plugins, *compiled.plugins, bind), {}, projection=compiled.projection
    )
    return {"default-scheduler": runtime.Framework(made, None)}


def _make_world(text: str) -> fakes.World:
    world = fakes.World()
    world.scheduler.set_profiles(_make_framework(world, text))
    return world


def _show_claim(world: fakes.World, name: str = "data", **of: Any) -> None:
    sink = world.scheduler.events.storage[CLAIMS]
    sink.upsert(storage_builders.make_claim(name, **of))


def _count_attempts(world: fakes.World) -> int:
    queued = world.queue.get("uid-default-a")
    assert queued is not None
    return queued.attempts


def _is_read(world: fakes.World) -> tuple[storage_requests.StorageRequest, ...]:
    known = world.pods.current("uid-default-a")
    assert known is not None
    return known.shape.storage


@pytest.mark.parametrize(
    "text, before, after",
    [
        pytest.param(FAST_ONLY, {}, {"class_name": "fast"}, id="the default class"),
        pytest.param(FAST_ONLY, None, {"class_name": "fast"}, id="a new claim"),
        pytest.param(LARGE_ONLY, {"request": "1Gi"}, {"request": "10Gi"}, id="a larger claim"),
    ],
)
def test_the_claim_wakes_the_pod_and_two_hundred_useless_events_do_not(
    text: str, before: dict[str, Any] | None, after: dict[str, Any]
) -> None:
    """Neither claims of others nor other changes of the own claim lead to an attempt."""

    async def scenario() -> None:
        world = _make_world(text)
        world.add_node("n1")
        if before is not None:
            _show_claim(world, **before)
        world.add_pod(builders.make_pod("a").claim("data"))
        await world.settle()
        for number in range(100):
            _show_claim(world, f"other-{number}", **after)
            _show_claim(world, namespace="other", request=f"{number}Gi")
            if before is not None:
                _show_claim(world, **before, annotations={"seen": str(number)})
            world.clock.advance(1)
            await world.settle()
        assert _count_attempts(world) == 1
        _show_claim(world, **after)
        world.clock.advance(10)
        await world.settle()
        assert world.bind.bound == [("a", "n1")]

    fakes.play(scenario())


def test_a_change_that_opens_no_node_is_no_reason_to_try() -> None:
    """The claim grows, but not enough."""

    async def scenario() -> None:
        world = _make_world(LARGE_ONLY)
        world.add_node("n1")
        _show_claim(world, request="1Gi")
        world.add_pod(builders.make_pod("a").claim("data"))
        await world.settle()
        _show_claim(world, request="9Gi")
        world.clock.advance(10)
        await world.settle()
        assert _count_attempts(world) == 1
        assert _is_read(world) == (storage_requests.StorageRequest("", 9 * 2**30),)

    fakes.play(scenario())


def test_the_claim_of_a_placed_pod_wakes_a_pod_that_counts_it() -> None:
    """A pod that has to be near large ones waits until one has grown."""

    async def scenario() -> None:
        world = _make_world(NEAR_LARGE)
        node = builders.make_node("n1").capacity(pods=5)
        world.nodes.upsert(node.labels({"kubernetes.io/hostname": "n1"}).build())
        _show_claim(world, request="1Gi")
        world.add_pod(builders.make_pod("db").claim("data").node("n1"))
        world.add_pod(builders.make_pod("a").labels(app="web"))
        await world.settle()
        for number in range(100):
            _show_claim(world, request="1Gi", annotations={"seen": str(number)})
            world.clock.advance(1)
            await world.settle()
        assert _count_attempts(world) == 1
        _show_claim(world, request="20Gi")
        world.clock.advance(10)
        await world.settle()
        assert world.bind.bound == [("a", "n1")]

    fakes.play(scenario())


def test_a_deleted_claim_requests_nothing() -> None:
    """A pod that waited is then without it."""

    async def scenario() -> None:
        world = _make_world(LARGE_ONLY.replace("<", ">"))
        world.add_node("n1")
        _show_claim(world, request="20Gi")
        world.add_pod(builders.make_pod("a").claim("data"))
        await world.settle()
        assert world.where("a") == "unschedulable"
        world.scheduler.events.storage[CLAIMS].delete(storage_builders.make_claim("data"))
        world.clock.advance(10)
        await world.settle()
        assert world.bind.bound == [("a", "n1")]

    fakes.play(scenario())


def test_claims_are_read_only_for_policies_that_name_them() -> None:
    """New policies renew the pods that are known already, and others let go of the claims."""

    async def scenario() -> None:
        world = _make_world(WITHOUT)
        _show_claim(world, class_name="fast")
        world.add_pod(builders.make_pod("a").claim("data"))
        await world.settle()
        assert _is_read(world) == ()
        world.scheduler.set_profiles(_make_framework(world, FAST_ONLY))
        assert _is_read(world) == (storage_requests.StorageRequest("fast", 2**30),)
        queued = world.queue.get("uid-default-a")
        assert queued is not None
        assert queued.info.shape.storage == _is_read(world)
        world.scheduler.set_profiles(_make_framework(world, WITHOUT))
        assert _is_read(world) == ()

    fakes.play(scenario())


def test_a_pod_that_is_gone_no_longer_uses_its_claims() -> None:
    """A claim that changes after that finds no pod to renew."""

    async def scenario() -> None:
        world = _make_world(FAST_ONLY)
        world.add_pod(builders.make_pod("a").claim("data").claim("data"))
        world.delete("a")
        _show_claim(world, class_name="fast")
        world.add_pod(builders.make_pod("a").claim("data"))
        assert _is_read(world) == (storage_requests.StorageRequest("fast", 2**30),)

    fakes.play(scenario())
