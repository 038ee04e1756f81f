"""A scheduler that has done a bit of everything."""

from __future__ import annotations

from policysched.framework import status
from tests import builders
from tests.scheduler import fakes

_UNSCHEDULABLE_PODS = 6
"""Enough for a cycle in which single plugins are measured."""


async def _work(world: fakes.World, permit: fakes.Scripted) -> None:
    world.add_node("n1", pods=2)
    world.add_pod("a")
    await world.settle()
    world.bind.refusals.append("no such pod")
    world.add_pod("refused")
    await world.settle()
    permit.permit_answer = status.Status(status.Code.WAIT)
    world.add_pod("waits")
    await world.settle()
    world.clock.advance(3.0)
    world.waiting.allow("uid-default-waits", permit.name)
    await world.settle()
    permit.permit_answer = status.SUCCESS
    world.preempts.script["big"] = [("n1", ("a",))]
    world.add_pod(builders.make_pod("big").priority(9))
    for number in range(_UNSCHEDULABLE_PODS):
        world.add_pod(f"late-{number}")
    await world.settle()


class BusyWorld:
    """A world in which pods are bound at once and after a wait, undone and rejected.

    `a` is bound, `refused` is not and then finds no room, `waits` is bound after 3 s of Permit,
    `big` preempts `a`, and late ones find no room.
    """

    def __init__(self) -> None:
        """Make the world; nothing has happened yet."""
        self._permit = fakes.Scripted()
        self.world = fakes.World(self._permit, policies=("web-tier",))

    def play(self) -> fakes.World:
        """Let all of it happen."""
        fakes.play(_work(self.world, self._permit))
        return self.world


def play() -> fakes.World:
    """Return a busy world after all of it has happened."""
    return BusyWorld().play()
