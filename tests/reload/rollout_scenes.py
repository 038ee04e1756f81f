"""A scheduler whose versions pass stages, and whose requests and ticks a test controls."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
from typing import TYPE_CHECKING

from policysched.config import config
from policysched.kube import errors
from policysched.reload import history
from policysched.reload.rollouts import (
    controller,
    guard_evaluation,
    measuring,
    parts,
    query_values,
    rollout_store,
)
from policysched.rollout import progress, settings
from tests import builders
from tests.reload import memory_store
from tests.reload import test_reloader as reloads

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from policysched.reload import versions

HISTORY = "ns/history"
PLAN = settings.RolloutSettings(
    stages=(settings.Stage(shadow=True), settings.Stage(percent=100)),
    guards=(settings.Guard("pending", measure="unschedulable", most=0.4),),
    min_pods=2,
)
FAILURE = errors.ServerError(500, "InternalError", "no")
OTHER = reloads.WEST.replace("west {", "other {")
NOWHERE = "policy north { for pods\n  nodeAffinity required side In (north) }\n"


class RolloutScene(reloads.Scene):
    """A scheduler whose versions pass the stages of PLAN."""

    def __init__(
        self, store: memory_store.MemoryStore | None = None, *, held_hash: str = ""
    ) -> None:
        super().__init__(configuration=config.Config(policies=config.PoliciesConfig(rollout=PLAN)))
        self.state.current = dataclasses.replace(
            self.state.current, texts=reloads.offer(reloads.EAST).texts
        )
        self.state.declares_stages = True
        self.store = store or memory_store.MemoryStore()
        self.is_leading = True
        self.rollout_store = rollout_store.RolloutStore(self.store, HISTORY)
        components = parts.RolloutParts(
            self.live,
            self.state,
            parts.RolloutSource(
                self._catch_up,
                lambda: self.reloads.is_busy,
                lambda: self.reloads.is_hindered,
                lambda offered: self.checker.compute_hash(offered.texts),
                held_hash,
            ),
            self.rollout_store,
            guard_evaluation.GuardEvaluator(
                measuring.StageMeasurements(self.world.scheduler, self.world.clock),
                query_values.GuardQueryClient({}),
                self.world.clock,
            ),
            lambda: self.is_leading,
        )
        self.rollouts = controller.RolloutController(
            components, self.world.clock, random.Random(1), self._sleep
        )
        self.reloads.stages = self.rollouts
        self.rollouts.notice_offer(reloads.offer(reloads.EAST))
        self.behind: versions.OfferedVersion | None = None
        self.shown: versions.OfferedVersion | None = None
        self._term = contextlib.AsyncExitStack()
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._pods = 0

    async def _sleep(self, seconds: float) -> None:
        """Wait for a later tick, unless a term begins and waits."""
        if seconds < 0.2:
            await asyncio.sleep(0.001)
            return
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.world.clock.monotonic_seconds() + seconds, sleeper))
        await sleeper

    def _wake_sleepers(self) -> None:
        now_seconds = self.world.clock.monotonic_seconds()
        for at_seconds, sleeper in self._sleepers:
            if at_seconds <= now_seconds and not sleeper.done():
                sleeper.set_result(None)

    async def _catch_up(self) -> None:
        """Offer what the watch has not shown yet."""
        if self.behind is not None:
            await self.take(self.behind)
        if self.shown is not None:
            self.rollouts.notice_offer(self.shown)
            self.reloads.submit_offer(self.shown)

    async def take(self, *offers: versions.OfferedVersion) -> list[str]:
        """Offer versions to the reloader and to the controller."""
        for each in offers:
            self.rollouts.notice_offer(each)
        return await super().take(*offers)

    def add_pods(self, *pods: builders.PodBuilder) -> None:
        """Create pods of the profile."""
        for each in pods:
            self.world.add_pod(each.scheduler_name("policysched"))

    async def keep_in_history(self, offered: versions.OfferedVersion) -> str:
        """Store a version as one that was in force, and return its hash."""
        version_hash = self.checker.compute_hash(offered.texts)
        value = history.encode_version(version_hash, "test", offered.texts)
        key = f"20260101T000000.000Z-{version_hash}.json.gz"
        await self.store.create_config_map("ns", "history", {key: value}, {})
        return version_hash

    async def place_pods(self, count: int = 2) -> set[str | None]:
        """Return the nodes of new pods."""
        names = [f"pod-{self._pods + number}" for number in range(count)]
        self._pods += count
        self.add_pods(*map(builders.make_pod, names))
        await self.world.settle()
        bound = dict(self.binder.bound)
        return {bound.get(name) for name in names}

    async def lead(self) -> None:
        """Begin a term, and let the controller look once."""
        self.is_leading = True
        await self._term.enter_async_context(self.rollouts.lead())
        await self.tick()

    async def stand_by(self) -> None:
        """Lose the Lease, and end the term."""
        self.is_leading = False
        await self._term.aclose()

    async def stage(self, offered: versions.OfferedVersion) -> list[str]:
        """Offer a version, let the controller look once, and return what was told."""
        before = len(self.told)
        await self.take(offered)
        await self.tick()
        return [told.outcome.value for told in self.told[before:]]

    async def tick(self) -> None:
        """Let the controller look once, as it does each second."""
        self.world.clock.advance(1)
        self._wake_sleepers()
        await self.finish_requests()
        self.rollouts.tick()
        await self.finish_requests()

    async def finish_requests(self) -> None:
        """Let requests in the background end."""
        for _ in range(10):
            await asyncio.sleep(0.0005)

    async def enter_share_stage(self, text: str = reloads.WEST) -> None:
        """Offer a version and let it pass the shadow stage."""
        assert await self.stage(reloads.offer(text)) == ["staged"]
        await self.place_pods()
        await self.tick()
        assert self.rollout.stage == 1

    async def roll_back_nowhere(self) -> None:
        """Lead, and let the guards roll back a version."""
        await self.lead()
        assert await self.stage(reloads.offer(NOWHERE)) == ["staged"]
        await self.place_pods()
        await self.tick()
        assert self.state.is_rolled_back
        await self.tick()

    @property
    def rollout(self) -> progress.RolloutState:
        """The rollout of this process."""
        assert self.state.rollout is not None
        return self.state.rollout

    async def read_stored(self) -> progress.RolloutState:
        """Return the stored state."""
        found = (await self.rollout_store.read()).state
        assert found is not None
        return found


@contextlib.asynccontextmanager
async def leading() -> AsyncIterator[RolloutScene]:
    """Give a scheduler that leads; the version in force is EAST."""
    scene = RolloutScene()
    async with scene.running():
        await scene.lead()
        yield scene


@contextlib.asynccontextmanager
async def in_share_stage() -> AsyncIterator[RolloutScene]:
    """Give a leader with two pods, and with WEST in the share stage."""
    async with leading() as scene:
        await scene.enter_share_stage()
        yield scene


async def take_over_share_stage() -> RolloutScene:
    """Return a standby, after another leader has ended in the share stage."""
    async with in_share_stage() as first:
        await first.tick()
    return make_standby(first)


async def take_over_rollback() -> RolloutScene:
    """Return a standby, after another leader has rolled back NOWHERE."""
    first = RolloutScene()
    async with first.running():
        await first.roll_back_nowhere()
    return make_standby(first)


def make_standby(first: RolloutScene | None = None) -> RolloutScene:
    """Return a scheduler that does not lead, with the stored state of `first`."""
    standby = RolloutScene(None if first is None else first.store)
    standby.is_leading = False
    return standby
