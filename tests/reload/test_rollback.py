"""Going back to a kept version: chosen, written whole, refused where somebody else edits."""

from __future__ import annotations

import datetime

import msgspec
import pytest

from policysched import errors
from policysched.kube import errors as kube_errors
from policysched.lang import source
from policysched.lang.checked import content_hash
from policysched.reload import history, rollback, status_annotations
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.reload import memory_store

POLICIES, HISTORY = "prod/policies", "prod/policies-history"
OLD, NEW = "aaa111", "aab222"


class Scene:
    """Two kept versions, the newer of which is in the ConfigMap."""

    def __init__(self) -> None:
        self.store = memory_store.MemoryStore()
        self.back = rollback.Rollback(self.store, POLICIES, HISTORY)
        kept = {}
        for seconds, (version_hash, key) in enumerate(((OLD, "old"), (NEW, "new"))):
            time = builders.EPOCH + datetime.timedelta(seconds=seconds)
            texts = (source.SourceText(f"{POLICIES}/{key}.policy", key),)
            kept[str(history.VersionKey(time, version_hash))] = history.encode_version(
                version_hash, "", texts
            )
        made = self.store.put(HISTORY, {})
        self.store.objects[HISTORY] = msgspec.structs.replace(made, binary_data=kept)
        self.store.put(POLICIES, {"new.policy": "new", "note": "by hand"})

    @property
    def data(self) -> dict[str, str]:
        """What the ConfigMap holds."""
        return self.store.objects[POLICIES].data

    def annotation(self, name: str) -> str | None:
        """Return an annotation of the ConfigMap."""
        return self.store.objects[POLICIES].metadata.annotations.get(name)


@pytest.mark.parametrize("wanted", ["", OLD, OLD[:3]])
@asynchronous
async def test_a_version_is_written_back_whole(wanted: str) -> None:
    """Its keys come, other policies go, and keys of somebody else stay."""
    scene = Scene()
    done = await scene.back.roll_back(wanted)
    assert done.version[0].hash == OLD
    assert (done.is_written, done.is_frozen) == (True, False)
    assert scene.data == {"old.policy": "old", "note": "by hand"}
    assert scene.annotation(status_annotations.ROLLBACK) is None


@asynchronous
async def test_what_is_held_back_is_demanded() -> None:
    """While reloads are frozen the version passes by its texts; without need no name stays behind.

    One that stayed would let the version pass a later freeze, whoever writes it.
    """
    scene = Scene()
    scene.store.put(POLICIES, {"new.policy": "new"}, {status_annotations.FREEZE: "true"})
    assert (await scene.back.roll_back(OLD)).is_frozen
    texts = (source.SourceText("old.policy", "old"),)
    assert scene.annotation(
        status_annotations.ROLLBACK
    ) == content_hash.hash_policy_texts_and_params(texts, {})
    thawed = dict.fromkeys((status_annotations.FREEZE,))
    await scene.store.annotate_config_map(scene.store.objects[POLICIES], thawed)
    await scene.back.roll_back(NEW)
    assert scene.annotation(status_annotations.ROLLBACK) is None


@asynchronous
async def test_without_a_hash_a_bad_edit_is_undone() -> None:
    """The newest kept version is what was in use before the edit that was refused."""
    scene = Scene()
    scene.store.put(POLICIES, {"new.policy": "broken"})
    done = await scene.back.roll_back("")
    assert done.version[0].hash == NEW
    assert scene.data == {"new.policy": "new"}


@asynchronous
async def test_policies_that_are_no_text_go() -> None:
    """They spoil any version, the newest good one too, so it is what is written back."""
    scene = Scene()
    spoilt = {"odd.policy": b"\xff", "icon": b"\xff"}
    made = scene.store.objects[POLICIES]
    scene.store.objects[POLICIES] = msgspec.structs.replace(made, binary_data=spoilt)
    done = await scene.back.roll_back("")
    assert (done.version[0].hash, done.is_written) == (NEW, True)
    assert scene.data == {"new.policy": "new", "note": "by hand"}
    assert scene.store.objects[POLICIES].binary_data == {"icon": b"\xff"}


@asynchronous
async def test_other_versions_can_be_held_back_at_once() -> None:
    """One write does both."""
    scene = Scene()
    done = await scene.back.roll_back(OLD, freeze=True)
    assert done.is_frozen
    assert scene.annotation(status_annotations.FREEZE) == "true"
    assert scene.store.writes == 1


@asynchronous
async def test_what_is_there_already_is_left_alone() -> None:
    """While reloads are frozen it is only said, once, that this is the version that is wanted."""
    scene = Scene()
    assert not (await scene.back.roll_back(NEW)).is_written
    assert scene.store.writes == 0
    for _ in range(2):
        assert not (await scene.back.roll_back(NEW, freeze=True)).is_written
    assert scene.store.writes == 1


@pytest.mark.parametrize(
    "wanted, said",
    [
        pytest.param(
            "fff",
            "`fff`: is not a version in the history (stored versions: aab222, aaa111)",
            id="unknown",
        ),
        pytest.param("aa", "matches several versions", id="ambiguous"),
    ],
)
@asynchronous
async def test_versions_that_do_not_exist(wanted: str, said: str) -> None:
    """Nothing is written, and what there is is named."""
    scene = Scene()
    with pytest.raises(errors.InputError) as caught:
        await scene.back.roll_back(wanted)
    assert said in str(caught.value)
    assert scene.store.writes == 0


@pytest.mark.parametrize("missing", [POLICIES, HISTORY])
@asynchronous
async def test_config_maps_that_do_not_exist(missing: str) -> None:
    """The error names the one."""
    scene = Scene()
    del scene.store.objects[missing]
    with pytest.raises(errors.InputError, match=f"configmap {missing}: does not exist"):
        await scene.back.roll_back(OLD)


@asynchronous
async def test_a_status_written_meanwhile_does_not_matter() -> None:
    """The texts are those that were decided about."""
    scene = Scene()
    scene.store.failures = [kube_errors.ConflictError(409, "Conflict", "changed")] * 2
    assert (await scene.back.roll_back(OLD)).is_written


@asynchronous
async def test_an_edit_meanwhile_is_not_overwritten() -> None:
    """Whoever edits at the same time has a say."""
    scene = Scene()
    really_read = scene.store.read_config_map
    reads = 0

    async def read(namespace: str, name: str) -> object:
        nonlocal reads
        found = await really_read(namespace, name)
        if name == "policies":
            reads += 1
            if reads == 1:
                scene.store.put(POLICIES, {"new.policy": "edited"})
        return found

    scene.store.read_config_map = read  # type: ignore[method-assign,assignment]  # a moment in the middle
    with pytest.raises(kube_errors.ConflictError):
        await scene.back.roll_back(OLD)
    assert scene.data == {"new.policy": "edited"}


@asynchronous
async def test_what_there_is() -> None:
    """Newest first, and which one the scheduler says is in use."""
    scene = Scene()
    scene.store.put(POLICIES, {}, {status_annotations.HASH: OLD})
    kept = await scene.back.list_versions()
    assert [key.hash for key, _ in kept.versions] == [NEW, OLD]
    assert kept.current_hash == OLD
