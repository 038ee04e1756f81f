"""Versions that pass stages: who decides, what is stored, and what failures and leaders change."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
from typing import TYPE_CHECKING

import msgspec

from policysched.config import config
from policysched.kube import errors
from policysched.reload import history
from policysched.reload import state as states
from policysched.reload.rollouts import (
    controller,
    guard_evaluation,
    measuring,
    parts,
    query_values,
    rollout_store,
)
from policysched.rollout import guards, progress, settings
from policysched.scheduler import counters
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.reload import memory_store
from tests.reload import test_reloader as reloads

if TYPE_CHECKING:
    from policysched.reload import versions

HISTORY = "ns/history"
PLAN = settings.RolloutSettings(
    stages=(settings.Stage(shadow=True), settings.Stage(percent=100)),
    guards=(settings.Guard("pending", measure="unschedulable", most=0.4),),
    min_pods=2,
)
NOWHERE = "policy north { for pods\n  nodeAffinity required side In (north) }\n"


class Scene(reloads.Scene):
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
                lambda offered: self.recipe.compute_hash(offered.texts),
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

    async def place_pods(self, count: int = 2) -> set[str | None]:
        """Return the nodes of new pods."""
        names = [f"pod-{self._pods + number}" for number in range(count)]
        self._pods += count
        for name in names:
            self.world.add_pod(builders.make_pod(name).scheduler_name("policysched"))
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


async def take_over_share_stage() -> Scene:
    """Return a standby, after another leader has ended in the share stage."""
    first = Scene()
    async with first.running():
        await first.lead()
        await first.enter_share_stage()
        await first.tick()
    return _make_standby(first)


async def take_over_rollback() -> Scene:
    """Return a standby, after another leader has rolled back NOWHERE."""
    first = Scene()
    async with first.running():
        await first.roll_back_nowhere()
    return _make_standby(first)


def _make_standby(first: Scene) -> Scene:
    standby = Scene(first.store)
    standby.is_leading = False
    return standby


@asynchronous
async def test_a_version_passes_its_stages() -> None:
    """In the shadow stage the version in force decides, in the next one the new one."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        assert await scene.stage(reloads.offer(reloads.WEST)) == ["staged"]
        assert await scene.place_pods() == {"east"}
        await scene.tick()
        assert (await scene.read_stored()).stage == 1
        assert await scene.place_pods() == {"west"}
        await scene.tick()
        assert scene.told[-1].outcome is states.OfferOutcome.LOADED
        assert scene.state.current.hash == scene.rollout.new_hash
        assert (await scene.read_stored()).status is progress.RolloutStatus.PROMOTED
        assert scene.live.staged is None
        assert scene.rollouts.outcomes == {"promoted": 1}


@asynchronous
async def test_a_version_is_rolled_back_and_waiting_pods_are_retried() -> None:
    """The former version decides about all pods at once; the state says why."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        assert await scene.stage(reloads.offer(NOWHERE)) == ["staged"]
        assert await scene.place_pods() == {"east"}
        await scene.tick()
        assert scene.rollout.status is progress.RolloutStatus.ROLLED_BACK
        assert "shadow" in scene.rollout.reason
        assert "pending: 1 > 0.4" in scene.rollout.reason
        assert scene.state.is_rolled_back
        assert await scene.take(reloads.offer(NOWHERE)) == []  # it is not tried again
        assert await scene.place_pods() == {"east"}


@asynchronous
async def test_pods_of_a_share_that_is_rolled_back_are_retried() -> None:
    """A pod that the new version left Pending is placed by the former one."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
        scene.world.nodes.delete(builders.make_node("west").build())
        assert await scene.place_pods() == {None}
        await scene.tick()
        assert scene.rollout.status is progress.RolloutStatus.ROLLED_BACK
        scene.world.clock.advance(20)
        await scene.world.settle()
        assert dict(scene.binder.bound)["pod-2"] == "east"


@asynchronous
async def test_a_stage_is_entered_only_if_it_is_stored() -> None:
    """After a failed write, the same stage goes on, and the step is taken again."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        assert await scene.stage(reloads.offer(reloads.WEST)) == ["staged"]
        await scene.tick()
        await scene.place_pods()
        scene.store.failures.append(errors.ServerError(500, "InternalError", "no"))
        with contextlib.suppress(errors.KubeError):
            await scene.tick()
        assert scene.rollout.stage == 0
        assert await scene.place_pods() == {"east"}
        await scene.tick()
        assert scene.rollout.stage == 1


@asynchronous
async def test_a_rollback_does_not_wait_for_its_write() -> None:
    """The write is repeated until it succeeds."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        assert await scene.stage(reloads.offer(NOWHERE)) == ["staged"]
        await scene.tick()
        await scene.place_pods()
        scene.store.failures.append(errors.ServerError(500, "InternalError", "no"))
        with contextlib.suppress(errors.KubeError):
            await scene.tick()
        assert scene.state.is_rolled_back
        assert (await scene.read_stored()).is_running
        await scene.tick()
        assert (await scene.read_stored()).status is progress.RolloutStatus.ROLLED_BACK


@asynchronous
async def test_the_next_leader_continues_in_the_stored_stage() -> None:
    """A process that never led begins its term in the share stage."""
    following = await take_over_share_stage()
    following.world.clock.advance(60)
    async with following.running():
        assert await following.take(reloads.offer(reloads.WEST)) == []
        assert following.state.rollout is None
        await following.lead()
        assert following.rollout.stage == 1
        assert await following.place_pods() == {"west"}
        await following.tick()
        assert following.state.current.hash == following.rollout.new_hash


@asynchronous
async def test_the_next_leader_does_not_try_a_version_that_was_rolled_back() -> None:
    """Until another version is offered in between."""
    following = await take_over_rollback()
    async with following.running():
        await following.take(reloads.offer(NOWHERE))
        await following.lead()
        assert following.state.is_rolled_back
        assert await following.place_pods() == {"east"}
        assert await following.take(reloads.offer(reloads.EAST)) == ["kept"]
        assert await following.stage(reloads.offer(NOWHERE)) == ["staged"]


@asynchronous
async def test_a_standby_uses_the_version_that_the_leader_uses() -> None:
    """The annotation of the ConfigMap names it."""
    scene = Scene()
    scene.is_leading = False
    async with scene.running():
        offered = reloads.offer(reloads.WEST)
        assert await scene.take(offered) == []
        in_use = scene.recipe.compute_hash(offered.texts)
        scene.rollouts.notice_offer(dataclasses.replace(offered, in_use=in_use))
        assert scene.state.current.hash == in_use
        assert await scene.place_pods() == {"west"}


@asynchronous
async def test_a_standby_that_checks_a_version_late_uses_it_too() -> None:
    """The leader had put it in force before."""
    scene = Scene()
    scene.is_leading = False
    offered = reloads.offer(reloads.WEST)
    in_use = scene.recipe.compute_hash(offered.texts)
    async with scene.running():
        assert "loaded" in await scene.take(dataclasses.replace(offered, in_use=in_use))
        assert await scene.place_pods() == {"west"}


@asynchronous
async def test_a_version_that_this_process_used_before_passes_no_stages() -> None:
    """A revert of an edit acts at once."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
        await scene.place_pods()
        await scene.tick()
        assert scene.state.current.hash == scene.rollout.new_hash
        assert await scene.take(reloads.offer(reloads.EAST)) == ["loaded"]


@asynchronous
async def test_an_edit_replaces_a_rollout() -> None:
    """The newest version begins its own; the former version in force ends it."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
        other = reloads.offer(reloads.WEST.replace("west {", "other {"))
        assert await scene.stage(other) == ["staged"]
        assert scene.rollout.stage == 0
        assert await scene.place_pods() == {"east"}
        assert await scene.take(reloads.offer(reloads.EAST)) == ["kept"]
        assert scene.live.staged is None
        assert not scene.rollout.is_running
        assert scene.rollouts.outcomes == {"replaced": 2}


@asynchronous
async def test_operators_hold_promote_and_abort() -> None:
    """A request counts for the version that it names."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        assert await scene.stage(reloads.offer(reloads.WEST)) == ["staged"]
        await _request(scene, "pause")
        await scene.place_pods()
        await scene.tick()
        assert (scene.rollout.stage, scene.rollout.is_paused) == (0, True)
        await _request(scene, "promote 0123")
        assert (scene.rollout.stage, scene.rollout.is_paused) == (0, True)
        await _request(scene, "resume")
        assert (scene.rollout.stage, scene.rollout.is_paused) == (1, False)
        await _request(scene, "promote")
        assert scene.state.current.hash == scene.rollout.new_hash
        assert await scene.stage(reloads.offer(NOWHERE)) == ["staged"]
        await _request(scene, "abort")
        assert scene.rollout.reason == "an operator aborted the rollout"
        assert await scene.place_pods() == {"west"}


async def _request(scene: Scene, said: str) -> None:
    """Let an operator request something about the running rollout, unless `said` has a hash."""
    about = said if " " in said else f"{said} {scene.rollout.new_hash}"
    offered: versions.OfferedVersion = reloads.offer(reloads.WEST, rollout_request=about)
    scene.rollouts.notice_offer(offered)
    await scene.tick()


@asynchronous
async def test_a_version_that_was_in_force_before_passes_no_stages() -> None:
    """It acts at once, as after `policysched rollback`."""
    scene = Scene()
    former = scene.recipe.compute_hash(reloads.offer(reloads.WEST).texts)
    await scene.store.create_config_map(
        "ns",
        "history",
        {
            f"20260101T000000.000Z-{former}.json.gz": history.encode_version(
                former, "test", reloads.offer(reloads.WEST).texts
            )
        },
        {},
    )
    async with scene.running():
        await scene.lead()
        assert await scene.take(reloads.offer(reloads.WEST)) == ["loaded"]
        assert await scene.place_pods() == {"west"}


@asynchronous
async def test_guards_act_while_nothing_can_be_stored() -> None:
    """The version is rolled back, and the rollback is stored later."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
        scene.store.failures += [errors.ServerError(500, "InternalError", "no")] * 3
        scene.world.nodes.delete(builders.make_node("west").build())
        await scene.place_pods()
        await scene.tick()
        assert scene.state.is_rolled_back
        for _ in range(60):
            await scene.tick()
        assert (await scene.read_stored()).status is progress.RolloutStatus.ROLLED_BACK
        assert scene.rollouts.failed_requests == 3


@asynchronous
async def test_the_version_in_force_ends_a_rollout_while_reloads_are_frozen() -> None:
    """As `policysched rollback --freeze` writes it; a broken rollout.yaml does not matter."""
    for changes in ({"is_frozen": True}, {"rollout_text": "stages: nonsense"}):
        scene = Scene()
        async with scene.running():
            await scene.lead()
            await scene.enter_share_stage()
            await scene.take(dataclasses.replace(reloads.offer(reloads.EAST), **changes))
            assert scene.rollout.status is progress.RolloutStatus.REPLACED
            assert await scene.place_pods() == {"east"}


@asynchronous
async def test_a_pause_outlives_its_annotation_and_stops_the_clock_of_the_timeout() -> None:
    """`kubectl replace` can remove the annotation; the stored pause counts."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
        await _request(scene, "pause")
        scene.rollouts.notice_offer(reloads.offer(reloads.WEST))
        await scene.place_pods()
        scene.world.clock.advance(48 * 3600)
        await scene.tick()
        assert (scene.rollout.is_paused, scene.rollout.is_running) == (True, True)
        await _request(scene, "resume")
        assert scene.state.current.hash == scene.rollout.new_hash


@asynchronous
async def test_a_former_leader_follows_the_next_one() -> None:
    """It rolled back, but could not store that; the next leader promoted the version."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
        scene.store.failures.append(errors.ServerError(500, "InternalError", "no"))
        scene.world.nodes.delete(builders.make_node("west").build())
        await scene.place_pods()
        await scene.tick()
        assert scene.state.is_rolled_back
        await scene.stand_by()
        promoted = reloads.offer(reloads.WEST)
        in_use = scene.recipe.compute_hash(promoted.texts)
        scene.rollouts.notice_offer(dataclasses.replace(promoted, in_use=in_use))
        assert scene.state.current.hash == in_use


@asynchronous
async def test_a_standby_has_no_running_rollout() -> None:
    """Another process continues it."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
        await scene.stand_by()
        assert scene.state.rollout is None
        await scene.lead()
        assert scene.rollout.stage == 1


@asynchronous
async def test_an_edit_after_a_restart_begins_anew() -> None:
    """What is stored about an earlier rollout of the same version is no verdict."""
    following = await take_over_share_stage()
    async with following.running():
        await following.lead()
        assert (await following.read_stored()).status is progress.RolloutStatus.REPLACED
        assert await following.stage(reloads.offer(reloads.WEST)) == ["staged"]
        assert following.rollout.stage == 0


@asynchronous
async def test_preemptors_wait_for_their_victims() -> None:
    """A pod with a nominated node is not unschedulable."""
    scene = Scene()
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
        decision = scene.world.scheduler.decisions.find_latest_decision("default/pod-0")
        assert decision is not None
        nominated = msgspec.structs.replace(
            decision,
            policy_hash=scene.rollout.new_hash,
            started_seconds=scene.world.clock.monotonic_seconds(),
            result=counters.AttemptResult.UNSCHEDULABLE,
            nominated_node_name="west",
        )
        scene.rollouts.evaluator.measured._count_decision(nominated)
        assert scene.rollouts.evaluator.measured.new.unschedulable_share == 0.0


@asynchronous
async def test_a_fault_of_a_query_makes_the_stage_wait() -> None:
    """Its last good value is not used any more."""
    scene = Scene()

    async def fail(*_: object, **__: object) -> dict[str, float | str]:
        raise MemoryError

    queries = query_values.GuardQueryClient({})
    queries.ask_all = fail  # type: ignore[method-assign]  # a server that breaks it
    measured = scene.rollouts.evaluator.measured
    evaluator = guard_evaluation.GuardEvaluator(measured, queries, scene.world.clock)
    guard = settings.Guard("errors", query="x{$new_pods}", most=0.1)
    plan = settings.RolloutSettings((settings.Stage(percent=50),), (guard,))
    state = progress.start_rollout(plan, "new", "old", scene.world.clock.now())
    evaluator.begin_stage(state, plan, scene.live.current)
    evaluator._query_values = {"errors": 0.0}
    scene.world.clock.advance(30)
    evaluator.evaluate(state, plan, scene.live.current)
    await asyncio.sleep(0)
    (verdict,) = evaluator.evaluate(state, plan, scene.live.current)
    assert verdict.state is guards.GuardState.UNKNOWN
    assert verdict.problem == "MemoryError: "


@asynchronous
async def test_decisions_are_followed_only_in_stages() -> None:
    """Without a rollout, a decision costs nothing more."""
    scene = Scene()
    log = scene.world.scheduler.decisions
    before = ([*log.listeners], [*log.end_listeners])
    async with scene.running():
        await scene.lead()
        assert (log.listeners, log.end_listeners) == before
        assert await scene.stage(reloads.offer(reloads.WEST)) == ["staged"]
        assert (log.listeners, log.end_listeners) != before
        assert await scene.take(reloads.offer(reloads.EAST)) == ["kept"]
        assert (log.listeners, log.end_listeners) == before
