"""Freezes while a version waits, passes stages or was rolled back."""

from __future__ import annotations

import dataclasses

from policysched.kube import errors as kube_errors
from policysched.reload import history, versions
from policysched.rollout import progress
from tests.kube.asynchronous import asynchronous
from tests.reload import rollout_scenes
from tests.reload import test_reloader as reloads

_OTHER = reloads.WEST.replace("west {", "other {")
_FAILURE = kube_errors.ServerError(500, "InternalError", "no")


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
                scene.store.failures.append(_FAILURE)
            else:
                scene.is_leading = False
            await scene.take(reloads.offer(reloads.WEST))
            await scene.take(dataclasses.replace(reloads.offer(reloads.WEST), is_frozen=True))
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
    scene = rollout_scenes.RolloutScene()
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
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
    scene = rollout_scenes.RolloutScene()
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
        await scene.place_pods()
        await scene.tick()
        scene.store.failures += [_FAILURE] * 2
        await scene.take(reloads.offer(_OTHER))
        await scene.finish_requests()
        await scene.take(reloads.offer(_OTHER, is_frozen=True))
        for _ in range(10):
            await scene.tick()
        assert scene.state.running_rollout is None
        assert scene.state.is_rollout_stored
        await scene.stage(reloads.offer(_OTHER))
        await scene.tick()
        assert scene.rollout.is_running


@asynchronous
async def test_a_freeze_holds_a_former_version_that_a_standby_has_seen() -> None:
    """Only the target of a rollback acts during a freeze."""
    scene = rollout_scenes.RolloutScene()
    scene.is_leading = False
    former = reloads.offer(reloads.WEST)
    version_hash = scene.recipe.compute_hash(former.texts)
    stored = history.encode_version(version_hash, "test", former.texts)
    key = f"20260101T000000.000Z-{version_hash}.json.gz"
    await scene.store.create_config_map("ns", "history", {key: stored}, {})
    async with scene.running():
        await scene.take(former)
        await scene.take(dataclasses.replace(former, is_frozen=True))
        await scene.lead()
        assert scene.state.current.hash != version_hash


@asynchronous
async def test_a_version_that_was_held_at_the_start_is_held_like_others_later() -> None:
    """The exception ends with the first version that passes stages."""
    held = rollout_scenes.RolloutScene().recipe.compute_hash(reloads.offer(reloads.WEST).texts)
    scene = rollout_scenes.RolloutScene(held_hash=held)
    async with scene.running():
        await scene.lead()
        await scene.stage(reloads.offer(_OTHER))
        await scene.take(reloads.offer(_OTHER, is_frozen=True))
        await scene.take(reloads.offer(reloads.WEST, is_frozen=True))
        await scene.tick()
        assert scene.rollout.is_running


@asynchronous
async def test_a_freeze_holds_a_stage_without_config_map() -> None:
    """The ConfigMap was deleted during the freeze."""
    scene = rollout_scenes.RolloutScene()
    async with scene.running():
        await scene.lead()
        await scene.enter_share_stage()
        await scene.take(dataclasses.replace(reloads.offer(reloads.WEST), is_frozen=True))
        await scene.place_pods()
        await scene.take(versions.OfferedVersion(problem="it is gone", is_frozen=True))
        await scene.tick()
        assert scene.rollout.is_running
        assert scene.rollout.stage == 1
