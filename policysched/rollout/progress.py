"""Decide the next step of a rollout: wait, enter the next stage, promote, or roll back.

started ─▶ stage 1 ─▶ … ─▶ stage n ─▶ promoted
              └───────────────┴─ guard, timeout, operator ─▶ rolledBack
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Sequence

import msgspec

from policysched.rollout import guards, settings

_EDITED = "the policies were edited"


class RolloutStatus(enum.Enum):
    """The state of a rollout.

    REPLACED: the policies were edited, so another version passes stages or is in force.
    """

    RUNNING = "running"
    PROMOTED = "promoted"
    ROLLED_BACK = "rolledBack"
    REPLACED = "replaced"

    def describe(self) -> str:
        """Return the status in words."""
        return "rolled back" if self is RolloutStatus.ROLLED_BACK else self.value


class RolloutState(msgspec.Struct, frozen=True, rename="camel"):
    """A rollout as it is stored in the cluster; replaced at each step, never changed.

    Attributes:
        new_hash, old_hash: the new version, and the version in force at its start.
        started_at: the beginning of the rollout.
        stage_started_at: the beginning of the present stage, or the end of the rollout.
        waiting_since: when the stage was last held, from which `timeout` counts; None if it was
            not held, so that `timeout` counts from its beginning.
        stage: index of the present stage, from 0.
        stage_count: number of stages.
        stage_name: the pods of the present stage, as `Stage.describe` returns them.
        status: whether the rollout runs or how it ended.
        is_paused: whether an operator holds the present stage.
        reason: why the rollout ended; "" while it runs.
        guards: the latest verdicts, one line each.
        judged_pods: number of pods that the new version decided about in the present stage.
        min_pods: number of judged pods that the present stage needs.
    """

    new_hash: str
    old_hash: str
    started_at: datetime.datetime
    stage_started_at: datetime.datetime
    waiting_since: datetime.datetime | None = None
    stage: int = 0
    stage_count: int = 0
    stage_name: str = ""
    status: RolloutStatus = RolloutStatus.RUNNING
    is_paused: bool = False
    reason: str = ""
    guards: tuple[str, ...] = ()
    judged_pods: int = 0
    min_pods: int = 0

    @property
    def is_running(self) -> bool:
        """Whether the rollout has not ended."""
        return self.status is RolloutStatus.RUNNING

    def is_end_of(self, stored: RolloutState) -> bool:
        """Return whether this is the end of a rollout that is stored as running."""
        is_same = (self.new_hash, self.started_at) == (stored.new_hash, stored.started_at)
        return is_same and stored.is_running and not self.is_running

    def as_json(self) -> dict[str, object]:
        """Return the rollout in the form of schemas/rollout.schema.json; stages count from 1."""
        return {
            "status": self.status.value,
            "hash": self.new_hash,
            "oldHash": self.old_hash,
            "stage": self.stage + 1,
            "stageCount": self.stage_count,
            "stageName": self.stage_name,
            "startedAt": self.started_at.isoformat(),
            "stageStartedAt": self.stage_started_at.isoformat(),
            "judgedPods": self.judged_pods,
            "minPods": self.min_pods,
            "guards": list(self.guards),
            "isPaused": self.is_paused,
            "reason": self.reason,
        }

    def describe(self) -> str:
        """Return the hash of the new version and the present stage."""
        return f"{self.new_hash}: {self.describe_stage()}"

    def describe_stage(self) -> str:
        """Return the number and the pods of the present stage."""
        return f"stage {self.stage + 1} of {self.stage_count} ({self.stage_name})"


def start_rollout(
    plan: settings.RolloutSettings, new_hash: str, old_hash: str, now: datetime.datetime
) -> RolloutState:
    """Return a rollout at the beginning of its first stage."""
    return RolloutState(
        new_hash,
        old_hash,
        now,
        now,
        stage_count=len(plan.stages),
        stage_name=plan.stages[0].describe(),
        min_pods=plan.min_pods_of(0),
    )


def is_about(state: RolloutState, new_hash: str) -> bool:
    """Return whether a state says if a version is in a stage, promoted or rolled back."""
    return state.new_hash == new_hash and state.status is not RolloutStatus.REPLACED


def can_continue(state: RolloutState, new_hash: str, plan: settings.RolloutSettings) -> bool:
    """Return whether a version can continue a stored rollout.

    A running rollout must be in a stage of `plan`, because the stages may have been edited since.
    A version that was rolled back or promoted continues to be so.
    """
    if not is_about(state, new_hash):
        return False
    return not state.is_running or (
        state.stage_count == len(plan.stages)
        and 0 <= state.stage < state.stage_count
        and state.stage_name == plan.stages[state.stage].describe()
    )


def can_be_replaced(state: RolloutState) -> bool:
    """Return whether an edit changes the state: it ends a rollout, and a rollback's verdict."""
    return state.status in {RolloutStatus.RUNNING, RolloutStatus.ROLLED_BACK}


def replace_rollout(state: RolloutState, now: datetime.datetime) -> RolloutState:
    """Return the state after an edit; the same version can then be tried again."""
    reason = f"{state.reason}; the policies were edited since" if state.reason else _EDITED
    return end_rollout(state, RolloutStatus.REPLACED, reason, now)


def end_rollout(
    state: RolloutState, status: RolloutStatus, reason: str, now: datetime.datetime
) -> RolloutState:
    """Return a rollout that has ended."""
    return msgspec.structs.replace(
        state, status=status, reason=reason, is_paused=False, stage_started_at=now
    )


@dataclasses.dataclass(frozen=True, slots=True)
class StageCheck:
    """The result of a check of the present stage.

    Attributes:
        verdicts: the verdicts of the guards that the stage can measure.
        judged_pods: number of pods that the new version has decided about in the stage.
        is_held: whether an operator or a freeze holds the stage.
    """

    verdicts: Sequence[guards.GuardVerdict]
    judged_pods: int
    is_held: bool = False


def advance_rollout(
    state: RolloutState,
    plan: settings.RolloutSettings,
    check: StageCheck,
    now: datetime.datetime,
) -> RolloutState:
    """Return the state of a running rollout after a check.

    A guard that trips ends the rollout at once, also while it is held. A stage ends when its
    duration has passed, enough pods were judged and all guards have a value within their bounds.
    """
    verdicts = check.verdicts
    state = msgspec.structs.replace(
        state,
        guards=tuple(each.describe() for each in verdicts),
        judged_pods=check.judged_pods,
    )
    tripped = [each.describe() for each in verdicts if each.state is guards.GuardState.TRIPPED]
    if tripped:
        reason = f"{state.describe_stage()}: {'; '.join(tripped)}"
        return end_rollout(state, RolloutStatus.ROLLED_BACK, reason, now)
    if check.is_held:
        return msgspec.structs.replace(state, waiting_since=now)
    waiting = _find_reason_to_wait(state, plan, verdicts, now)
    if not waiting:
        return _enter_next_stage(state, plan, now)
    since = state.waiting_since or state.stage_started_at
    seconds = (now - since).total_seconds()
    if seconds >= plan.timeout_seconds and plan.on_timeout == "rollBack":
        reason = f"{state.describe_stage()} was not passed within {plan.timeout}: {waiting}"
        return end_rollout(state, RolloutStatus.ROLLED_BACK, reason, now)
    return state


def _find_reason_to_wait(
    state: RolloutState,
    plan: settings.RolloutSettings,
    verdicts: Sequence[guards.GuardVerdict],
    now: datetime.datetime,
) -> str:
    """Return why the present stage cannot end yet, or ""."""
    min_pods = plan.min_pods_of(state.stage)
    if state.judged_pods < min_pods:
        return f"{state.judged_pods} of {min_pods} pods judged"
    unknown = [each.describe() for each in verdicts if each.state is guards.GuardState.UNKNOWN]
    if unknown:
        return "; ".join(unknown)
    left_seconds = plan.stages[state.stage].duration_seconds
    left_seconds -= (now - state.stage_started_at).total_seconds()
    return f"{left_seconds:.0f} s left" if left_seconds > 0 else ""


def _enter_next_stage(
    state: RolloutState, plan: settings.RolloutSettings, now: datetime.datetime
) -> RolloutState:
    """Return the state at the beginning of the next stage, or promoted after the last."""
    following = state.stage + 1
    if following == len(plan.stages):
        return end_rollout(state, RolloutStatus.PROMOTED, "all stages are passed", now)
    return msgspec.structs.replace(
        state,
        stage=following,
        stage_name=plan.stages[following].describe(),
        stage_started_at=now,
        waiting_since=None,
        judged_pods=0,
        min_pods=plan.min_pods_of(following),
        guards=(),
    )
