"""Pods wake by timers when a condition on a time changes, and by no other event."""

from __future__ import annotations

import pytest

from policysched.compiler import compiler
from tests import builders
from tests.compiler import desk
from tests.scheduler import fakes

SPOT_FIRST = "policy p { for pods reject when not node(pool = spot) and waiting < 2m }"
GROWN_UP = "policy p { for pods reject when nodeAge < 2m }"


def _make_world(text: str) -> fakes.World:
    compiled = compiler.compile_program(desk.check(text)).profiles[0]
    return fakes.World(*compiled.plugins, time_bounds=compiled.time_bounds)


def _count_attempts(world: fakes.World) -> int:
    queued = world.queue.get("uid-default-a")
    assert queued is not None
    return queued.attempts


@pytest.mark.parametrize(
    "text, pod",
    [
        pytest.param(SPOT_FIRST, builders.make_pod("a"), id="waiting"),
        pytest.param(GROWN_UP, builders.make_pod("a"), id="node-age"),
        pytest.param(
            SPOT_FIRST.replace("waiting", "podAge"), builders.make_pod("a").created(0), id="pod-age"
        ),
    ],
)
def test_the_timer_wakes_the_pod_and_a_hundred_useless_events_do_not(
    text: str, pod: builders.PodBuilder
) -> None:
    """The pod is bound in the second in which the condition changes, after two attempts."""

    async def scenario() -> None:
        world = _make_world(text)
        world.nodes.upsert(builders.make_node("n1").capacity(pods=9).created(0).build())
        world.add_pod(pod)
        await world.settle()
        for number in range(100):
            changed = builders.make_node("n1").capacity(pods=9).created(0).labels(x=str(number))
            world.nodes.upsert(changed.build())
            world.clock.advance(1)
            await world.settle()
        assert _count_attempts(world) == 1
        due_seconds = world.scheduler.next_timer_seconds()
        assert due_seconds is not None
        world.clock.advance(19.9)
        assert due_seconds == pytest.approx(world.clock.monotonic_seconds() + 0.1)
        await world.settle()
        assert _count_attempts(world) == 1
        world.clock.advance(0.1)
        await world.settle()
        assert world.bind.bound == [("a", "n1")]

    fakes.play(scenario())


def test_the_time_of_a_pod_counts_from_its_condition() -> None:
    """Another process first tried the pod a minute ago."""

    async def scenario() -> None:
        world = _make_world(SPOT_FIRST)
        world.add_node("n1")
        world.add_pod(builders.make_pod("a").created(-900).tried(-60))
        await world.settle()
        assert world.where("a") == "unschedulable"
        world.clock.advance(60)
        await world.settle()
        assert world.bind.bound == [("a", "n1")]

    fakes.play(scenario())


def test_the_condition_has_the_time_of_the_first_attempt() -> None:
    """Although it is written again with another message, later."""

    async def scenario() -> None:
        world = _make_world(SPOT_FIRST)
        world.add_pod("a")
        await world.settle()
        world.clock.advance(30)
        world.add_node("n1")
        await world.settle()
        first_tried = int(builders.EPOCH.timestamp())
        since = [condition.since_seconds for _, condition, _ in world.recorder.conditions]
        assert since == [first_tried, first_tried]

    fakes.play(scenario())


def test_a_pod_that_no_time_helps_is_not_tried_again() -> None:
    """Two minutes pass, but the other rule goes on rejecting the node."""

    async def scenario() -> None:
        world = _make_world(f"{SPOT_FIRST[:-1]} reject when not node(disk = ssd) }}")
        world.add_node("n1")
        world.add_pod("a")
        await world.settle()
        world.clock.advance(120)
        world.scheduler.run_timers()
        assert world.where("a") == "unschedulable"
        assert _count_attempts(world) == 1

    fakes.play(scenario())


def test_policies_without_times_set_no_timers() -> None:
    """Only the flush of the queue is due."""

    async def scenario() -> None:
        world = _make_world("policy p { for pods reject when not node(pool = spot) }")
        world.add_node("n1")
        world.add_pod("a")
        await world.settle()
        assert world.scheduler.next_timer_seconds() == world.queue.next_flush_seconds

    fakes.play(scenario())
