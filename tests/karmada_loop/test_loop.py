"""`karmada_loop/loop.py` and what /livez says of it, with writes that end when the test says so."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, cast

import pytest

from policysched.app import karmada_health_checks
from policysched.karmada_loop import loop
from policysched.leadership import runner
from policysched.serving import http_server
from tests.karmada.scheduler import test_scheduling
from tests.kube import asynchronous

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from policysched.karmada.scheduler import binding_scheduler
    from policysched.karmada_loop import binding_writer
    from policysched.kube.reading import watch_sync

AT_ONCE = 2


class Writes:
    """Writes that end when they may."""

    def __init__(self, world: test_scheduling.World) -> None:
        """Hold all of them up."""
        self.begun: list[str] = []
        self.have_begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self._world = world

    async def write_attempt(self, attempt: binding_scheduler.BindingAttempt) -> None:
        """Write one."""
        self.begun.append(attempt.binding.metadata.name)
        self.have_begun.set()
        await self.may_end.wait()
        self._world.decisions.end_attempt(attempt, is_retried=False)


class Scene:
    """A loop at work, and the pages about its health."""

    def __init__(self) -> None:
        """Make three bindings that can be placed."""
        self.world = test_scheduling.World()
        self.world.cluster("member1")
        for name in ("first", "second", "third"):
            self.world.binding(name, replicas=2)
        self.writes = Writes(self.world)
        self.stopping = asyncio.Event()
        self.loop = loop.BindingSchedulingLoop(
            self.world.decisions,
            self.world.handlers,
            cast("binding_writer.BindingWriter", self.writes),
            self.world.clock,
            asyncio.Event(),
            writes_at_once=AT_ONCE,
        )
        self._pages = karmada_health_checks.make_karmada_health_checks(
            karmada_health_checks.MonitoredKarmadaComponents(
                runner.AlwaysLeader(),
                cast("watch_sync.WatchSync", _Listed()),
                (),
                self.stopping,
                self.loop,
                self.world.queue,
                self.world.clock,
            )
        ).make_pages()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let the loop run until the end of the block."""
        task = asyncio.create_task(self.loop.run())
        try:
            await self.turns()
            yield
        finally:
            self.writes.may_end.set()
            await self.loop.stop()
            await task

    async def turns(self) -> None:
        """Let everything happen that can."""
        for _ in range(20):
            await asyncio.sleep(0)

    def problem(self, after_seconds: float = 0.0) -> str:
        """Return what /livez/scheduling says, "" for `ok`."""
        self.world.clock.advance(after_seconds)
        page = self._pages["/livez/scheduling"](http_server.QueryParameters())
        assert isinstance(page, http_server.HttpPage)
        return "" if page.status == 200 else page.body.decode()


class _Listed:
    """Everything has been listed."""

    def describe_unsynced_resources(self, names: object) -> str:
        del names
        return ""


@asynchronous.asynchronous
async def test_no_more_is_begun_than_may_be_written_at_once() -> None:
    """What is more waits for the end of a write."""
    scene = Scene()
    async with scene.running():
        assert scene.writes.begun == ["first", "second"]
        assert scene.loop.must_delay_new_attempt
        scene.writes.may_end.set()
        await scene.turns()
        assert scene.writes.begun == ["first", "second", "third"]


@asynchronous.asynchronous
async def test_nothing_is_decided_while_that_is_held_back() -> None:
    """It goes on by itself, as nobody says when it may."""
    scene = Scene()
    held_back = True
    scene.loop.is_held_back = lambda: held_back
    async with scene.running():
        assert scene.writes.begun == []
        held_back = False
        await scene.writes.have_begun.wait()


@asynchronous.asynchronous
async def test_livez_fails_when_bindings_wait_and_none_is_looked_at() -> None:
    """For as long as no decision takes; with a step it is well again."""
    scene = Scene()
    scene.loop.pause()
    async with scene.running():
        assert scene.problem() == ""
        assert scene.problem(karmada_health_checks.STUCK_SECONDS - 1.0) == ""
        assert "no attempt was made" in scene.problem(1.0)
        scene.loop.resume()
        await scene.turns()
        assert scene.problem() == ""


@asynchronous.asynchronous
async def test_livez_fails_when_writes_do_not_end() -> None:
    """Later, for an API server may be slow."""
    scene = Scene()
    async with scene.running():
        assert scene.problem() == ""
        assert scene.problem(karmada_health_checks.STUCK_WRITES_SECONDS - 1.0) == ""
        assert "no write has ended" in scene.problem(1.0)


@pytest.mark.parametrize("reason", ["stands by", "nothing to do", "is stopping", "held back"])
@asynchronous.asynchronous
async def test_livez_is_fine_where_nothing_is_to_be_done(reason: str) -> None:
    """However long nothing happens."""
    scene = Scene()
    scene.loop.pause()
    if reason == "nothing to do":
        scene.loop.resume()
        scene.writes.may_end.set()
    if reason == "held back":
        scene.loop.is_held_back = lambda: True
    if reason == "is stopping":
        scene.stopping.set()
    async with contextlib.AsyncExitStack() as stack:
        if reason != "stands by":
            await stack.enter_async_context(scene.running())
        assert scene.problem() == ""
        assert scene.problem(10 * karmada_health_checks.STUCK_WRITES_SECONDS) == ""
