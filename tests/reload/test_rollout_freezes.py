"""Freezes while a version waits, passes stages or was rolled back."""

from __future__ import annotations

import dataclasses

from policysched.reload import versions
from policysched.rollout import progress
from tests.kube.asynchronous import asynchronous
from tests.reload import rollout_scenes
from tests.reload import test_reloader as reloads


@asynchronous
async def test_a_freeze_holds_the_stage() -> None:
    """Without it, the rollout goes on in the same stage."""
    async with rollout_scenes.in_share_stage() as scene:
        await scene.take(reloads.offer(reloads.WEST, is_frozen=True))
        assert await scene.place_pods() == {"west"}
        await scene.tick()
        assert scene.rollout.stage == 1
        await scene.take(reloads.offer(reloads.WEST))
        assert (scene.rollout.stage, scene.rollout.is_running) == (1, True)
        await scene.tick()
        assert scene.state.current.hash == scene.rollout.new_hash
        assert scene.rollouts.outcomes == {"promoted": 1}


@asynchronous
async def test_a_freeze_does_not_let_a_version_be_tried_again() -> None:
    """The policies have not changed; after another version they have."""
    async with rollout_scenes.leading() as scene:
        await scene.stage(reloads.offer(rollout_scenes.NOWHERE))
        await scene.place_pods()
        await scene.tick()
        assert scene.state.is_rolled_back
        reason = scene.rollout.reason
        await scene.take(reloads.offer(rollout_scenes.NOWHERE, is_frozen=True))
        await scene.take(reloads.offer(rollout_scenes.NOWHERE))
        assert scene.state.is_rolled_back
        assert scene.rollout.reason == reason
        assert await scene.take(reloads.offer(reloads.EAST)) == ["kept"]
        assert await scene.stage(reloads.offer(rollout_scenes.NOWHERE)) == ["staged"]


@asynchronous
async def test_an_edit_back_in_a_freeze_without_a_leader_ends_the_rollout() -> None:
    """As `policysched rollback --freeze` writes it."""
    following = await rollout_scenes.take_over_share_stage()
    async with following.running():
        await following.take(reloads.offer(reloads.WEST))
        await following.take(reloads.offer(reloads.EAST, is_frozen=True))
        await following.lead()
        await following.tick()
        assert following.state.is_rollout_stored
        assert (await following.read_stored()).status is progress.RolloutStatus.REPLACED
        assert following.rollouts.outcomes == {"replaced": 1}


@asynchronous
async def test_a_freeze_holds_a_version_that_has_not_begun() -> None:
    """On a standby that begins to lead, and while the beginning is being stored."""
    for is_leading in (False, True):
        scene = rollout_scenes.RolloutScene()
        async with scene.running():
            if is_leading:
                await scene.lead()
                scene.store.failures.append(rollout_scenes.FAILURE)
            else:
                scene.is_leading = False
            await scene.take(reloads.offer(reloads.WEST))
            await scene.take(reloads.offer(reloads.WEST, is_frozen=True))
            if not is_leading:
                await scene.lead()
            for _ in range(5):
                await scene.tick()
            assert scene.state.rollout is None
            await scene.take(reloads.offer(reloads.WEST))
            for _ in range(5):
                await scene.tick()
            assert scene.rollout.is_running


@asynchronous
async def test_a_freeze_holds_a_stage_whose_settings_are_removed() -> None:
    """Without rollout.yaml, the version would be in force at once."""
    async with rollout_scenes.in_share_stage() as scene:
        offered = reloads.offer(reloads.WEST, is_frozen=True, rollout_text="{}")
        await scene.take(offered)
        assert scene.state.current.hash != scene.rollout.new_hash
        assert scene.rollout.is_running


@asynchronous
async def test_a_freeze_holds_a_stage_whose_settings_are_edited() -> None:
    """The edit acts after the freeze."""
    scene = rollout_scenes.RolloutScene()
    edited = "stages: [{percent: 50}]\n"
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
        await scene.take(reloads.offer(reloads.WEST, is_frozen=True))
        await scene.take(reloads.offer(reloads.WEST, is_frozen=True, rollout_text=edited))
        await scene.tick()
        assert scene.rollout.stage == 1
        assert scene.rollout.is_running
        await scene.stage(reloads.offer(reloads.WEST, rollout_text=edited))
        assert scene.rollout.stage_count == 1


@asynchronous
async def test_a_freeze_holds_a_beginning_after_an_earlier_rollout() -> None:
    """The write of the beginning fails until the freeze."""
    async with rollout_scenes.in_share_stage() as scene:
        await scene.place_pods()
        await scene.tick()
        scene.store.failures += [rollout_scenes.FAILURE] * 2
        await scene.take(reloads.offer(rollout_scenes.OTHER))
        await scene.finish_requests()
        await scene.take(reloads.offer(rollout_scenes.OTHER, is_frozen=True))
        for _ in range(10):
            await scene.tick()
        assert scene.state.running_rollout is None
        assert scene.state.is_rollout_stored
        await scene.stage(reloads.offer(rollout_scenes.OTHER))
        await scene.tick()
        assert scene.rollout.is_running


@asynchronous
async def test_a_freeze_holds_a_former_version_that_a_standby_has_seen() -> None:
    """Only the target of a rollback acts during a freeze."""
    scene = rollout_scenes.make_standby()
    former = reloads.offer(reloads.WEST)
    version_hash = await scene.keep_in_history(former)
    async with scene.running():
        await scene.take(former)
        await scene.take(dataclasses.replace(former, is_frozen=True))
        await scene.lead()
        assert scene.state.current.hash != version_hash


@asynchronous
async def test_a_version_that_was_held_at_the_start_is_held_like_others_later() -> None:
    """The exception ends with the first version that passes stages."""
    held = rollout_scenes.RolloutScene().checker.compute_hash(reloads.offer(reloads.WEST).texts)
    scene = rollout_scenes.RolloutScene(held_hash=held)
    async with scene.running():
        await scene.lead()
        await scene.stage(reloads.offer(rollout_scenes.OTHER))
        await scene.take(reloads.offer(rollout_scenes.OTHER, is_frozen=True))
        await scene.take(reloads.offer(reloads.WEST, is_frozen=True))
        await scene.tick()
        assert scene.rollout.is_running


@asynchronous
async def test_a_freeze_holds_a_stage_without_config_map() -> None:
    """The ConfigMap was deleted during the freeze."""
    async with rollout_scenes.in_share_stage() as scene:
        await scene.take(reloads.offer(reloads.WEST, is_frozen=True))
        await scene.place_pods()
        await scene.take(versions.OfferedVersion(problem="it is gone", is_frozen=True))
        await scene.tick()
        assert scene.rollout.is_running
        assert scene.rollout.stage == 1
