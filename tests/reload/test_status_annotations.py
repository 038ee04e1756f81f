"""The status on the ConfigMap: written by the leader, once for each change."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from policysched.kube import config_maps, errors
from policysched.reload import state as states
from policysched.reload import status_annotations, versions
from policysched.rollout import progress, settings
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.reload import memory_store

NAME = "prod/policies"
REFUSAL = versions.VersionRefusal("bad", "first", "all\nof\nthem", ValueError())


class Scene:
    """A process, the ConfigMap, and what the process has seen of it."""

    def __init__(self) -> None:
        self.store = memory_store.MemoryStore()
        self.watched = status_annotations.WatchedConfigMap(self._read, random.Random(1))
        self.watched.record_state(self.store.put(NAME, {}))
        self.state = states.PolicyState("here", states.VersionInUse("good", (), builders.EPOCH))
        self.is_leading = True
        self.is_patient = False
        self.pauses_seconds: list[float] = []
        self.status = status_annotations.StatusAnnotationWriter(
            self.state,
            self.watched,
            self.store,
            lambda: self.is_leading,
            random.Random(1),
            self._sleep,
        )
        self.state.listeners.append(lambda _event: self.status.request_write())

    async def _sleep(self, seconds: float) -> None:
        self.pauses_seconds.append(seconds)
        if self.is_patient:
            await asyncio.Event().wait()
        await asyncio.sleep(0)

    async def _read(self) -> config_maps.ConfigMap | None:
        return self.store.objects.get(NAME)

    def watch(self) -> None:
        """Let the watch catch up."""
        self.watched.record_state(self.store.objects.get(NAME))

    @property
    def told(self) -> dict[str, str]:
        """The annotations, without what their names begin with."""
        found = self.store.objects[NAME].metadata.annotations
        return {key.removeprefix("policysched.io/"): value for key, value in found.items()}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let it write."""
        task = asyncio.create_task(self.status.run())
        await settle()
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def settle() -> None:
    """Let everything go as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


@asynchronous
async def test_what_is_told() -> None:
    """The version in use from the start on; why another one is refused, until it is mended."""
    scene = Scene()
    async with scene.running():
        assert scene.told == {"hash": "good", "status": "ok"}
        scene.state.record_refusal(REFUSAL, builders.EPOCH)
        await settle()
        assert scene.told == {"hash": "good", "status": "refused", "errors": "all\nof\nthem"}
        scene.state.record_loaded_version(states.VersionInUse("mended", (), builders.EPOCH))
        await settle()
        assert scene.told == {"hash": "mended", "status": "ok"}
        scene.state.is_frozen = True
        scene.state.record_frozen_offer("other")
        await settle()
        assert scene.told == {"hash": "mended", "status": "frozen"}


@asynchronous
async def test_warnings_of_the_version_in_use() -> None:
    """They stay while a bad version is refused, and go with the version that they are about."""
    scene = Scene()
    warnings = ("a:1:8: PS806: unused", "b:2:1: PS804: old")
    scene.state.current = states.VersionInUse("good", (), builders.EPOCH, warnings)
    async with scene.running():
        assert scene.told["warnings"] == "a:1:8: PS806: unused\nb:2:1: PS804: old"
        scene.state.record_refusal(REFUSAL, builders.EPOCH)
        await settle()
        assert scene.told["warnings"] == "a:1:8: PS806: unused\nb:2:1: PS804: old"
        scene.state.record_loaded_version(states.VersionInUse("mended", (), builders.EPOCH))
        await settle()
        assert scene.told == {"hash": "mended", "status": "ok"}


@asynchronous
async def test_annotations_of_a_rollout_stay_until_it_is_known() -> None:
    """A new leader would remove the request of an operator that it has not read."""
    scene = Scene()
    asked = {"policysched.io/rollout-request": "abort new", "policysched.io/status": "rollout"}
    asked["policysched.io/rollout"] = "new: stage 1"
    scene.watched.record_state(scene.store.put(NAME, {}, asked))
    scene.state.is_rollout_stored = False
    async with scene.running():
        assert scene.told == {
            "hash": "good",
            "rollout-request": "abort new",
            "rollout": "new: stage 1",
            "status": "rollout",
        }
        scene.state.record_refusal(REFUSAL, builders.EPOCH)
        await settle()
        assert scene.told["status"] == "refused"
        plan = settings.RolloutSettings((settings.Stage(percent=50),))
        scene.state.rollout = progress.start_rollout(plan, "new", "good", builders.EPOCH)
        scene.state.record_staged_version("new")
        scene.state.is_rollout_stored = True
        await settle()
        assert scene.told["status"] == "rollout"
        assert scene.told["rollout"].startswith("new: stage 1 of 1")
        assert scene.told["rollout-request"] == "abort new"


@asynchronous
async def test_a_rollback_is_not_called_a_refusal_before_its_state_is_read() -> None:
    """The same process leads again."""
    scene = Scene()
    rolled_back = {"policysched.io/status": "rolledBack", "policysched.io/errors": REFUSAL.details}
    scene.watched.record_state(scene.store.put(NAME, {}, rolled_back))
    scene.state.is_rollout_stored = False
    scene.state.record_refusal(REFUSAL, builders.EPOCH)
    async with scene.running():
        assert scene.told["status"] == "rolledBack"
        assert scene.told["errors"] == REFUSAL.details


@asynchronous
async def test_the_watch_catches_up_with_the_cluster() -> None:
    """A new leader waits for it before it acts."""
    scene = Scene()
    scene.store.put(NAME, {"a.policy": "newer"})
    catching_up = asyncio.create_task(scene.watched.catch_up())
    await settle()
    assert not catching_up.done()
    scene.watch()
    await catching_up


@asynchronous
async def test_a_request_about_another_version_is_removed() -> None:
    """It would act as soon as its version is tried again."""
    scene = Scene()
    key = status_annotations.ROLLOUT_REQUEST
    for asked, kept in (("promote old", None), ("pause new", "pause new")):
        scene.watched.record_state(scene.store.put(NAME, {}, {key: asked}))
        plan = settings.RolloutSettings((settings.Stage(percent=50),))
        scene.state.rollout = progress.start_rollout(plan, "new", "good", builders.EPOCH)
        async with scene.running():
            scene.state.record_staged_version("new")
            await settle()
        assert scene.told.get(key.removeprefix("policysched.io/")) == kept


@asynchronous
async def test_the_watch_may_be_behind() -> None:
    """What is written is the whole status, and not how it differs from what was seen last."""
    scene = Scene()
    async with scene.running():
        for _ in range(2):
            scene.state.record_refusal(REFUSAL, builders.EPOCH)
            await settle()
            scene.state.record_unchanged_offer()
            await settle()
        assert scene.told == {"hash": "good", "status": "ok"}


@asynchronous
async def test_it_is_written_once() -> None:
    """Its own write, seen by the watch, is no reason for another one, nor is anybody else's."""
    scene = Scene()
    async with scene.running():
        scene.watch()
        scene.state.record_unchanged_offer()
        await settle()
        scene.store.put(NAME, {}, {status_annotations.HASH: "by another scheduler"})
        await settle()
        assert scene.store.writes == 1


@asynchronous
async def test_only_the_leader_writes() -> None:
    """Who stands by writes nothing while it does, and what is missing when it leads."""
    scene = Scene()
    scene.is_leading = False
    async with scene.running():
        assert scene.store.writes == 0
        scene.is_leading = True
        await settle()
        assert scene.told == {"hash": "good", "status": "ok"}


@asynchronous
async def test_who_takes_over_leaves_a_true_status_alone() -> None:
    """The former leader has written the same."""
    scene = Scene()
    told = {status_annotations.HASH: "good", status_annotations.STATUS: "ok"}
    scene.store.put(NAME, {}, told)
    scene.watch()
    async with scene.running():
        assert scene.store.writes == 0


@asynchronous
async def test_writes_that_fail_are_made_again() -> None:
    """The lease was lost for a moment, the server was down: the status comes later."""
    scene = Scene()
    scene.store.failures = [
        errors.FencedWriteError("not now"),
        errors.ServerError(503, "ServiceUnavailable", "down"),
        errors.TransportError("cut", may_have_arrived=True),
    ]
    async with scene.running():
        assert scene.told == {"hash": "good", "status": "ok"}


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(errors.ForbiddenError(403, "Forbidden", "no"), id="a right that is missing"),
        pytest.param(errors.ApiError(400, "BadRequest", "no"), id="a webhook that rejects it"),
        pytest.param(errors.ServerError(503, "ServiceUnavailable", "no"), id="an outage"),
    ],
)
@asynchronous
async def test_what_goes_on_failing_is_tried_ever_less_often_and_told_once(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody may grant the right later; until then nobody is flooded."""
    caplog.set_level(logging.INFO)
    scene = Scene()
    scene.store.failures = [failure] * 10
    async with scene.running():
        while not scene.store.writes:
            await settle()
        assert scene.told == {"hash": "good", "status": "ok"}
    assert len(scene.pauses_seconds) == 10
    assert scene.pauses_seconds[0] <= 1.0
    assert 15.0 < scene.pauses_seconds[-1] <= 30.0
    assert caplog.text.count("cannot be written") == 1
    assert caplog.text.count("was written after retries") == 1


@asynchronous
async def test_news_do_not_wait_for_the_next_try() -> None:
    """A change is told at once, if it can be."""
    scene = Scene()
    scene.is_patient = True
    scene.store.failures = [errors.ForbiddenError(403, "Forbidden", "no")]
    async with scene.running():
        assert scene.store.writes == 0
        scene.state.record_unchanged_offer()
        await settle()
        assert scene.store.writes == 1


@asynchronous
async def test_what_somebody_takes_away_is_told_again() -> None:
    """`kubectl replace` keeps the object and drops the status; a start would not know it."""
    scene = Scene()
    async with scene.running():
        taken = dict.fromkeys((status_annotations.HASH, status_annotations.STATUS))
        await scene.store.annotate_config_map(scene.store.objects[NAME], taken)
        assert scene.told == {}
        scene.watch()
        scene.status.request_write()
        await settle()
        assert scene.told == {"hash": "good", "status": "ok"}


@asynchronous
async def test_another_object_of_the_same_name_is_told_too() -> None:
    """It was deleted and created again; meanwhile there was nothing to write to."""
    scene = Scene()
    async with scene.running():
        del scene.store.objects[NAME]
        scene.watch()
        scene.state.record_refusal(REFUSAL, builders.EPOCH)
        await settle()
        scene.store.put(NAME, {})
        scene.watch()
        scene.state.record_unchanged_offer()
        await settle()
        assert scene.told == {"hash": "good", "status": "ok"}


def test_long_errors_are_cut() -> None:
    """Whole characters, and not more than a few KiB."""
    text = status_annotations.truncate_with_ellipsis("ä" * 10_000)
    assert len(text.encode()) <= status_annotations.MAX_ERRORS_BYTES
    assert text.endswith("ä\n...")
    assert status_annotations.truncate_with_ellipsis("short") == "short"
