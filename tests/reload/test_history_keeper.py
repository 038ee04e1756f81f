"""Former versions are written by the leader, each once, whatever goes wrong meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import random
from collections.abc import AsyncIterator

import pytest

from policysched.kube import errors
from policysched.lang import source
from policysched.reload import history, history_keeper
from policysched.reload import state as states
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.reload import memory_store

NAME = "prod/policies-history"


class Scene:
    """One process that keeps three versions."""

    def __init__(self, store: memory_store.MemoryStore | None = None) -> None:
        self.store = store or memory_store.MemoryStore()
        self.is_leading = True
        self.pauses_seconds: list[float] = []
        self.keeper = history_keeper.HistoryKeeper(
            self.store, NAME, 3, lambda: self.is_leading, random.Random(1), self._sleep
        )

    async def _sleep(self, seconds: float) -> None:
        self.pauses_seconds.append(seconds)
        await asyncio.sleep(0)

    def load(self, version_hash: str, seconds: int) -> None:
        """Put a version to use."""
        texts = (source.SourceText("a.policy", version_hash),)
        time = builders.EPOCH + datetime.timedelta(seconds=seconds)
        self.keeper.add_version(states.VersionInUse(version_hash, texts, time), "here")

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let it write."""
        task = asyncio.create_task(self.keeper.run())
        await settle()
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    @property
    def kept(self) -> list[str]:
        """Hashes, newest first."""
        stored = self.store.objects.get(NAME)
        found = history.decode_versions_newest_first(stored.binary_data if stored else {})
        return [key.hash for key, _ in found]


async def settle() -> None:
    """Let everything go as far as it can."""
    for _ in range(30):
        await asyncio.sleep(0)


@asynchronous
async def test_versions_are_kept_in_order() -> None:
    """The ConfigMap is made with the first one; more than it keeps drop the oldest."""
    scene = Scene()
    async with scene.running():
        for seconds, version_hash in enumerate("abcd"):
            scene.load(version_hash, seconds)
            await settle()
        assert scene.kept == ["d", "c", "b"]


@asynchronous
async def test_a_restart_writes_nothing() -> None:
    """The version in use is kept already."""
    scene = Scene()
    scene.load("a", 0)
    async with scene.running():
        pass
    again = Scene(scene.store)
    again.load("a", 9)
    async with again.running():
        assert scene.store.writes == 1


@asynchronous
async def test_without_texts_there_is_nothing_to_keep() -> None:
    """The default profile needs no history."""
    scene = Scene()
    scene.keeper.add_version(states.VersionInUse("", (), builders.EPOCH), "none")
    async with scene.running():
        assert scene.store.objects == {}


@asynchronous
async def test_a_replica_that_takes_over_adds_what_is_missing() -> None:
    """While it stands by it writes nothing; what the leader has written stays in its order."""
    leader = Scene()
    standby = Scene(leader.store)
    standby.is_leading = False
    async with leader.running(), standby.running():
        for seconds, version_hash in enumerate("ab"):
            leader.load(version_hash, 10 * seconds)
            standby.load(version_hash, 10 * seconds + 1)
            await settle()
        assert leader.store.writes == 2
        leader.is_leading = False
        for each in (leader, standby):
            each.load("c", 30)
        standby.is_leading = True
        await settle()
        assert standby.kept == ["c", "b", "a"]
        assert leader.store.writes == 3


@pytest.mark.parametrize(
    "failure, is_kept",
    [
        pytest.param(errors.FencedWriteError("not now"), True, id="fenced"),
        pytest.param(errors.ConflictError(409, "Conflict", "changed"), True, id="conflict"),
        pytest.param(errors.ServerError(503, "Unavailable", "down"), True, id="server"),
        pytest.param(errors.TransportError("cut", may_have_arrived=True), True, id="cut"),
        pytest.param(errors.ForbiddenError(403, "Forbidden", "no"), True, id="forbidden"),
        pytest.param(errors.ApiError(422, "Invalid", "immutable"), False, id="immutable"),
    ],
)
@asynchronous
async def test_writes_that_fail(failure: Exception, *, is_kept: bool) -> None:
    """What may pass is tried again; what will not is given up, and the next one is tried."""
    scene = Scene()
    scene.store.failures = [failure]
    scene.load("a", 0)
    async with scene.running():
        assert scene.kept == (["a"] if is_kept else [])
        scene.load("b", 1)
        await settle()
        assert scene.kept == (["b", "a"] if is_kept else ["b"])


@asynchronous
async def test_waiting_versions_are_bounded() -> None:
    """A long outage leaves the newest ones to be written."""
    scene = Scene()
    scene.is_leading = False
    async with scene.running():
        for seconds in range(9):
            scene.load(f"{seconds}", seconds)
        await settle()
        scene.is_leading = True
        await settle()
        assert scene.kept == ["8", "7", "6"]


@asynchronous
async def test_a_right_that_is_missing_is_not_asked_for_all_the_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Somebody has to grant it first; until then the pauses grow, and one line is enough."""
    scene = Scene()
    scene.store.failures = [errors.ForbiddenError(403, "Forbidden", "no")] * 10
    scene.load("a", 0)
    async with scene.running():
        while not scene.kept:
            await settle()
    assert scene.pauses_seconds[0] <= 1.0
    assert 15.0 < scene.pauses_seconds[-1] <= 30.0
    assert caplog.text.count("cannot be written") == 1
