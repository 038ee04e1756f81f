"""Edits of policies and of stages while a version passes stages, and after it was rolled back."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from policysched.app import policy_reloads
from policysched.config import config
from policysched.kube import config_maps
from policysched.reload import initial_version, versions
from policysched.rollout import progress, settings
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.reload import rollout_scenes
from tests.reload import test_reloader as reloads


@asynchronous
async def test_edited_settings_begin_a_rollout_again() -> None:
    """Those of rollout.yaml, also after a rollback: the operator wants something else."""
    scene = rollout_scenes.RolloutScene()
    plain = reloads.offer(rollout_scenes.NOWHERE)
    edited = dataclasses.replace(plain, rollout_text="stages: [{percent: 50}]\nminPods: 9\n")
    async with scene.running():
        await scene.lead()
        assert await scene.stage(plain) == ["staged"]
        assert await scene.stage(edited) == ["staged"]
        assert (scene.rollout.stage_count, scene.rollout.min_pods) == (1, 9)
        assert await scene.stage(plain) == ["staged"]
        await scene.place_pods()
        await scene.tick()
        assert scene.state.is_rolled_back
        assert await scene.stage(edited) == ["staged"]


@asynchronous
async def test_an_edit_during_a_write_is_stored() -> None:
    """The write began before the edit, so the cluster does not have the end of the rollout yet."""
    async with rollout_scenes.leading() as scene:
        await scene.stage(reloads.offer(reloads.WEST))
        await scene.place_pods()
        write = scene.store.change_config_map

        async def edit_and_write(*args: Any, **kwargs: Any) -> config_maps.ConfigMap:
            scene.store.change_config_map = write  # type: ignore[method-assign]  # only once
            await scene.take(reloads.offer(reloads.EAST))
            return await write(*args, **kwargs)

        scene.store.change_config_map = edit_and_write  # type: ignore[method-assign]  # an edit
        await scene.tick()
        assert scene.rollout.status is progress.RolloutStatus.REPLACED
        assert (await scene.read_stored()).status is progress.RolloutStatus.REPLACED


@asynchronous
async def test_an_edit_while_the_start_is_written_is_stored() -> None:
    """The rollout has not begun in this process, but the cluster has its first state."""
    async with rollout_scenes.leading() as scene:
        create = scene.store.create_config_map

        async def edit_and_create(*args: Any, **kwargs: Any) -> None:
            await scene.take(reloads.offer(reloads.EAST))
            await create(*args, **kwargs)

        scene.store.create_config_map = edit_and_create  # type: ignore[method-assign]  # an edit
        await scene.stage(reloads.offer(reloads.WEST))
        assert scene.live.staged is None
        assert (await scene.read_stored()).status is progress.RolloutStatus.REPLACED


@asynchronous
async def test_a_restart_with_fewer_stages_begins_again() -> None:
    """The number of the stored stage means nothing then."""
    first = rollout_scenes.RolloutScene()
    async with first.running():
        await first.lead()
        await first.enter_share_stage()
        await first.tick()
    assert (await first.read_stored()).stage == 1
    following = rollout_scenes.RolloutScene(first.store)
    following.checker._configuration = config.Config(
        policies=config.PoliciesConfig(
            rollout=settings.RolloutSettings(stages=(settings.Stage(shadow=True),), min_pods=2)
        )
    )
    async with following.running():
        await following.lead()
        assert await following.stage(reloads.offer(reloads.WEST)) == ["staged"]
        assert (following.rollout.stage, following.rollout.stage_count) == (0, 1)
        await following.place_pods()
        await following.tick()
        assert following.rollout.status is progress.RolloutStatus.PROMOTED


_STAGES = "stages: [{percent: 50}]\n"
_BROKEN = "stages: nonsense\n"


@pytest.mark.parametrize(
    "newest",
    [
        pytest.param(reloads.offer(reloads.EAST), id="removed"),
        pytest.param(reloads.offer(reloads.BAD), id="removed, and a bad version"),
        pytest.param(reloads.offer(reloads.WEST, is_frozen=True), id="removed in a freeze"),
        pytest.param(reloads.offer(reloads.EAST, rollout_text=_BROKEN), id="broken"),
        pytest.param(reloads.offer(reloads.WEST, rollout_text=_BROKEN), id="broken, and an edit"),
    ],
)
@asynchronous
async def test_pods_are_annotated_while_the_newest_offer_declares_stages(
    newest: versions.OfferedVersion,
) -> None:
    """Whatever becomes of the version that comes with the settings."""
    scene = reloads.Scene()
    async with scene.running():
        assert not scene.state.annotates_pods
        await scene.take(reloads.offer(reloads.EAST, rollout_text=_STAGES))
        assert scene.state.annotates_pods
        await scene.take(newest)
        assert not scene.state.annotates_pods


@asynchronous
async def test_pods_are_annotated_while_a_rollout_continues() -> None:
    """Settings with errors are refused, and guards of the running rollout still ask for pods."""
    async with rollout_scenes.in_share_stage() as scene:
        broken = reloads.offer(reloads.WEST, rollout_text=_BROKEN)
        assert await scene.take(broken) == ["refused"]
        assert (scene.state.declares_stages, scene.state.annotates_pods) == (False, True)
        await scene.take(dataclasses.replace(broken, texts=reloads.offer(reloads.EAST).texts))
        assert not scene.state.annotates_pods


def test_pods_are_annotated_from_the_start() -> None:
    """The version in use comes from the history, whose texts have no settings of rollouts."""
    checker = versions.VersionChecker(config.Config(), None)
    in_force = checker.check_version(reloads.offer(reloads.EAST))
    assert isinstance(in_force, versions.CheckedVersion)
    held = reloads.offer(reloads.WEST, is_frozen=True, rollout_text=_STAGES)
    start = initial_version.InitialVersion(in_force, held)
    state = policy_reloads.make_initial_policy_state(start, None, checker, builders.EPOCH)
    assert state.annotates_pods
