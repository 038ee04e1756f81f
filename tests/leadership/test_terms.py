"""Terms: scheduling between election and loss, and how a process ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from policysched.leadership import runner
from tests.scheduler import fakes


class Elector:
    """Leads when the test says so.

    Attributes:
        elected, lost: set by the test.
        candidacies: one for each call of `acquire`.
        calls: what was asked of it.
    """

    is_leading = False
    holder = ""

    def __init__(self) -> None:
        self.elected = asyncio.Event()
        self.lost = asyncio.Event()
        self.calls: list[str] = []
        self.candidacies: asyncio.Queue[None] = asyncio.Queue()

    def overdue_seconds(self) -> float:
        """Never late."""
        return 0.0

    async def next_candidacy(self) -> None:
        """Return when the process wants to be elected once more."""
        await self.candidacies.get()

    async def acquire(self) -> None:
        """Wait for the test."""
        self.calls.append("acquire")
        self.candidacies.put_nowait(None)
        await self.elected.wait()
        self.elected.clear()

    async def renew(self) -> None:
        """Wait for the test."""
        self.calls.append("renew")
        await self.lost.wait()
        self.lost.clear()

    async def release(self) -> None:
        """Note it."""
        self.calls.append("release")


class Scene:
    """A process with one node and, at first, one pod."""

    def __init__(self) -> None:
        self.world = fakes.World()
        self.world.add_node("n1", pods=10)
        self.world.add_pod("a")
        self.elector = Elector()
        self.lists = 0
        self.may_list = asyncio.Event()
        self.may_list.set()
        self.flushes = 0
        self.terms = runner.LeadershipRunner(
            self.elector, self.world.scheduler, refresh=self.refresh, last_writes_seconds=0.01
        )

    async def refresh(self) -> None:
        """Count lists."""
        self.lists += 1
        await self.may_list.wait()

    async def flush(self) -> None:
        """Count flushes; the lease must still be held."""
        assert "release" not in self.elector.calls
        self.flushes += 1

    @property
    def bound(self) -> list[str]:
        """Names of pods that were bound."""
        return [name for name, _ in self.world.bind.bound]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """Let the process run."""
        task = asyncio.create_task(self.terms.run())
        try:
            await settle()
            await self.elector.next_candidacy()
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def settle() -> None:
    """Let everybody run as far as they come."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_a_standby_takes_everything_in_and_decides_nothing() -> None:
    """Its cache and queue are full, and nobody outside has heard of it; then it leads at once."""

    async def scenario() -> None:
        scene = Scene()
        async with scene.running():
            assert scene.world.where("a") == "active"
            assert scene.world.cache.nodes.alive_count == 1
            assert scene.bound == []
            assert scene.world.recorder.events == []
            scene.elector.elected.set()
            await settle()
            assert scene.bound == ["a"]

    fakes.play(scenario())


def test_pods_are_listed_before_a_term() -> None:
    """Nothing is decided before what the former leader bound is known, each time anew."""

    async def scenario() -> None:
        scene = Scene()
        scene.may_list.clear()
        async with scene.running():
            scene.elector.elected.set()
            await settle()
            assert (scene.lists, scene.bound) == (1, [])
            scene.may_list.set()
            await settle()
            assert scene.bound == ["a"]
            scene.elector.lost.set()
            await scene.elector.next_candidacy()
            scene.elector.elected.set()
            await settle()
            assert scene.lists == 2

    fakes.play(scenario())


@pytest.mark.parametrize("is_listing", [False, True], ids=["scheduling", "still listing"])
def test_a_leader_that_is_lost_stands_by_and_may_lead_again(is_listing: bool) -> None:
    """What is being bound is undone in time, nothing new is begun, and the next term goes on."""

    async def scenario() -> None:
        scene = Scene()
        scene.world.bind.hold = asyncio.Event()
        if is_listing:
            scene.may_list.clear()
        async with scene.running() as running:
            scene.elector.elected.set()
            await settle()
            scene.elector.lost.set()
            await scene.elector.next_candidacy()
            assert scene.world.scheduler.bindings_in_flight == 0
            scene.world.add_pod("b")
            await settle()
            assert scene.bound == []
            assert not running.done()
            scene.world.bind.hold.set()
            scene.may_list.set()
            scene.elector.elected.set()
            await settle()
            scene.world.clock.advance(60.0)
            scene.world.scheduler.run_timers()
            await settle()
            assert sorted(scene.bound) == ["a", "b"]

    fakes.play(scenario())


def test_a_leader_that_ends_finishes_flushes_and_releases() -> None:
    """In this order; the lease is renewed until all is told, and let go of afterwards."""

    async def scenario() -> None:
        scene = Scene()
        async with scene.running() as running:
            scene.elector.elected.set()
            await settle()
            await scene.terms.stop_scheduling_and_flush(scene.flush)
            assert not running.done()
            assert scene.elector.calls == ["acquire", "renew"]
        await scene.terms.release_lease()
        assert scene.elector.calls[-1] == "release"
        assert (scene.flushes, scene.bound) == (1, ["a"])

    fakes.play(scenario())


def test_a_lease_runs_out_where_a_call_may_be_under_way() -> None:
    """A binding that was not finished in time may still be carried out: nobody may follow yet."""

    async def scenario() -> None:
        scene = Scene()
        scene.world.bind.hold = asyncio.Event()
        stop = scene.world.scheduler.stop

        async def impatient() -> bool:
            return await stop(grace_seconds=0.0)

        scene.world.scheduler.stop = impatient  # type: ignore[assignment,method-assign]  # without the grace of seconds
        async with scene.running():
            scene.elector.elected.set()
            await settle()
            await scene.terms.stop_scheduling_and_flush(scene.flush)
        await scene.terms.release_lease()
        assert "release" not in scene.elector.calls

    fakes.play(scenario())


def test_a_standby_that_ends_does_not_begin() -> None:
    """Elected in its last moment it schedules nothing, and lets go of the lease."""

    async def scenario() -> None:
        scene = Scene()
        async with scene.running():
            await scene.terms.stop_scheduling_and_flush(scene.flush)
            scene.elector.elected.set()
            await settle()
            assert scene.bound == []
        await scene.terms.release_lease()
        assert scene.elector.calls[-1] == "release"

    fakes.play(scenario())


def test_a_bug_in_scheduling_is_not_kept_quiet() -> None:
    """An exception ends the process instead of leaving a leader that does nothing."""

    async def scenario() -> None:
        scene = Scene()

        async def fail() -> None:
            raise RuntimeError("bug")

        scene.terms._refresh = fail
        async with scene.running() as running:
            scene.elector.elected.set()
            with pytest.raises(RuntimeError, match="bug"):
                await running

    fakes.play(scenario())


def test_without_an_election_there_is_one_term() -> None:
    """A process alone schedules at once, and does not list twice."""

    async def scenario() -> None:
        scene = Scene()
        scene.terms = runner.LeadershipRunner(runner.AlwaysLeader(), scene.world.scheduler)
        scene.elector.candidacies.put_nowait(None)  # nobody asks it
        async with scene.running():
            assert scene.bound == ["a"]
            await scene.terms.stop_scheduling_and_flush(scene.flush)
        await scene.terms.release_lease()
        assert (scene.lists, scene.flushes) == (0, 1)

    fakes.play(scenario())
