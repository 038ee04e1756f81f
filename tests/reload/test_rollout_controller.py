"""Versions that pass stages: who decides, what is stored, and what failures and leaders change."""

from __future__ import annotations

import asyncio
import dataclasses

import msgspec

from policysched.reload import state as states
from policysched.reload.rollouts import guard_evaluation, query_values
from policysched.rollout import guards, progress, settings
from policysched.scheduler import counters
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.reload import rollout_scenes
from tests.reload import test_reloader as reloads


@asynchronous
async def test_a_version_passes_its_stages() -> None:
    """In the shadow stage the version in force decides, in the next one the new one."""
    async with rollout_scenes.leading() as scene:
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
    async with rollout_scenes.leading() as scene:
        assert await scene.stage(reloads.offer(rollout_scenes.NOWHERE)) == ["staged"]
        assert await scene.place_pods() == {"east"}
        await scene.tick()
        assert scene.rollout.status is progress.RolloutStatus.ROLLED_BACK
        assert "shadow" in scene.rollout.reason
        assert "pending: 1 > 0.4" in scene.rollout.reason
        assert scene.state.is_rolled_back
        assert (
            await scene.take(reloads.offer(rollout_scenes.NOWHERE)) == []
        )  # it is not tried again
        assert await scene.place_pods() == {"east"}


@asynchronous
async def test_pods_of_a_share_that_is_rolled_back_are_retried() -> None:
    """A pod that the new version left Pending is placed by the former one."""
    async with rollout_scenes.in_share_stage() as scene:
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
    async with rollout_scenes.leading() as scene:
        assert await scene.stage(reloads.offer(reloads.WEST)) == ["staged"]
        await scene.tick()
        await scene.place_pods()
        scene.store.failures.append(rollout_scenes.FAILURE)
        await scene.tick()
        assert scene.rollout.stage == 0
        assert await scene.place_pods() == {"east"}
        await scene.tick()
        assert scene.rollout.stage == 1


@asynchronous
async def test_a_rollback_does_not_wait_for_its_write() -> None:
    """The write is repeated until it succeeds."""
    async with rollout_scenes.leading() as scene:
        assert await scene.stage(reloads.offer(rollout_scenes.NOWHERE)) == ["staged"]
        await scene.tick()
        await scene.place_pods()
        scene.store.failures.append(rollout_scenes.FAILURE)
        await scene.tick()
        assert scene.state.is_rolled_back
        assert (await scene.read_stored()).is_running
        await scene.tick()
        assert (await scene.read_stored()).status is progress.RolloutStatus.ROLLED_BACK


@asynchronous
async def test_the_next_leader_continues_in_the_stored_stage() -> None:
    """A process that never led begins its term in the share stage."""
    following = await rollout_scenes.take_over_share_stage()
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
    following = await rollout_scenes.take_over_rollback()
    async with following.running():
        await following.take(reloads.offer(rollout_scenes.NOWHERE))
        await following.lead()
        assert following.state.is_rolled_back
        assert await following.place_pods() == {"east"}
        assert await following.take(reloads.offer(reloads.EAST)) == ["kept"]
        assert await following.stage(reloads.offer(rollout_scenes.NOWHERE)) == ["staged"]


@asynchronous
async def test_a_standby_uses_the_version_that_the_leader_uses() -> None:
    """The annotation of the ConfigMap names it."""
    scene = rollout_scenes.make_standby()
    async with scene.running():
        offered = reloads.offer(reloads.WEST)
        assert await scene.take(offered) == []
        in_use = scene.checker.compute_hash(offered.texts)
        scene.rollouts.notice_offer(dataclasses.replace(offered, in_use=in_use))
        assert scene.state.current.hash == in_use
        assert await scene.place_pods() == {"west"}


@asynchronous
async def test_a_standby_that_checks_a_version_late_uses_it_too() -> None:
    """The leader had put it in force before."""
    scene = rollout_scenes.make_standby()
    offered = reloads.offer(reloads.WEST)
    in_use = scene.checker.compute_hash(offered.texts)
    async with scene.running():
        assert "loaded" in await scene.take(dataclasses.replace(offered, in_use=in_use))
        assert await scene.place_pods() == {"west"}


@asynchronous
async def test_a_version_that_this_process_used_before_passes_no_stages() -> None:
    """A revert of an edit acts at once."""
    async with rollout_scenes.in_share_stage() as scene:
        await scene.place_pods()
        await scene.tick()
        assert scene.state.current.hash == scene.rollout.new_hash
        assert await scene.take(reloads.offer(reloads.EAST)) == ["loaded"]


@asynchronous
async def test_an_edit_replaces_a_rollout() -> None:
    """The newest version begins its own; the former version in force ends it."""
    async with rollout_scenes.in_share_stage() as scene:
        other = reloads.offer(rollout_scenes.OTHER)
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
    async with rollout_scenes.leading() as scene:
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
        assert await scene.stage(reloads.offer(rollout_scenes.NOWHERE)) == ["staged"]
        await _request(scene, "abort")
        assert scene.rollout.reason == "an operator aborted the rollout"
        assert await scene.place_pods() == {"west"}


async def _request(scene: rollout_scenes.RolloutScene, text: str) -> None:
    """Let an operator request something about the running rollout, unless `text` has a hash."""
    request = text if " " in text else f"{text} {scene.rollout.new_hash}"
    scene.rollouts.notice_offer(reloads.offer(reloads.WEST, rollout_request=request))
    await scene.tick()


@asynchronous
async def test_a_version_that_was_in_force_before_passes_no_stages() -> None:
    """It acts at once, as after `policysched rollback`."""
    scene = rollout_scenes.RolloutScene()
    await scene.keep_in_history(reloads.offer(reloads.WEST))
    async with scene.running():
        await scene.lead()
        assert await scene.take(reloads.offer(reloads.WEST)) == ["loaded"]
        assert await scene.place_pods() == {"west"}


@asynchronous
async def test_guards_act_while_nothing_can_be_stored() -> None:
    """The version is rolled back, and the rollback is stored later."""
    async with rollout_scenes.in_share_stage() as scene:
        scene.store.failures += [rollout_scenes.FAILURE] * 3
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
        async with rollout_scenes.in_share_stage() as scene:
            await scene.take(dataclasses.replace(reloads.offer(reloads.EAST), **changes))
            assert scene.rollout.status is progress.RolloutStatus.REPLACED
            assert await scene.place_pods() == {"east"}


@asynchronous
async def test_a_pause_outlives_its_annotation_and_stops_the_clock_of_the_timeout() -> None:
    """`kubectl replace` can remove the annotation; the stored pause counts."""
    async with rollout_scenes.in_share_stage() as scene:
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
    async with rollout_scenes.in_share_stage() as scene:
        scene.store.failures.append(rollout_scenes.FAILURE)
        scene.world.nodes.delete(builders.make_node("west").build())
        await scene.place_pods()
        await scene.tick()
        assert scene.state.is_rolled_back
        await scene.stand_by()
        promoted = reloads.offer(reloads.WEST)
        in_use = scene.checker.compute_hash(promoted.texts)
        scene.rollouts.notice_offer(dataclasses.replace(promoted, in_use=in_use))
        assert scene.state.current.hash == in_use


@asynchronous
async def test_a_standby_has_no_running_rollout() -> None:
    """Another process continues it."""
    async with rollout_scenes.in_share_stage() as scene:
        await scene.stand_by()
        assert scene.state.rollout is None
        await scene.lead()
        assert scene.rollout.stage == 1


@asynchronous
async def test_an_edit_after_a_restart_begins_anew() -> None:
    """What is stored about an earlier rollout of the same version is no verdict."""
    following = await rollout_scenes.take_over_share_stage()
    async with following.running():
        await following.lead()
        assert (await following.read_stored()).status is progress.RolloutStatus.REPLACED
        assert await following.stage(reloads.offer(reloads.WEST)) == ["staged"]
        assert following.rollout.stage == 0


@asynchronous
async def test_preemptors_wait_for_their_victims() -> None:
    """A pod with a nominated node is not unschedulable."""
    async with rollout_scenes.in_share_stage() as scene:
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
    scene = rollout_scenes.RolloutScene()

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
    scene = rollout_scenes.RolloutScene()
    log = scene.world.scheduler.decisions
    before = ([*log.listeners], [*log.end_listeners])
    async with scene.running():
        await scene.lead()
        assert (log.listeners, log.end_listeners) == before
        assert await scene.stage(reloads.offer(reloads.WEST)) == ["staged"]
        assert (log.listeners, log.end_listeners) != before
        assert await scene.take(reloads.offer(reloads.EAST)) == ["kept"]
        assert (log.listeners, log.end_listeners) == before
