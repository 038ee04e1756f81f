"""Each step of a rollout: waiting, the next stage, and the ends."""

from __future__ import annotations

import datetime
import itertools

import hypothesis
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.rollout import guards, progress, settings
from tests import builders, examples

STAGES = (
    settings.Stage(shadow=True, duration="10m", min_pods=5),
    settings.Stage(percent=10, duration="30m"),
    settings.Stage(namespaces=("shop",), match_labels={"tier": "web"}),
)
PLAN = settings.RolloutSettings(STAGES, min_pods=20, timeout="1h")
WAITING_PLAN = msgspec.structs.replace(PLAN, on_timeout="wait")
OK = guards.GuardVerdict("errors", guards.GuardState.OK, 0.01, 0.02)
TRIPPED = guards.GuardVerdict("slow", guards.GuardState.TRIPPED, 0.3, 0.2)
UNKNOWN = guards.GuardVerdict("load", guards.GuardState.UNKNOWN, problem="HTTP 503")
RUNNING, PROMOTED = progress.RolloutStatus.RUNNING, progress.RolloutStatus.PROMOTED
ROLLED_BACK = progress.RolloutStatus.ROLLED_BACK


def _after(seconds: float) -> datetime.datetime:
    return builders.EPOCH + datetime.timedelta(seconds=seconds)


def _start(stage: int = 0, *, is_paused: bool = False) -> progress.RolloutState:
    started = progress.start_rollout(PLAN, "new", "old", builders.EPOCH)
    return msgspec.structs.replace(
        started, stage=stage, stage_name=STAGES[stage].describe(), is_paused=is_paused
    )


def _advance(
    state: progress.RolloutState,
    judged_pods: int,
    seconds: float,
    *verdicts: guards.GuardVerdict,
    plan: settings.RolloutSettings = PLAN,
) -> progress.RolloutState:
    check = progress.StageCheck(verdicts, judged_pods, is_held=state.is_paused)
    return progress.advance_rollout(state, plan, check, _after(seconds))


def test_a_rollout_begins_with_its_first_stage() -> None:
    """Nothing is judged yet."""
    state = progress.start_rollout(PLAN, "new", "old", builders.EPOCH)
    assert state == progress.RolloutState(
        "new",
        "old",
        started_at=builders.EPOCH,
        stage_started_at=builders.EPOCH,
        stage=0,
        stage_count=3,
        stage_name="shadow",
        min_pods=5,
    )
    assert state.is_running
    assert state.describe_stage() == "stage 1 of 3 (shadow)"


def test_stages_are_passed_one_by_one() -> None:
    """Each begins with nothing judged; after the last one the version is in force."""
    state = _advance(_start(), 5, 600, OK)
    assert (state.stage, state.status, state.stage_started_at) == (1, RUNNING, _after(600))
    assert (state.judged_pods, state.min_pods, state.guards) == (0, 20, ())
    assert state.describe_stage() == "stage 2 of 3 (10 % of the workloads)"
    state = _advance(state, 20, 2400, OK)
    assert state.describe_stage() == "stage 3 of 3 (namespaces shop; labels tier=web)"
    state = _advance(state, 20, 2400, OK)
    assert (state.status, state.reason) == (PROMOTED, "all stages are passed")
    assert (state.started_at, state.stage_started_at) == (builders.EPOCH, _after(2400))
    assert state.guards == ("errors: 0.01 <= 0.02",)


@pytest.mark.parametrize(
    "judged_pods, seconds, verdicts",
    [
        pytest.param(19, 3000, (OK,), id="too-few-pods"),
        pytest.param(20, 1799.9, (OK,), id="too-early"),
        pytest.param(20, 3000, (OK, UNKNOWN), id="unknown-guard"),
        pytest.param(0, 0, (), id="nothing-at-all"),
    ],
)
def test_a_stage_waits(
    judged_pods: int, seconds: float, verdicts: tuple[guards.GuardVerdict, ...]
) -> None:
    """Until the duration has passed, enough pods were judged, and every guard has a value."""
    before = _start(1)
    state = _advance(before, judged_pods, seconds, *verdicts)
    expected = msgspec.structs.replace(
        before, judged_pods=judged_pods, guards=tuple(each.describe() for each in verdicts)
    )
    assert state == expected


@pytest.mark.parametrize("stage", [0, 1, 2])
@pytest.mark.parametrize("is_paused", [False, True])
def test_a_guard_that_trips_rolls_back_at_once(stage: int, is_paused: bool) -> None:
    """Also while an operator holds the stage, and at its first moment; the reason has numbers."""
    before = _start(stage, is_paused=is_paused)
    state = _advance(before, 1, 1, OK, UNKNOWN, TRIPPED, TRIPPED)
    assert (state.status, state.is_paused, state.is_running) == (ROLLED_BACK, False, False)
    assert state.reason == f"{before.describe_stage()}: slow: 0.3 > 0.2; slow: 0.3 > 0.2"
    assert (state.stage, state.stage_started_at) == (stage, _after(1))
    assert state.guards == (
        *("errors: 0.01 <= 0.02", "load: HTTP 503", "slow: 0.3 > 0.2", "slow: 0.3 > 0.2"),
    )


@pytest.mark.parametrize(
    "judged_pods, verdicts, why",
    [
        (3, (OK,), "3 of 20 pods judged"),
        (0, (UNKNOWN,), "0 of 20 pods judged"),
        (99, (UNKNOWN, OK, UNKNOWN), "load: HTTP 503; load: HTTP 503"),
    ],
)
def test_the_timeout_ends_a_stage_that_waits(
    judged_pods: int, verdicts: tuple[guards.GuardVerdict, ...], why: str
) -> None:
    """The reason says what was missing; with `wait`, an operator decides."""
    before = _start(1)
    assert _advance(before, judged_pods, 3599.9, *verdicts).is_running
    state = _advance(before, judged_pods, 3600, *verdicts)
    said = f"stage 2 of 3 (10 % of the workloads) was not passed within 1h: {why}"
    assert (state.status, state.reason) == (ROLLED_BACK, said)
    waiting = _advance(before, judged_pods, 1e6, *verdicts, plan=WAITING_PLAN)
    assert (waiting.status, waiting.stage) == (RUNNING, 1)


def test_a_stage_that_can_be_passed_is_passed_after_the_timeout() -> None:
    """As when no process led for longer than the timeout."""
    assert _advance(_start(1), 20, 1e6, OK).stage == 2


def test_a_paused_stage_stays() -> None:
    """It is neither passed nor timed out, but its numbers are known."""
    state = _advance(_start(1, is_paused=True), 99, 1e6, OK)
    assert (state.status, state.stage, state.judged_pods) == (RUNNING, 1, 99)
    assert state.guards == ("errors: 0.01 <= 0.02",)
    assert _advance(msgspec.structs.replace(state, is_paused=False), 99, 1e6, OK).stage == 2


@pytest.mark.parametrize("status", [PROMOTED, ROLLED_BACK])
def test_an_operator_ends_a_rollout(status: progress.RolloutStatus) -> None:
    """From any stage, even a paused one."""
    state = progress.end_rollout(_start(1, is_paused=True), status, "by hand", _after(7))
    assert (state.status, state.reason, state.is_paused) == (status, "by hand", False)
    assert (state.stage, state.stage_started_at) == (1, _after(7))


def test_the_clock_may_be_set_back() -> None:
    """A stage then lasts longer; nothing else happens."""
    assert _advance(_start(), 5, -3600, OK) == msgspec.structs.replace(
        _start(), judged_pods=5, guards=("errors: 0.01 <= 0.02",)
    )


def test_a_state_is_stored_and_read_whole() -> None:
    """A newer release reads what an older one has stored, so the names stay."""
    state = _advance(_start(1), 7, 60, OK, UNKNOWN)
    encoded = msgspec.json.encode(state)
    assert msgspec.json.decode(encoded, type=progress.RolloutState) == state
    assert msgspec.json.decode(encoded).keys() == {
        *("newHash", "oldHash", "startedAt", "stageStartedAt", "stage", "stageCount", "stageName"),
        *("status", "isPaused", "reason", "guards", "judgedPods", "minPods", "waitingSince"),
    }


_RENAMED = (STAGES[0], settings.Stage(percent=20), STAGES[2])


@pytest.mark.parametrize(
    "stages, stage, continues",
    [
        (STAGES, 0, True),
        (STAGES, 2, True),
        (STAGES, 3, False),
        (STAGES, -1, False),
        (STAGES[:2], 1, False),
        ((*STAGES, STAGES[1]), 1, False),
        (_RENAMED, 1, False),
        (_RENAMED, 2, True),
        ((), 0, False),
    ],
)
def test_a_stored_rollout_continues_in_its_stage(
    stages: tuple[settings.Stage, ...], stage: int, continues: bool
) -> None:
    """If the stages were edited meanwhile, the number of a stage means nothing."""
    name = STAGES[stage].describe() if 0 <= stage < 3 else "another"
    state = msgspec.structs.replace(_start(), stage=stage, stage_name=name)
    plan = msgspec.structs.replace(PLAN, stages=stages)
    assert progress.can_continue(state, state.new_hash, plan) is continues


# --- random courses -------------------------------------------------------------------------------

_PLANS = st.builds(
    settings.RolloutSettings,
    stages=st.lists(
        st.builds(
            settings.Stage,
            percent=st.floats(1, 100),
            duration=st.sampled_from(["0s", "1m", "10m"]),
            min_pods=st.none() | st.integers(1, 9),
        ),
        min_size=1,
        max_size=4,
    ).map(tuple),
    min_pods=st.integers(1, 9),
    timeout=st.sampled_from(["11m", "1h"]),
    on_timeout=st.sampled_from(["rollBack", "wait"]),
)
_STEPS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([OK, OK, OK, UNKNOWN, TRIPPED]), max_size=2),
        st.integers(0, 12),
        st.floats(0, 1000),
        st.booleans(),
    ),
    max_size=20,
)


@hypothesis.settings(max_examples=examples.scale(300), deadline=None)
@given(plan=_PLANS, steps=_STEPS)
def test_no_stage_is_passed_without_evidence(
    plan: settings.RolloutSettings,
    steps: list[tuple[list[guards.GuardVerdict], int, float, bool]],
) -> None:
    """Whatever happens: each step is explained by the rules, and stages are not left out."""
    state = progress.start_rollout(plan, "new", "old", builders.EPOCH)
    now = waiting_since = builders.EPOCH
    for verdicts, judged_pods, seconds, is_paused in steps:
        now += datetime.timedelta(seconds=seconds)
        before = msgspec.structs.replace(state, is_paused=is_paused)
        check = progress.StageCheck(verdicts, judged_pods, is_held=is_paused)
        state = progress.advance_rollout(before, plan, check, now)
        waited_seconds = (now - waiting_since).total_seconds()
        _assert_step(before, state, plan, check, now, waited_seconds)
        if not state.is_running:
            break
        if is_paused or state.stage != before.stage:
            waiting_since = now


def _assert_step(
    before: progress.RolloutState,
    after: progress.RolloutState,
    plan: settings.RolloutSettings,
    check: progress.StageCheck,
    now: datetime.datetime,
    waited_seconds: float,
) -> None:
    seconds = (now - before.stage_started_at).total_seconds()
    states = {each.state for each in check.verdicts}
    stage = plan.stages[before.stage]
    is_passable = (
        not before.is_paused
        and check.judged_pods >= (plan.min_pods if stage.min_pods is None else stage.min_pods)
        and seconds >= stage.duration_seconds
        and states <= {guards.GuardState.OK}
    )
    is_tripped = guards.GuardState.TRIPPED in states
    is_late = (
        not (before.is_paused or is_passable)
        and waited_seconds >= plan.timeout_seconds
        and plan.on_timeout == "rollBack"
    )
    assert (after.status is ROLLED_BACK) is (is_tripped or is_late)
    is_last = before.stage == len(plan.stages) - 1
    assert (after.status is PROMOTED) is (is_passable and is_last)
    assert after.stage == before.stage + (is_passable and not is_last)
    assert bool(after.reason) is not after.is_running
    assert (after.new_hash, after.old_hash) == ("new", "old")


def test_every_order_of_verdicts_gives_the_same_end() -> None:
    """One guard that trips is enough, wherever it is in the list."""
    for verdicts in itertools.permutations([OK, UNKNOWN, TRIPPED]):
        assert _advance(_start(), 5, 600, *verdicts).status is ROLLED_BACK
