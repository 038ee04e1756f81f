"""The newest rollout as the cluster has it, and requests about a running one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from policysched import errors
from policysched.kube import errors as kube_errors
from policysched.reload import status_annotations
from policysched.reload.rollouts import requests, rollout_store
from policysched.rollout import progress, settings
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.reload import memory_store

POLICIES, HISTORY = "prod/policies", "prod/policies-history"
PLAN = settings.RolloutSettings((settings.Stage(shadow=True), settings.Stage(percent=10)))
STATE = progress.start_rollout(PLAN, "bbb222", "aaa111", builders.EPOCH)
PROMOTED = progress.end_rollout(
    STATE, progress.RolloutStatus.PROMOTED, "all stages are passed", builders.EPOCH
)
ROLLED_BACK = progress.end_rollout(
    STATE, progress.RolloutStatus.ROLLED_BACK, "slow", builders.EPOCH
)
CONFLICT = kube_errors.ConflictError(409, "Conflict", "changed")
REQUEST = status_annotations.ROLLOUT_REQUEST


class Scene:
    """Policies, and a history with the state of a rollout."""

    def __init__(
        self, state: progress.RolloutState | None = STATE, annotations: Mapping[str, str] = {}
    ) -> None:
        self.store = memory_store.MemoryStore()
        self.rollouts = requests.RolloutRequests(self.store, POLICIES, HISTORY)
        self.store.put(POLICIES, {"a.policy": "version 1\n"}, annotations)
        self.keep(state)

    def keep(self, state: progress.RolloutState | None) -> None:
        """Let the leader store a state."""
        made = self.store.put(HISTORY, {})
        if state is not None:
            value = {rollout_store.KEY: msgspec.json.encode(state)}
            self.store.objects[HISTORY] = msgspec.structs.replace(made, binary_data=value)

    @property
    def request(self) -> str | None:
        """The annotation."""
        return self.store.objects[POLICIES].metadata.annotations.get(REQUEST)


@pytest.mark.parametrize("state", [STATE, PROMOTED, ROLLED_BACK, None])
@asynchronous
async def test_the_newest_rollout(state: progress.RolloutState | None) -> None:
    """Also one that has ended, and none."""
    found = await Scene(state).rollouts.read()
    assert found.state == state
    assert found.running == (state if state is STATE else None)
    assert (found.requested, found.is_frozen) == ("", False)


@asynchronous
async def test_a_cluster_without_a_history_has_had_no_rollout() -> None:
    """A scheduler creates the ConfigMap with the first version."""
    scene = Scene()
    del scene.store.objects[HISTORY]
    assert (await scene.rollouts.read()).state is None


@asynchronous
async def test_a_state_that_cannot_be_read_is_none() -> None:
    """Somebody has edited it by hand."""
    scene = Scene()
    damaged = {rollout_store.KEY: b'{"newHash": 7}'}
    made = scene.store.objects[HISTORY]
    scene.store.objects[HISTORY] = msgspec.structs.replace(made, binary_data=damaged)
    assert (await scene.rollouts.read()).state is None


@pytest.mark.parametrize(
    "annotation, requested",
    [
        ("pause bbb222", "pause"),
        ("abort bbb222", "abort"),
        ("abort aaa111", ""),
        ("abort", ""),
        ("begin bbb222", ""),
    ],
)
@asynchronous
async def test_what_is_requested(annotation: str, requested: str) -> None:
    """A request about another version, or an unknown one, is none."""
    assert (await Scene(STATE, {REQUEST: annotation}).rollouts.read()).requested == requested
    assert (await Scene(PROMOTED, {REQUEST: annotation}).rollouts.read()).requested == ""


@pytest.mark.parametrize("verb", ["pause", "promote", "abort"])
@asynchronous
async def test_a_request_names_the_version(verb: requests.Verb) -> None:
    """It is written once, and takes the place of an earlier one."""
    scene = Scene(STATE, {REQUEST: "pause aaa111"})
    done = await scene.rollouts.request(verb)
    assert (done.state, done.is_written, done.is_frozen) == (STATE, True, False)
    assert scene.request == f"{verb} bbb222"
    assert not (await scene.rollouts.request(verb)).is_written
    assert scene.store.writes == 1


@asynchronous
async def test_resuming_replaces_the_request() -> None:
    """If it is there already, nothing is written."""
    scene = Scene(STATE, {REQUEST: "pause bbb222", status_annotations.FREEZE: "true"})
    done = await scene.rollouts.request("resume")
    assert (done.is_written, done.is_frozen) == (True, True)
    assert scene.request == "resume bbb222"
    assert not (await scene.rollouts.request("resume")).is_written
    assert scene.store.writes == 1


@pytest.mark.parametrize(
    "state, said",
    [
        (None, "configmap prod/policies: no rollout is running"),
        (
            PROMOTED,
            "configmap prod/policies: no rollout is running; the rollout of bbb222 was promoted",
        ),
        (
            ROLLED_BACK,
            "configmap prod/policies: no rollout is running; the rollout of bbb222 was rolled back",
        ),
    ],
)
@asynchronous
async def test_nothing_is_requested_of_no_rollout(
    state: progress.RolloutState | None, said: str
) -> None:
    """The last one is named."""
    scene = Scene(state)
    with pytest.raises(errors.InputError) as caught:
        await scene.rollouts.request("abort")
    assert str(caught.value) == said
    assert scene.store.writes == 0


@asynchronous
async def test_policies_that_do_not_exist() -> None:
    """The error names the ConfigMap."""
    scene = Scene()
    del scene.store.objects[POLICIES]
    with pytest.raises(errors.InputError, match="configmap prod/policies: does not exist"):
        await scene.rollouts.request("pause")


@asynchronous
async def test_a_status_written_meanwhile_does_not_matter() -> None:
    """Unless it happens again and again."""
    scene = Scene()
    scene.store.failures = [CONFLICT] * 4
    assert (await scene.rollouts.request("pause")).is_written
    scene.store.failures = [CONFLICT] * 5
    with pytest.raises(kube_errors.ConflictError):
        await scene.rollouts.request("abort")
    assert scene.request == "pause bbb222"


@pytest.mark.parametrize(
    "following, said",
    [
        (
            msgspec.structs.replace(STATE, new_hash="ccc333"),
            (
                "configmap prod/policies: the rollout of bbb222 has ended "
                "(another one has begun; see `rollout status`)"
            ),
        ),
        (PROMOTED, "no rollout is running; the rollout of bbb222 was promoted"),
    ],
)
@asynchronous
async def test_a_request_is_about_the_rollout_that_was_seen(
    following: progress.RolloutState, said: str
) -> None:
    """An edit meanwhile has begun another rollout, which nobody has looked at."""
    scene = Scene()
    really_read = scene.store.read_config_map
    reads = 0

    async def read(namespace: str, name: str) -> object:
        nonlocal reads
        found = await really_read(namespace, name)
        reads += 1
        if reads == 2:  # both ConfigMaps were read once
            scene.store.put(POLICIES, {"a.policy": "edited"})
            scene.keep(following)
        return found

    scene.store.read_config_map = read  # type: ignore[method-assign,assignment]  # a moment in the middle
    with pytest.raises(errors.InputError) as caught:
        await scene.rollouts.request("promote")
    assert said in str(caught.value)
    assert scene.request is None
