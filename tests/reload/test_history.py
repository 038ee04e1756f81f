"""Former versions as they are kept: named by time, bounded, whole."""

from __future__ import annotations

import datetime
import random

import hypothesis
import pytest
from hypothesis import strategies

from policysched.lang import source
from policysched.reload import history
from tests import builders

SECOND = datetime.timedelta(seconds=1)
TEXTS = (source.SourceText("prod/policies/a.policy", "policy a { for pods }\n"),)


def _key(seconds: int, version_hash: str) -> history.VersionKey:
    return history.VersionKey(builders.EPOCH + seconds * SECOND, version_hash)


def _add(kept: dict[str, bytes], key: history.VersionKey, value: bytes, keep: int = 3) -> None:
    changes = history.plan_history_changes(kept, key, value, keep)
    assert changes is not None
    for name, content in changes.items():
        if content is None:
            del kept[name]
        else:
            kept[name] = content


def test_a_version_comes_back_as_it_was() -> None:
    """Hash, texts and where they came from; equal versions are equal bytes."""
    value = history.encode_version("abc", "configmap prod/policies", TEXTS)
    kept = history.decode_version(value)
    assert kept is not None
    assert kept.sources == TEXTS
    assert (kept.hash, kept.origin) == ("abc", "configmap prod/policies")
    assert value == history.encode_version("abc", "configmap prod/policies", TEXTS)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{}", id="not packed"),
        pytest.param(history.encode_version("a", "b", TEXTS)[:-9], id="cut"),
    ],
)
def test_what_somebody_else_has_written_is_passed_over(value: bytes) -> None:
    """Keys and values that are none of ours are no versions, and no errors."""
    assert (
        history.decode_versions_newest_first(
            {"20260105T120000.000Z-abc.json.gz": value, "note": b"x"}
        )
        == []
    )


@hypothesis.given(
    strategies.datetimes(
        datetime.datetime(2000, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
        timezones=strategies.just(datetime.UTC),
    ),
    strategies.from_regex(r"[0-9a-f]{12}", fullmatch=True),
)
def test_keys_say_time_and_hash(time: datetime.datetime, version_hash: str) -> None:
    """What a key says is what it was made of, to the millisecond; other names are no keys."""
    key = history.VersionKey.parse_version_key(str(history.VersionKey(time, version_hash)))
    assert key is not None
    assert key.hash == version_hash
    assert datetime.timedelta() <= time - key.loaded_at < SECOND / 1000


@pytest.mark.parametrize("text", ["a.policy", "20260105T120000.000Z-xyz.json.gz", "-.json.gz"])
def test_names_that_are_no_keys(text: str) -> None:
    """They are left alone."""
    assert history.VersionKey.parse_version_key(text) is None


def test_months_beyond_december_are_no_time() -> None:
    """A key that somebody made up does not end the process."""
    assert history.VersionKey.parse_version_key("20261305T120000.000Z-abc.json.gz") is None


def test_the_newest_are_kept() -> None:
    """A version that is loaded again is the newest again; the oldest one goes."""
    kept: dict[str, bytes] = {"note": b"by hand"}
    for seconds, version_hash in enumerate(("a", "b", "c", "a", "d")):
        _add(kept, _key(seconds, version_hash), history.encode_version(version_hash, "", TEXTS))
    assert [key.hash for key, _ in history.decode_versions_newest_first(kept)] == ["d", "a", "c"]
    assert kept["note"] == b"by hand"


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(_key(9, "b"), id="the newest once more"),
        pytest.param(_key(0, "a"), id="an older load of it, told late"),
    ],
)
def test_what_is_kept_already_is_not_written(key: history.VersionKey) -> None:
    """Restarts, and replicas that take over, change nothing."""
    kept: dict[str, bytes] = {}
    _add(kept, _key(1, "a"), history.encode_version("a", "", TEXTS))
    _add(kept, _key(2, "b"), history.encode_version("b", "", TEXTS))
    assert history.plan_history_changes(kept, key, b"value", keep=3) == {}


def test_damaged_versions_take_nobodys_place() -> None:
    """Whatever time they say; one that is put to use again is kept again."""
    kept = {str(_key(1000 + n, f"{n}")): b"damaged" for n in range(3)}
    for seconds, version_hash in enumerate(("a", "1", "a", "c")):
        _add(kept, _key(seconds, version_hash), history.encode_version(version_hash, "", TEXTS))
    assert [key.hash for key, _ in history.decode_versions_newest_first(kept)] == ["c", "a", "1"]
    assert len(kept) == 3


def test_a_config_map_is_never_too_large() -> None:
    """What does not fit goes, the oldest first; one that can never fit is not kept at all."""
    kept: dict[str, bytes] = {}
    rng = random.Random(1)
    for seconds in range(6):
        _add(kept, _key(seconds, f"{seconds}"), rng.randbytes(300_000), keep=10)
        assert sum(map(len, kept.values())) <= history.MAX_BYTES
    times = [history.VersionKey.parse_version_key(key) for key in kept]
    assert sorted(str(key.hash) for key in times if key) == ["3", "4", "5"]
    assert (
        history.plan_history_changes(kept, _key(9, "9"), bytes(history.MAX_BYTES + 1), keep=10)
        is None
    )
