"""The page /debug/versions."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import msgspec

from policysched import clock as clocks
from policysched.kube import errors
from policysched.lang import source
from policysched.reload import history, version_log, versions
from policysched.reload import state as states
from policysched.rollout import progress, settings
from tests import builders, report_schemas
from tests.kube.asynchronous import asynchronous

REFUSAL = versions.VersionRefusal("bad0", "a:1: oh", "error[PS001]: oh", ValueError())


def _version(name: str, *, minutes: int = 0) -> states.VersionInUse:
    at = builders.EPOCH + datetime.timedelta(minutes=minutes)
    return states.VersionInUse(name, (source.SourceText("a.policy", f"text {name}"),), at)


async def _ask(log: version_log.VersionLog) -> Any:
    found = msgspec.to_builtins(await log.make_page())
    report_schemas.check_report(found, "page-versions")
    report_schemas.check_report(found["versions"], "versions")
    return found


@asynchronous
async def test_versions_and_refusals_are_remembered() -> None:
    """The version in use is the first, and each outcome has its time."""
    clock = clocks.ManualClock(builders.EPOCH)
    state = states.PolicyState("here", _version("900d"))
    log = version_log.VersionLog(state, clock)
    clock.advance(60.0)
    state.record_refusal(REFUSAL, clock.now())
    assert (await _ask(log))["refused"]["errors"] == "error[PS001]: oh"
    clock.advance(60.0)
    state.record_loaded_version(_version("beef", minutes=2))
    found = await _ask(log)
    assert found["refused"] is None
    assert [(each["hash"], each["inUse"]) for each in found["versions"]] == [
        ("beef", True),
        ("900d", False),
    ]
    assert [(each["outcome"], each["hash"]) for each in found["events"]] == [
        ("loaded", "beef"),
        ("refused", "bad0"),
        ("loaded", "900d"),
    ]
    assert found["events"][1]["at"] == "2026-01-05T12:01:00+00:00"
    state.record_loaded_version(_version("900d", minutes=3))
    found = await _ask(log)
    assert [each["at"] for each in found["events"] if each["hash"] == "900d"] == [
        "2026-01-05T12:02:00+00:00",
        "2026-01-05T12:00:00+00:00",
    ]


@asynchronous
async def test_a_rollout_is_shown_until_the_next_one() -> None:
    """With the stages that the version entered, and why it was rolled back."""
    clock = clocks.ManualClock(builders.EPOCH)
    state = states.PolicyState("here", _version("900d"))
    log = version_log.VersionLog(state, clock)
    assert (await _ask(log))["rollout"] is None
    stages = (settings.Stage(shadow=True), settings.Stage(percent=10.0))
    plan = settings.RolloutSettings(stages, min_pods=7)
    running = progress.start_rollout(plan, "beef", "900d", clock.now())
    state.rollout = running
    state.record_staged_version("beef")
    found = await _ask(log)
    rollout_schema = {"isFrozen": False, "requested": ""}  # of the ConfigMap
    report_schemas.check_report(found["rollout"] | rollout_schema, "rollout")
    assert (found["rollout"]["stage"], found["rollout"]["minPods"]) == (1, 7)
    assert found["events"][0]["stage"] == "stage 1 of 2 (shadow)"
    assert version_log.describe_running_rollout(state, 99) == "beef: stage 1 of 2 (shadow)"
    state.rollout = progress.end_rollout(
        running, progress.RolloutStatus.ROLLED_BACK, "slow", clock.now()
    )
    refusal = versions.VersionRefusal("beef", "slow", "slow", ValueError())
    state.record_rolled_back_version(refusal, clock.now())
    found = await _ask(log)
    assert (found["rollout"]["status"], found["rollout"]["reason"]) == ("rolledBack", "slow")
    assert (found["refused"]["hash"], found["refused"]["isRolledBack"]) == ("beef", True)
    assert [each["outcome"] for each in found["events"]] == ["rolledBack", "staged", "loaded"]
    assert version_log.describe_running_rollout(state, 99) == ""


@asynchronous
async def test_a_refusal_before_the_first_version_is_known() -> None:
    """A process that started with the last good version says why."""
    state = states.PolicyState("here", _version("900d"))
    state.record_refusal(REFUSAL, builders.EPOCH)
    found = await _ask(version_log.VersionLog(state, clocks.ManualClock(builders.EPOCH)))
    assert found["events"][0]["errors"] == "error[PS001]: oh"


@asynchronous
async def test_the_history_has_the_versions_of_earlier_processes() -> None:
    """It is read at most every ten seconds; if it cannot be read, the page says why."""
    texts = (source.SourceText("a.policy", "old"),)
    key = history.VersionKey(builders.EPOCH - datetime.timedelta(days=1), "01d")
    kept = {str(key): history.encode_version("01d", "there", texts), "damaged": b"x"}
    reads: list[int] = []

    async def read() -> Mapping[str, bytes]:
        reads.append(1)
        if len(reads) > 1:
            raise errors.KubeError("forbidden")
        return kept

    clock = clocks.ManualClock(builders.EPOCH)
    state = states.PolicyState("here", _version("900d"))
    log = version_log.VersionLog(state, clock, "ns/kept", read)
    for _ in range(2):
        found = await _ask(log)
        assert [each["hash"] for each in found["versions"]] == ["900d", "01d"]
        assert (found["versions"][1]["origin"], found["history"]) == ("there", "ns/kept")
    assert len(reads) == 1
    clock.advance(10.0)
    found = await _ask(log)
    assert found["problem"] == "forbidden"
    assert len(found["versions"]) == 2


@asynchronous
async def test_without_policies_there_is_no_version() -> None:
    """kube-scheduler's defaults have no text."""
    state = states.PolicyState("none", states.VersionInUse("", (), builders.EPOCH))
    found = await _ask(version_log.VersionLog(state, clocks.ManualClock(builders.EPOCH)))
    assert found["versions"] == []
