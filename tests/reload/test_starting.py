"""Which version a process starts with."""

from __future__ import annotations

import contextlib
import datetime
import os
import pathlib
import random
from collections.abc import Callable, Iterator
from typing import NoReturn

import msgspec
import pytest

from policysched import errors
from policysched.config import config
from policysched.kube import errors as kube_errors
from policysched.lang import source
from policysched.lang.checked import content_hash
from policysched.profiles import policies
from policysched.reload import history, initial_version, versions
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import FakeServer
from tests.reload import memory_store

GOOD, OLDER, BAD = (f"policy {name} {{ for pods }}\n" for name in ("good", "older", "b@d"))
NEVER = "policy never { for pods where app In (web) and app = db }\n"
"""An error of lint (PS201)."""
HISTORY = "prod/policies-history"


class Source:
    """Has what a test says."""

    origin = "configmap prod/policies"
    watched = None

    def __init__(self, text: str, **said: bool | str) -> None:
        texts = (source.SourceText("prod/policies/a.policy", text),)
        self.offer = versions.OfferedVersion(texts, **said)  # type: ignore[arg-type]  # fields of an offer

    async def read_first(self) -> versions.OfferedVersion:
        """Return it."""
        return self.offer

    async def run(
        self, take: Callable[[versions.OfferedVersion], None], known: versions.OfferedVersion
    ) -> NoReturn:
        """Never run: this is about the start."""
        raise NotImplementedError


def _starting(
    *paths: str, config_map: str = "prod/policies", on_bad_start: str = "refuse"
) -> initial_version.InitialVersionFinder:
    settings = config.PoliciesConfig(
        paths=paths,
        config_map="" if paths else config_map,
        on_bad_start=on_bad_start,  # type: ignore[arg-type]  # one of two words
        history=HISTORY,
    )
    return initial_version.InitialVersionFinder(settings, _recipe())


def _recipe(**params: str) -> versions.VersionChecker:
    return versions.VersionChecker(config.Config(params=dict(params)), None)


def _hash(text: str) -> str:
    return _recipe().compute_hash((source.SourceText("a.policy", text),))


def _keeping(*texts: str) -> memory_store.MemoryStore:
    """Return a store that keeps versions, the last one newest."""
    store = memory_store.MemoryStore()
    kept = {}
    for seconds, text in enumerate(texts):
        time = builders.EPOCH + datetime.timedelta(seconds=seconds)
        version_hash = _hash(text)
        value = history.encode_version(version_hash, "here", (source.SourceText("a.policy", text),))
        kept[str(history.VersionKey(time, version_hash))] = value
    made = store.put(HISTORY, {})
    store.objects[HISTORY] = msgspec.structs.replace(made, binary_data=kept)
    return store


@asynchronous
async def test_a_good_version_is_used() -> None:
    """Nothing is looked up."""
    start = await _starting().find_remote_version(Source(GOOD), memory_store.MemoryStore())
    assert (start.checked.hash, start.refusal) == (_hash(GOOD), None)


@asynchronous
async def test_a_bad_version_ends_the_process() -> None:
    """The error is what `check` shows, though there would be a former version."""
    with pytest.raises(policies.PolicyError, match="error\\[PS"):
        await _starting().find_remote_version(Source(BAD), _keeping(GOOD))


@asynchronous
async def test_the_last_good_version_serves_where_that_is_wanted() -> None:
    """The newest kept one that is still good; what is refused is remembered."""
    wanted = _starting(on_bad_start="lastGood")
    start = await wanted.find_remote_version(
        Source(BAD), _keeping(OLDER, GOOD, BAD.replace("b@d", "al$o"))
    )
    assert start.checked.hash == _hash(GOOD)
    assert start.refusal is not None
    assert start.refusal.hash == _hash(BAD)


@asynchronous
async def test_the_last_good_version_is_the_one_that_was_in_use() -> None:
    """A clock that was wrong when another one was kept does not make that one the last."""
    wanted = _starting(on_bad_start="lastGood")
    start = await wanted.find_remote_version(
        Source(BAD, in_use=_hash(OLDER)), _keeping(OLDER, GOOD)
    )
    assert start.checked.hash == _hash(OLDER)
    start = await wanted.find_remote_version(Source(BAD, in_use="forgotten"), _keeping(OLDER, GOOD))
    assert start.checked.hash == _hash(GOOD)


@asynchronous
async def test_bad_policies_are_told_though_the_kept_ones_cannot_be_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What ends the process is the second problem, and not the one to be mended first."""

    class Forbidding(memory_store.MemoryStore):
        async def read_config_map(self, namespace: str, name: str) -> NoReturn:
            raise kube_errors.ForbiddenError(403, "Forbidden", f"no {namespace}/{name}")

    with pytest.raises(kube_errors.ForbiddenError):
        await _starting(on_bad_start="lastGood").find_remote_version(Source(BAD), Forbidding())
    assert "the policies are refused" in caplog.text


@pytest.mark.parametrize(
    "store", [memory_store.MemoryStore(), _keeping(BAD)], ids=["no history", "a bad one"]
)
@asynchronous
async def test_without_a_last_good_version_it_ends(store: memory_store.MemoryStore) -> None:
    """Scheduling without the policies would be worse than not scheduling."""
    with pytest.raises(policies.PolicyError):
        await _starting(on_bad_start="lastGood").find_remote_version(Source(BAD), store)


@asynchronous
async def test_a_config_map_that_is_not_there_ends_the_process() -> None:
    """The error says so."""
    gone = Source("")
    gone.offer = versions.OfferedVersion(problem="there is no configmap prod/policies")
    with pytest.raises(errors.InputError, match="there is no configmap prod/policies"):
        await _starting().find_remote_version(gone, memory_store.MemoryStore())


@pytest.mark.parametrize(
    "said, store, expected",
    [
        pytest.param({"in_use": _hash(OLDER)}, _keeping(OLDER, GOOD), OLDER, id="kept"),
        pytest.param({"in_use": _hash(OLDER)}, _keeping(GOOD), GOOD, id="not kept"),
        pytest.param({"in_use": _hash(GOOD)}, _keeping(OLDER), GOOD, id="unchanged"),
        pytest.param({}, _keeping(OLDER), OLDER, id="replaced, so that nobody says what was used"),
        pytest.param({}, memory_store.MemoryStore(), GOOD, id="never used"),
        pytest.param({"demanded": _hash(GOOD)}, _keeping(OLDER), GOOD, id="gone back, not said"),
        pytest.param(
            {"in_use": _hash(OLDER), "demanded": _hash(GOOD)},
            _keeping(OLDER, GOOD),
            GOOD,
            id="gone back meanwhile",
        ),
    ],
)
@asynchronous
async def test_frozen_policies_stay_over_a_restart(
    said: dict[str, str], store: memory_store.MemoryStore, expected: str
) -> None:
    """The version that was in use is used, where it is kept; else what is there."""
    start = await _starting().find_remote_version(Source(GOOD, is_frozen=True, **said), store)
    assert start.checked.hash == _hash(expected)


@pytest.mark.parametrize(
    "said, is_used",
    [
        pytest.param({}, False, id="an edit while nobody ran"),
        pytest.param({"in_use": _hash(NEVER)}, True, id="in use before"),
        pytest.param({"in_use": _hash(GOOD), "demanded": _hash(NEVER)}, True, id="gone back to"),
    ],
)
@asynchronous
async def test_errors_of_lint_at_the_start(said: dict[str, str], is_used: bool) -> None:
    """They refuse a version like a bad one, but not that which served before the restart."""
    store = memory_store.MemoryStore()
    if is_used:
        start = await _starting().find_remote_version(Source(NEVER, **said), store)
        assert start.checked.hash == _hash(NEVER)
        assert any("PS201" in each for each in start.checked.warnings)
        return
    with pytest.raises(policies.PolicyError, match="error\\[PS201\\]"):
        await _starting().find_remote_version(Source(NEVER, **said), store)
    start = await _starting(on_bad_start="lastGood").find_remote_version(
        Source(NEVER), _keeping(GOOD)
    )
    assert (start.checked.hash, start.refusal is not None) == (_hash(GOOD), True)


@asynchronous
async def test_a_kept_version_serves_though_a_newer_release_finds_more() -> None:
    """It has served before."""
    wanted = _starting(on_bad_start="lastGood")
    start = await wanted.find_remote_version(Source(BAD), _keeping(GOOD, NEVER))
    assert start.checked.hash == _hash(NEVER)


@asynchronous
async def test_frozen_policies_stay_though_params_are_others_by_now(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The texts that were in use, with the params of this process: the hash is another one."""
    old = content_hash.hash_policy_texts_and_params(
        [source.SourceText("a.policy", OLDER)], {"most": "5"}
    )
    store = _keeping(GOOD)
    kept = store.objects[HISTORY].binary_data
    key = history.VersionKey(builders.EPOCH - datetime.timedelta(days=1), old)
    kept[str(key)] = history.encode_version(old, "here", (source.SourceText("a.policy", OLDER),))
    start = await _starting().find_remote_version(Source(GOOD, is_frozen=True, in_use=old), store)
    assert start.checked.hash == _hash(OLDER)
    assert (
        f"starting with version {_hash(OLDER)} (its texts with the current params)" in caplog.text
    )


def test_files_with_errors_of_lint_end_the_process(tmp_path: pathlib.Path) -> None:
    """Of files nobody knows whether they served before."""
    (tmp_path / "a.policy").write_text(NEVER)
    with pytest.raises(policies.PolicyError, match="error\\[PS201\\]"):
        _starting(str(tmp_path)).find_local_version()


def test_files_are_used_without_asking_anybody(tmp_path: pathlib.Path) -> None:
    """A good version is there at once; a bad one ends the process, or has to be looked up."""
    file = tmp_path / "a.policy"
    file.write_text(GOOD)
    start = _starting(str(file)).find_local_version()
    assert start is not None
    assert start.checked.hash == _hash(GOOD)
    file.write_text(BAD)
    with pytest.raises(policies.PolicyError):
        _starting(str(file)).find_local_version()
    assert _starting(str(file), on_bad_start="lastGood").find_local_version() is None


@asynchronous
async def test_files_that_are_bad_leave_the_last_good_version(tmp_path: pathlib.Path) -> None:
    """The same goes for files that are gone."""
    wanted = _starting(str(tmp_path), on_bad_start="lastGood")
    assert wanted.find_local_version() is None
    assert wanted.files is not None
    start = await wanted.find_remote_version(wanted.files, _keeping(GOOD))
    assert start.checked.hash == _hash(GOOD)
    assert start.refusal is not None
    assert "has no file" in start.refusal.summary


def test_without_policies_there_is_nothing_to_follow() -> None:
    """kube-scheduler's profile does not change."""
    alone = initial_version.InitialVersionFinder(config.PoliciesConfig(), _recipe())
    start = alone.find_local_version()
    assert start is not None
    assert (start.checked.hash, alone.files) == ("", None)


def test_standard_input_is_read_once() -> None:
    """It cannot be followed."""
    assert _starting("-").files is None


@contextlib.contextmanager
def _pipe(text: str) -> Iterator[str]:
    """Yield the path of a pipe that has this text, as a shell makes one for `<(...)`."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)


def test_a_pipe_is_read_once() -> None:
    """A second reading would find nothing, and nothing is a version without rules."""
    with _pipe(GOOD) as path:
        wanted = _starting(path)
        start = wanted.find_local_version()
    assert wanted.files is None
    assert start is not None
    assert [text.text for text in start.checked.texts] == [GOOD]


@asynchronous
async def test_a_pipe_with_a_bad_version_leaves_the_last_good_one() -> None:
    """What was read stays known, to be told as refused."""
    with _pipe(BAD) as path:
        wanted = _starting(path, on_bad_start="lastGood")
        assert wanted.find_local_version() is None
    async with FakeServer() as server, server.client() as api:
        followed = wanted.make_policy_source(api, random.Random(1))
    assert followed is not None
    assert followed.origin == path
    start = await wanted.find_remote_version(followed, _keeping(GOOD))
    assert start.checked.hash == _hash(GOOD)
    assert start.refusal is not None
    assert "b@d" in start.refusal.details


@asynchronous
async def test_only_the_source_of_a_config_map_watches_one(tmp_path: pathlib.Path) -> None:
    """The status, events and stages need one; files have none, nor has what is read once."""
    (tmp_path / "a.policy").write_text(GOOD)
    with _pipe(GOOD) as path:
        read_once = _starting(path)
        assert read_once.find_local_version() is not None
    async with FakeServer() as server, server.client() as api:
        watched = []
        for each in (_starting(), _starting(str(tmp_path)), read_once):
            followed = each.make_policy_source(api, random.Random(1))
            assert followed is not None
            watched.append(followed.watched is not None)
    assert watched == [True, False, False]
