"""Nominations that end, and nominations of pods that are about to be bound."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, status
from tests import builders
from tests.scheduler import fakes

WAIT = status.Status(status.Code.WAIT)
BROKEN = status.Status(status.Code.ERROR, ("no volume",))


class TestEnds:
    """Those who had to leave room hear of it."""

    @staticmethod
    async def crowd() -> fakes.World:
        """Return a full node to which `n` is nominated, while others do not fit either."""
        world = fakes.World()
        world.add_node("n1", pods=0)
        for name, priority in (("low", 1), ("equal", 5), ("high", 9)):
            world.add_pod(builders.make_pod(name).priority(priority))
        world.add_pod(builders.make_pod("n").priority(5).nominated("n1"))
        await world.settle()
        assert world.queue.nominator.get_nominated_node("uid-default-n") == "n1"
        return world

    @staticmethod
    def woken(world: fakes.World) -> list[str]:
        """Return who was told."""
        return [name for name in ("low", "equal", "high", "n") if world.where(name) == "backoff"]

    def test_deleted(self) -> None:
        """A nominated pod that is gone needs no room."""

        async def scenario() -> None:
            world = await self.crowd()
            world.delete("n")
            assert self.woken(world) == ["low", "equal"]

        fakes.play(scenario())

    def test_taken_back_by_others(self) -> None:
        """The pod itself looks for another node, the others may take this one."""

        async def scenario() -> None:
            world = await self.crowd()
            world.add_pod(builders.make_pod("n").priority(5))
            assert self.woken(world) == ["low", "equal", "n"]

        fakes.play(scenario())

    @pytest.mark.parametrize(
        "node_name, expected",
        [
            pytest.param("n1", [], id="where it was nominated"),
            pytest.param("n2", ["low", "equal"], id="elsewhere"),
        ],
    )
    def test_bound_by_another_scheduler(self, node_name: str, expected: list[str]) -> None:
        """Room is free again only where the pod did not go."""

        async def scenario() -> None:
            world = await self.crowd()
            world.pods.upsert(builders.make_pod("n").priority(5).node(node_name).build())
            assert self.woken(world) == expected

        fakes.play(scenario())

    def test_assumed_elsewhere(self) -> None:
        """A nominated pod that finds a better place leaves room behind at once."""

        async def scenario() -> None:
            world = await self.crowd()
            world.bind.hold = asyncio.Event()
            world.queue.activate(["uid-default-n"])
            world.nodes.upsert(builders.make_node("n2").capacity(pods=1).build())
            assert world.scheduler.schedule_one()
            while world.where("n") != "assumed":
                assert world.scheduler.schedule_one()
            assert world.queue.nominator.get_nominated_node("uid-default-n") is None
            world.bind.hold.set()
            await world.settle()

        fakes.play(scenario())


class TestExpectations:
    """A pod's node is made known before it is bound, if that will take a while."""

    @pytest.mark.parametrize(
        "scripted, expected",
        [
            pytest.param(None, [], id="bound at once"),
            pytest.param(
                fakes.Scripted(permit_answer=WAIT), [("default/a", "n1")], id="waits for Permit"
            ),
            pytest.param(fakes.Scripted(), [("default/a", "n1")], id="PreBind has work"),
        ],
    )
    def test_written_when_it_is_worth_it(
        self, scripted: fakes.Scripted | None, expected: list[tuple[str, str]]
    ) -> None:
        """Only waiting for Permit and work of PreBind are worth a write."""

        async def scenario() -> None:
            world = fakes.World(*(() if scripted is None else (scripted,)))
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert world.recorder.nominations == expected
            assert world.queue.nominator.get_nominated_node("uid-default-a") is None

        fakes.play(scenario())

    @pytest.mark.parametrize("permit", [status.SUCCESS, WAIT], ids=["permitted", "waits"])
    @pytest.mark.parametrize(
        "answer, message",
        [
            pytest.param(BROKEN, 'running PreBindPreFlight "Looks": no volume', id="error"),
            pytest.param(None, "plugin `Looks` failed at PreBindPreFlight: Zero", id="bug"),
        ],
    )
    def test_a_plugin_that_cannot_say(
        self, permit: status.Status, answer: status.Status | None, message: str
    ) -> None:
        """The pod gives its place back and is tried again, whether it waits for Permit or not."""

        async def scenario() -> None:
            world = fakes.World(fakes.Scripted(permit_answer=permit), Looks(answer))
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert world.where("a") == "backoff"
            assert len(world.waiting) == 0
            ((_, condition, _),) = world.recorder.conditions
            assert condition.message.startswith(message)

        fakes.play(scenario())

    def test_taken_back_when_it_is_not_bound(self) -> None:
        """The write that tells of the failure takes the node back, seen or not."""

        async def scenario() -> None:
            world = fakes.World(fakes.Scripted(pre_bind_answer=BROKEN))
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            ((pod, condition, nominated),) = world.recorder.conditions
            assert (pod, condition.reason, nominated) == ("default/a", "SchedulerError", "")

        fakes.play(scenario())


@dataclasses.dataclass
class Looks:
    """Answers before PreBind, or breaks."""

    answer: status.Status | None
    name: str = "Looks"

    def pre_bind_pre_flight(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Answer."""
        if self.answer is None:
            raise ZeroDivisionError("division")
        return self.answer

    async def pre_bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Do nothing."""
        return status.SUCCESS


def test_a_listener_that_breaks_hurts_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Decisions are carried out, and told to the other listeners."""

    async def scenario() -> None:
        world = fakes.World()
        heard: list[str] = []

        def broken(*_: object) -> None:
            raise RuntimeError("no room for more")

        world.scheduler.decisions.listeners.append(broken)
        world.scheduler.decisions.listeners.append(lambda decision, *_: heard.append(decision.pod))
        world.add_node("n1")
        world.add_pod("a")
        await world.settle()
        assert (heard, world.bind.bound) == (["default/a"], [("a", "n1")])

    fakes.play(scenario())
    assert "a listener failed on the decision about default/a" in caplog.text
