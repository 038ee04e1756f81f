"""Rollouts whose leader changes, whose requests fail or hang, and whose versions cannot be used."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from typing import Any

from policysched import errors
from policysched.reload import versions
from policysched.rollout import progress
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.reload import rollout_scenes
from tests.reload import test_reloader as reloads


@asynchronous
async def test_a_term_begins_with_the_newest_version() -> None:
    """The watch of a new leader is behind: it has seen only the version before."""
    following = await rollout_scenes.take_over_rollback()
    async with following.running():
        await following.take(reloads.offer(rollout_scenes.OTHER))
        following.behind = reloads.offer(rollout_scenes.NOWHERE)
        await following.lead()
        assert following.state.is_rolled_back
        assert (await following.read_stored()).status is progress.RolloutStatus.ROLLED_BACK


@asynchronous
async def test_a_rollback_during_a_change_of_the_leader_acts_at_once() -> None:
    """The standby does not know the history until it leads."""
    scene = rollout_scenes.make_standby()
    former = reloads.offer(reloads.WEST)
    version_hash = await scene.keep_in_history(former)
    async with scene.running():
        assert await scene.take(former) == []
        await scene.lead()
        assert scene.state.current.hash == version_hash
        assert scene.live.staged is None
        assert await scene.place_pods() == {"west"}


@asynchronous
async def test_the_target_of_a_rollback_acts_without_history() -> None:
    """As `policysched rollback --freeze` writes it while the history cannot be read."""
    scene = rollout_scenes.RolloutScene()
    async with scene.running():
        scene.store.read_config_map = _fail  # type: ignore[method-assign,assignment]  # the API server fails
        await scene.lead()
        target = reloads.offer(reloads.WEST)
        demanded = scene.checker.compute_hash(target.texts)
        offered = dataclasses.replace(target, is_frozen=True, demanded=demanded)
        assert await scene.take(offered) == ["loaded"]


async def _fail(*_: Any) -> Any:
    raise rollout_scenes.FAILURE


@asynchronous
async def test_a_rollback_that_was_not_stored_holds_in_the_next_term() -> None:
    """The lease is lost and won again before the write succeeds."""
    async with rollout_scenes.in_share_stage() as scene:
        scene.store.failures.append(rollout_scenes.FAILURE)
        scene.world.nodes.delete(builders.make_node("west").build())
        await scene.place_pods()
        await scene.tick()
        assert (await scene.read_stored()).is_running
        await scene.stand_by()
        await scene.lead()
        await scene.tick()
        assert scene.state.is_rolled_back
        assert (await scene.read_stored()).status is progress.RolloutStatus.ROLLED_BACK


@asynchronous
async def test_a_leader_continues_what_another_one_stored() -> None:
    """An edit came in a term that could not read the state; another leader rolled it back."""
    scene = rollout_scenes.RolloutScene()
    read = scene.store.read_config_map
    async with scene.running():
        scene.store.read_config_map = _fail  # type: ignore[method-assign,assignment]  # the API server fails
        await scene.lead()
        await scene.stage(reloads.offer(rollout_scenes.NOWHERE))
        await scene.stand_by()
        scene.store.read_config_map = read  # type: ignore[method-assign]  # it works again
        other = rollout_scenes.RolloutScene(scene.store)
        async with other.running():
            await other.roll_back_nowhere()
        await scene.lead()
        assert scene.state.is_rolled_back


@asynchronous
async def test_a_promotion_that_was_not_stored_does_not_act_in_the_next_term() -> None:
    """Another leader may have continued the stage, and an operator may have paused it."""
    async with rollout_scenes.in_share_stage() as scene:
        await scene.place_pods()
        scene.store.failures.append(rollout_scenes.FAILURE)
        await scene.tick()
        version_hash = scene.rollout.new_hash
        await scene.stand_by()
        scene.store.failures += [rollout_scenes.FAILURE] * 9
        await scene.lead()
        assert scene.rollout.stage == 1
        assert scene.state.current.hash != version_hash


@asynchronous
async def test_a_request_stays_until_the_rollback_is_stored() -> None:
    """If the process dies before, the next leader must see it."""
    async with rollout_scenes.in_share_stage() as scene:
        scene.store.failures += [rollout_scenes.FAILURE] * 2
        asked = reloads.offer(reloads.WEST, rollout_request=f"abort {scene.rollout.new_hash}")
        scene.rollouts.notice_offer(asked)
        await scene.tick()
        assert scene.state.is_rolled_back
        assert not scene.state.is_rollout_stored
        for _ in range(5):
            await scene.tick()
        assert scene.state.is_rollout_stored


@asynchronous
async def test_a_request_that_waits_acts_before_pods_are_scheduled() -> None:
    """It was written while no process led."""
    following = await rollout_scenes.take_over_share_stage()
    async with following.running():
        version_hash = following.checker.compute_hash(reloads.offer(reloads.WEST).texts)
        await following.take(reloads.offer(reloads.WEST, rollout_request=f"abort {version_hash}"))
        following.is_leading = True
        async with following.rollouts.lead():
            assert following.state.is_rolled_back
            assert await following.place_pods() == {"east"}


@asynchronous
async def test_a_standby_that_is_behind_uses_the_promoted_version() -> None:
    """The leader promoted it, and died at the beginning of the next rollout."""
    first = rollout_scenes.RolloutScene()
    following = rollout_scenes.make_standby(first)
    async with first.running(), following.running():
        await following.take(reloads.offer(reloads.WEST))
        await first.lead()
        await first.enter_share_stage()
        await first.place_pods()
        await first.tick()
        promoted = first.state.current.hash
        newest = reloads.offer(rollout_scenes.OTHER, in_use=promoted)
        await first.stage(newest)
        await first.stand_by()
        following.behind = newest
        await following.lead()
        assert following.state.current.hash == promoted


@asynchronous
async def test_an_edit_back_while_the_beginning_is_stored_ends_it() -> None:
    """Also after an earlier rollout of the same process."""
    async with rollout_scenes.in_share_stage() as scene:
        await scene.place_pods()
        await scene.tick()
        scene.store.failures += [rollout_scenes.FAILURE] * 2
        await scene.take(reloads.offer(rollout_scenes.OTHER))
        await scene.finish_requests()
        await scene.take(reloads.offer(reloads.WEST))
        for _ in range(20):
            await scene.tick()
        assert (await scene.read_stored()).status is progress.RolloutStatus.REPLACED


@asynchronous
async def test_a_promoted_version_that_was_never_in_force_passes_stages_again() -> None:
    """It could not be used, and was edited back."""
    async with rollout_scenes.in_share_stage() as scene:
        scene.live._require = _refuse
        await scene.place_pods()
        await scene.tick()
        await scene.tick()
        await scene.take(reloads.offer(reloads.EAST))
        scene.live._require = lambda _: None
        assert await scene.stage(reloads.offer(reloads.WEST)) == ["staged"]
        assert scene.rollout.is_running


@asynchronous
async def test_a_version_that_is_refused_after_a_restart_ends_its_rollout() -> None:
    """The status must not be that of the rollout for ever."""
    following = await rollout_scenes.take_over_share_stage()
    async with following.running():
        assert await following.take(reloads.offer(reloads.BAD)) == ["refused"]
        await following.lead()
        assert following.state.is_rollout_stored
        assert (await following.read_stored()).status is progress.RolloutStatus.REPLACED


@asynchronous
async def test_an_edit_back_lets_a_version_be_tried_again_by_any_leader() -> None:
    """The end of the verdict is stored."""
    first = rollout_scenes.RolloutScene()
    async with first.running():
        await first.roll_back_nowhere()
        await first.take(reloads.offer(reloads.EAST))
        await first.tick()
    stored = await first.read_stored()
    assert stored.status is progress.RolloutStatus.REPLACED
    assert "pending" in stored.reason
    following = rollout_scenes.make_standby(first)
    async with following.running():
        await following.take(reloads.offer(rollout_scenes.NOWHERE))
        await following.lead()
        assert following.rollout.is_running


@asynchronous
async def test_a_promoted_version_that_cannot_be_used_is_tried_again() -> None:
    """As soon as a missing permission is granted."""
    async with rollout_scenes.in_share_stage() as scene:
        scene.live._require = _refuse
        await scene.place_pods()
        await scene.tick()
        await scene.tick()
        assert scene.state.refused is not None
        assert [told.outcome.value for told in scene.told].count("refused") == 1
        scene.live._require = lambda _: None
        await scene.tick()
        assert scene.state.current.hash == scene.rollout.new_hash


def _refuse(_: Any) -> None:
    raise errors.ConfigurationError("rights", "a right is missing")


@asynchronous
async def test_a_standby_tries_again_to_use_the_version_of_the_leader() -> None:
    """With each offer."""
    scene = rollout_scenes.make_standby()
    async with scene.running():
        offered = reloads.offer(reloads.WEST)
        version_hash = scene.checker.compute_hash(offered.texts)
        await scene.take(offered)
        scene.live._require = _refuse
        promoted = dataclasses.replace(offered, in_use=version_hash)
        scene.rollouts.notice_offer(promoted)
        assert scene.state.current.hash != version_hash
        scene.live._require = lambda _: None
        scene.rollouts.notice_offer(promoted)
        assert scene.state.current.hash == version_hash


@asynchronous
async def test_guards_act_while_a_write_hangs() -> None:
    """For example because of an admission webhook."""
    async with rollout_scenes.in_share_stage() as scene:

        async def hang(*_: Any, **__: Any) -> None:
            await asyncio.Event().wait()

        scene.store.change_config_map = hang  # type: ignore[method-assign,assignment]  # a slow API server
        scene.world.clock.advance(11)
        await scene.tick()
        scene.world.nodes.delete(builders.make_node("west").build())
        await scene.place_pods()
        await scene.tick()
        assert scene.state.is_rolled_back


@asynchronous
async def test_failed_reads_are_delayed() -> None:
    """An API server in trouble gets no request each second."""
    scene = rollout_scenes.RolloutScene()
    reads = 0

    async def fail(*_: Any) -> Any:
        nonlocal reads
        reads += 1
        raise rollout_scenes.FAILURE

    scene.store.read_config_map = fail  # type: ignore[method-assign,assignment]  # the API server fails
    async with scene.running():
        await scene.lead()
        for _ in range(100):
            await scene.tick()
    assert 3 < reads < 30
    assert scene.rollouts.failed_requests == reads


@asynchronous
async def test_a_term_waits_until_the_newest_version_is_checked() -> None:
    """The watch has just shown it; the stored verdict is about it."""
    following = await rollout_scenes.take_over_rollback()
    check = following.checker.check_version

    def check_slowly(
        offered: versions.OfferedVersion,
    ) -> versions.CheckedVersion | versions.VersionRefusal:
        time.sleep(0.05)
        return check(offered)

    async with following.running():
        await following.take(reloads.offer(rollout_scenes.OTHER))
        following.checker.check_version = check_slowly  # type: ignore[method-assign,assignment]  # a long text
        following.shown = reloads.offer(rollout_scenes.NOWHERE)
        await following.lead()
        await following.tick()
        assert following.state.is_rolled_back
        assert (await following.read_stored()).status is progress.RolloutStatus.ROLLED_BACK


@asynchronous
async def test_a_version_that_lacks_a_right_after_a_restart_keeps_its_verdict() -> None:
    """It is tried again each minute, and must not pass its stages then."""
    following = await rollout_scenes.take_over_rollback()
    async with following.running():
        following.live._require = _refuse
        assert await following.take(reloads.offer(rollout_scenes.NOWHERE)) == ["refused"]
        await following.lead()
        await following.tick()
        assert (await following.read_stored()).status is progress.RolloutStatus.ROLLED_BACK


@asynchronous
async def test_steps_do_not_hide_that_a_later_edit_was_refused() -> None:
    """The ConfigMap still has the bad text."""
    async with rollout_scenes.leading() as scene:
        await scene.stage(reloads.offer(reloads.WEST))
        await scene.take(reloads.offer(reloads.BAD))
        await scene.place_pods()
        await scene.tick()
        assert scene.rollout.stage == 1
        assert scene.state.refused is not None
        await scene.place_pods()
        await scene.tick()
        assert scene.state.current.hash == scene.rollout.new_hash
        assert scene.state.refused is not None
        assert await scene.stage(reloads.offer(rollout_scenes.OTHER)) == ["staged"]
        assert scene.state.refused is None
