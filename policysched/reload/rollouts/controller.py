"""Lead new versions of the policies through their stages, one version at a time.

    edit ▶ stage_version ▶ stored ▶ stage 1 ▶ … ▶ stage n ─┬─▶ promoted: in force for all pods
                                       tick, each second   ├─▶ rolled back: not tried again
                                                           └─▶ replaced by another edit

1. **Edit.** The reloader checks a version. If the version has to pass stages (`takes_version`), it
   becomes the candidate (`stage_version`), and decides about no pod yet. Any other version is in
   force at once, and ends a running rollout (`_notice_outcome`).
2. **Start.** A new edit begins its first stage as soon as the state is stored (`_start`).
3. **Stages.** `tick` follows the request of the operator, evaluates the guards, and takes the next
   step (`_take_step`).
4. **End.** A promoted version is in force (`_put_in_force`). After a rollback, the version in force
   decides about all pods again (`_roll_back`). Another edit replaces the version
   (`_end_replaced_rollout`).

**Change of the leader.** On a standby, the candidate decides about no pod. It is in force as soon
as the leader uses it (`_follow_leader`). `begin_term` reads the stored state before the process
schedules, and `_adopt_stored_state` continues it. `_stand_by` ends the term.

Only the leader advances a rollout. It stores a state before the new version decides about more
pods, and after it has ceased to decide. If it dies in between, the next leader repeats the step.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import NoReturn

import msgspec

from policysched import clock as clocks
from policysched import errors
from policysched.cluster.objects import objects
from policysched.kube import errors as kube_errors
from policysched.profiles import policies
from policysched.reload import live_profiles, retries, versions
from policysched.reload import state as states
from policysched.reload.rollouts import guard_evaluation, records, state_writer
from policysched.rollout import pod_choice, progress, settings

_log = logging.getLogger("policysched")

_TICK_SECONDS = 1.0
_MAX_READS = 15
"""Maximum number of attempts to read the stored state before a term begins without it."""
_READ_PAUSE_SECONDS = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class RolloutCandidate:
    """The newest version that has to pass stages.

    Attributes:
        checked: the version.
        made: its profiles.
        is_inherited: whether it was offered before this process led, so that a former leader may
            have begun its rollout; otherwise it is a new edit.
    """

    checked: versions.CheckedVersion
    made: policies.Profiles
    is_inherited: bool = False

    @property
    def hash(self) -> str:
        """The hash of the version."""
        return self.checked.hash

    @property
    def plan(self) -> settings.RolloutSettings:
        """The stages and guards of the version."""
        return self.checked.rollout

    def equals(self, other: versions.CheckedVersion) -> bool:
        """Return whether another version has the same policies, stages and guards."""
        return self.hash == other.hash and self.plan == other.rollout


@dataclasses.dataclass(frozen=True, slots=True)
class RolloutParts:
    """The components that a controller uses.

    Attributes:
        live: the profiles in use.
        state: the version in force, and the newest rollout of this process.
        stored: the state in the cluster.
        evaluator: evaluates the guards of the stage.
        is_leading: returns whether this process leads.
        awaited_hash: the version that the source offers at the start of the process, if it has to
            pass stages; "" otherwise.
    """

    live: live_profiles.LiveProfiles
    state: states.PolicyState
    stored: records.RolloutRecords
    evaluator: guard_evaluation.GuardEvaluator
    is_leading: Callable[[], bool]
    awaited_hash: str = ""


class RolloutController:
    """Leads one version at a time through its stages.

    Attributes:
        outcomes: number of rollouts that ended in this process, by outcome.
        evaluator: evaluates the guards of the stage.
        stored: the state in the cluster.
    """

    def __init__(
        self,
        parts: RolloutParts,
        clock: clocks.Clock,
        rng: random.Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Control the versions of `parts.live`; no rollout begins before the first term."""
        self.outcomes: Counter[str] = Counter()
        self.evaluator = parts.evaluator
        self._live = parts.live
        self._state = parts.state
        self.stored = parts.stored
        self._is_leading = parts.is_leading
        self._clock = clock
        self._sleep = sleep
        self._writer = state_writer.RolloutStateWriter(parts.stored, clock, rng)
        self._read_retries = retries.RequestRetries("the state of the rollout", rng, "read")
        self._candidate: RolloutCandidate | None = None
        # Empty once the source has offered a version.
        self._awaited_hash = parts.awaited_hash
        # The first state of the candidate's rollout, which begins when it is stored.
        self._starting: progress.RolloutState | None = None
        # Read at the beginning of the term, for a version that the source has not offered yet.
        self._inherited: progress.RolloutState | None = None
        # Of the versions that were in force: they pass no stages again.
        self._former_texts = {versions.hash_texts(parts.state.current.texts)}
        # Whether the stored state was read in this term; whether `begin_term` still reads it.
        self._has_term = self._is_beginning = False
        # From the ConfigMap of the policies; the hash is that of the version that the leader uses.
        self._request = self._leader_hash = ""
        self._state.listeners.append(self._notice_outcome)

    # --- versions ---------------------------------------------------------------------------------

    def continues(self, version_hash: str) -> bool:
        """Return whether a version is in a stage, also if it was so before a restart."""
        running = self._state.running_rollout
        is_running = running is not None and running.new_hash == version_hash
        return is_running or version_hash == self._awaited_hash != ""

    def takes_version(
        self, checked: versions.CheckedVersion, offer: versions.OfferedVersion
    ) -> bool:
        """Return whether a version passes stages; otherwise it is in force at once.

        A version that was in force before, such as the target of a rollback, passes none. Neither
        do a version that the leader uses already, and the first version of all.
        """
        is_former = versions.hash_texts(checked.texts) in self._former_texts
        is_former = is_former or checked.hash == offer.in_use
        return bool(checked.rollout.stages) and not is_former and bool(self._state.current.texts)

    def stage_version(self, checked: versions.CheckedVersion, made: policies.Profiles) -> None:
        """Begin the rollout of a version; on a standby, wait until this process leads.

        After a freeze, the source offers the same version again. This is no edit: its rollout
        continues, or the version stays rolled back.

        Raises:
            ConfigurationError: the version cannot be used now; nothing has changed.
        """
        if self._candidate is not None and self._candidate.equals(checked):
            self._report_stage_or_rollback()
            return
        self._live.stage_version(checked.policy_set, made, _decide_about_none)
        self._end_replaced_rollout()
        self._starting = None
        is_inherited = not self._is_leading() or checked.hash == self._awaited_hash
        candidate = self._candidate = RolloutCandidate(checked, made, is_inherited)
        inherited, self._inherited, self._awaited_hash = self._inherited, None, ""
        if self._follow_leader(candidate):
            return
        if self._has_term and self._is_leading():
            self._adopt_stored_state(candidate, inherited)

    def _notice_outcome(self, event: states.ReloadEvent) -> None:
        """End the rollout if the policies are edited to a version that passes no stages."""
        is_loaded = event.outcome is states.OfferOutcome.LOADED
        offers_old = {states.OfferOutcome.KEPT, states.OfferOutcome.FROZEN}
        is_old = event.outcome in offers_old and event.hash == self._state.current.hash
        if is_loaded:
            self._former_texts.add(versions.hash_texts(self._state.current.texts))
        if is_loaded or is_old:
            self._awaited_hash = ""
            if self._candidate is not None:
                self._end_replaced_rollout()
                self._candidate = self._starting = None
                self.evaluator.end()
                self._live.unstage_version()

    def _end_replaced_rollout(self) -> None:
        running = self._state.running_rollout
        if running is not None:
            _log.warning("the rollout of %s ends: the policies were edited", running.new_hash)
            self._state.rollout = self._writer.pending = self._end_as_replaced(running)
            self.outcomes[progress.RolloutStatus.REPLACED.value] += 1

    def _end_as_replaced(self, state: progress.RolloutState) -> progress.RolloutState:
        now, reason = self._clock.now(), "the policies were edited"
        return progress.end_rollout(state, progress.RolloutStatus.REPLACED, reason, now)

    def notice_offer(self, offer: versions.OfferedVersion) -> None:
        """Note the request of an operator; on a standby, also which version the leader uses."""
        self._request, self._leader_hash = offer.rollout_request, offer.in_use
        if self._candidate is not None:
            self._follow_leader(self._candidate)

    def _follow_leader(self, candidate: RolloutCandidate) -> bool:
        """On a standby, put a version in force if the leader uses it; return whether it does."""
        is_followed = not self._is_leading() and self._leader_hash == candidate.hash
        if is_followed:
            self._put_in_force(candidate)
        return is_followed

    # --- terms ------------------------------------------------------------------------------------

    async def begin_term(self) -> None:
        """Continue with the stored state before this process schedules.

        Without a version that has to pass stages, or if the state cannot be read, the term begins
        at once, and the state is read later.
        """
        self._has_term = False
        if self._candidate is None and not self._awaited_hash:
            return
        self._is_beginning = True
        try:
            for _ in range(_MAX_READS):
                if await self._read_stored_state():
                    return
                await self._sleep(_READ_PAUSE_SECONDS)
        finally:
            self._is_beginning = False

    async def _read_stored_state(self) -> bool:
        """Read the stored state and continue with it; return False if that was not possible."""
        try:
            stored = await self.stored.read()
        except kube_errors.KubeError as error:
            self._read_retries.record_failure(error)
            return False
        self._read_retries.record_success()
        self._has_term = True
        self._former_texts |= stored.former_texts
        state, candidate = stored.state, self._candidate
        if candidate is not None:
            self._adopt_stored_state(candidate, state)
            is_of_other = state is not None and state.new_hash != candidate.hash
            self._inherited = state if is_of_other else None  # the watch may be behind
        elif state is not None and state.new_hash == self._awaited_hash:
            self._inherited = state
        elif state is not None and state.is_running:
            self._writer.pending = self._end_as_replaced(state)
        return True

    def _adopt_stored_state(
        self, candidate: RolloutCandidate, stored: progress.RolloutState | None
    ) -> None:
        """Continue the stored rollout of the same version, or begin a rollout."""
        local = self._state.rollout
        if not candidate.is_inherited:
            stored = None
        if stored is not None and local is not None and local.is_end_of(stored):
            stored = local  # an earlier term ended before this could be stored
        if stored is None or not progress.can_continue(stored, candidate.hash, candidate.plan):
            now, old_hash = self._clock.now(), self._state.current.hash
            self._starting = progress.start_rollout(candidate.plan, candidate.hash, old_hash, now)
        elif stored.is_running:
            self._enter_stage(candidate, stored)
        elif stored.status is progress.RolloutStatus.PROMOTED:
            self._state.rollout = stored
            self._put_in_force(candidate)
        else:
            self._writer.pending = stored
            self._roll_back(stored)

    def _stand_by(self) -> None:
        """End the term: another process may continue the rollout."""
        self._has_term, self._starting, self._writer.pending = False, None, None
        if self._candidate is not None:
            self._candidate = dataclasses.replace(self._candidate, is_inherited=True)
        self.evaluator.end()
        self._live.change_staged_pods(_decide_about_none)
        if self._state.running_rollout is not None:
            self._state.rollout = None

    async def run(self) -> NoReturn:
        """Check the running rollout each second until cancelled."""
        while True:
            await self._sleep(_TICK_SECONDS)
            try:
                await self.tick()
            except Exception:  # noqa: BLE001 - logged, see below
                # A fault in a rollout must not end the process: the version in force schedules.
                _log.exception("the check of the rollout failed")

    async def tick(self) -> None:
        """Check the running rollout, and take its next step."""
        if not self._is_leading():
            if self._has_term:
                self._stand_by()
            return
        if self._is_beginning or not (self._has_term or await self._read_stored_state()):
            return
        candidate, state = self._candidate, self._state.running_rollout
        if candidate is not None and self._starting is not None:
            await self._start(candidate, self._starting)
        elif candidate is not None and state is not None:
            await self._take_step(candidate, state, self._find_next_state(candidate, state))
        if self._writer.pending is not None:
            await self._writer.write(self._writer.pending)

    def _find_next_state(
        self, candidate: RolloutCandidate, state: progress.RolloutState
    ) -> progress.RolloutState:
        """Return the state after the request of the operator, or else after the guards."""
        now = self._clock.now()
        state = self._follow_request(state, now)
        if not state.is_running:
            return state
        verdicts = self.evaluator.evaluate(state, candidate.plan, candidate.made)
        is_held = state.is_paused or self._state.is_frozen
        check = progress.StageCheck(verdicts, self.evaluator.measured.new.judged, is_held)
        return progress.advance_rollout(state, candidate.plan, check, now)

    def _follow_request(
        self, state: progress.RolloutState, now: datetime.datetime
    ) -> progress.RolloutState:
        """Return the state after the request of the operator, if it is about this version."""
        verb, _, version_hash = self._request.partition(" ")
        if version_hash != state.new_hash:
            return state
        if verb in _REQUESTED_ENDS:
            return progress.end_rollout(state, *_REQUESTED_ENDS[verb], now)
        is_paused = verb == "pause" or (state.is_paused and verb != "resume")
        return msgspec.structs.replace(state, is_paused=is_paused)

    # --- steps ------------------------------------------------------------------------------------

    async def _start(self, candidate: RolloutCandidate, state: progress.RolloutState) -> None:
        """Begin the first stage once it is stored."""
        if not await self._writer.write(state):
            return
        if self._starting is state:
            self._starting = None
            self._enter_stage(candidate, state)
        else:  # an edit came during the write
            self._writer.pending = self._end_as_replaced(state)

    async def _take_step(
        self,
        candidate: RolloutCandidate,
        before: progress.RolloutState,
        after: progress.RolloutState,
    ) -> None:
        """Store the next state, then act on it; a rollback does not wait for its write."""
        if after.status is progress.RolloutStatus.ROLLED_BACK:
            self.outcomes[after.status.value] += 1
            self._writer.pending = after
            self._roll_back(after)
        elif after.is_running and after.stage == before.stage:
            self._state.rollout = after
            if self._writer.is_due or after.is_paused != before.is_paused:
                self._writer.pending = after
        elif await self._writer.write(after) and self._state.rollout is before:
            if after.is_running:
                self._enter_stage(candidate, after)
            else:
                self.outcomes[after.status.value] += 1
                self._state.rollout = after
                self._put_in_force(candidate)

    def _enter_stage(self, candidate: RolloutCandidate, state: progress.RolloutState) -> None:
        """Let the new version decide about the pods of a stage."""
        stages = candidate.plan.stages[: state.stage + 1]
        is_shadow = stages[-1].shadow
        chosen = _decide_about_none if is_shadow else pod_choice.PodChoice(stages, candidate.hash)
        if self._live.staged is None:
            try:
                self._live.stage_version(candidate.checked.policy_set, candidate.made, chosen)
            except errors.InputError as error:
                self._refuse(candidate, error)
                return
        else:
            self._live.change_staged_pods(chosen)
        self._state.rollout = state
        self.evaluator.begin_stage(state, candidate.plan, candidate.made)
        _log.info("rollout of %s: %s", state.new_hash, state.describe_stage())
        self._state.record_staged_version(state.new_hash)

    def _put_in_force(self, candidate: RolloutCandidate) -> None:
        """Use the new version for all pods."""
        self.evaluator.end()
        try:
            self._live.use_version(candidate.checked.policy_set, candidate.made)
        except errors.InputError as error:
            self._refuse(candidate, error)
            return
        self._candidate = self._starting = None
        _log.info("promoted %s: it is in force for all pods", candidate.hash)
        version = states.make_version_in_use(candidate.checked, self._clock.now())
        self._state.record_loaded_version(version)

    def _refuse(self, candidate: RolloutCandidate, error: errors.InputError) -> None:
        """Record that the new version cannot be used at the moment."""
        self._candidate = self._starting = None
        self._live.unstage_version()
        refusal = versions.make_version_refusal(candidate.hash, error)
        self._state.record_refusal(refusal, self._clock.now())

    def _roll_back(self, state: progress.RolloutState) -> None:
        """Use the version in force for all pods again."""
        self._state.rollout = state
        self.evaluator.end()
        self._live.unstage_version()
        _log.error("rolled back to %s: %s", self._state.current.hash, state.reason)
        self._report_stage_or_rollback()

    def _report_stage_or_rollback(self) -> None:
        """Record the present stage, or why the newest version was rolled back."""
        state = self._state.rollout
        if state is None:
            return
        if state.is_running:
            self._state.record_staged_version(state.new_hash)
        if state.status is not progress.RolloutStatus.ROLLED_BACK:
            return
        cause = errors.InputError("rollout", state.reason)
        refusal = versions.VersionRefusal(state.new_hash, state.reason, state.reason, cause)
        self._state.record_rolled_back_version(refusal, self._clock.now())


_REQUESTED_ENDS = {
    "abort": (progress.RolloutStatus.ROLLED_BACK, "an operator aborted the rollout"),
    "promote": (progress.RolloutStatus.PROMOTED, "an operator promoted the version"),
}
"""How requests of operators end a rollout, and the reason."""


def _decide_about_none(_pod: objects.Pod) -> bool:
    return False
