"""Lead new versions of the policies through their stages, one version at a time.

    edit ▶ stage_version ▶ stored ▶ stage 1 ▶ … ▶ stage n ─┬─▶ promoted: in force for all pods
                                       tick, each second   ├─▶ rolled back: not tried again
                                                           └─▶ replaced by another edit

1. **Edit.** The reloader checks a version. If the version has to pass stages (`takes_version`), it
   becomes the candidate (`stage_version`), and decides about no pod yet. Any other version is in
   force at once, and ends a running rollout (`_notice_outcome`).
2. **Stages.** `tick` compares the candidate with the state of its rollout, and takes one step:
   begin or continue the rollout (`_start_or_continue`); follow the request of the operator and the
   guards (`_check_stage`); put a promoted version in force (`_put_in_force`).
3. **Storage.** The leader stores a step before the new version decides about more pods (`_next`),
   and a rollback after the version has ceased to decide. If it dies in between, the next leader
   repeats the step.

**Terms.** Only a leader takes steps. `lead` begins a term: the process catches up with the source
and with the stored state before it schedules, and continues the stored rollout of the candidate. On
a standby, the candidate decides about no pod. It is in force as soon as the leader uses it
(`_follow_leader`).

The process that leads has the stored state in `PolicyState.rollout`; other processes have None.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import logging
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NoReturn

import msgspec

from policysched import clock as clocks
from policysched import errors
from policysched.cluster.objects import objects
from policysched.profiles import policies
from policysched.reload import live_profiles, versions
from policysched.reload import state as states
from policysched.reload.rollouts import guard_evaluation, records, state_storage
from policysched.rollout import pod_choice, progress, settings

_log = logging.getLogger("policysched")

_TICK_SECONDS = 1.0
_MAX_LOOKS = 300
"""Maximum number of looks for the candidate and the stored state before a term schedules."""
_LOOK_SECONDS = 0.1


@dataclasses.dataclass(frozen=True, slots=True)
class RolloutCandidate:
    """The newest version that has to pass stages.

    Attributes:
        checked: the version.
        made: its profiles.
    """

    checked: versions.CheckedVersion
    made: policies.Profiles

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
class RolloutSource:
    """The source of new versions, as far as a term needs it.

    Attributes:
        catch_up: waits until the newest version was offered, for a few seconds at most.
        is_busy: returns whether a version is being checked.
        compute_hash: returns the hash of the version in an offer.
        held_hash: the version that a freeze holds in its stage since before the process started;
            "" otherwise.
    """

    catch_up: Callable[[], Awaitable[None]]
    is_busy: Callable[[], bool]
    compute_hash: Callable[[versions.OfferedVersion], str]
    held_hash: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class RolloutParts:
    """The components that a controller uses.

    Attributes:
        live: the profiles in use.
        state: the version in force, and the newest rollout.
        source: offers versions.
        stored: the state in the cluster.
        evaluator: evaluates the guards of the stage.
        is_leading: returns whether this process leads.
    """

    live: live_profiles.LiveProfiles
    state: states.PolicyState
    source: RolloutSource
    stored: records.RolloutRecords
    evaluator: guard_evaluation.GuardEvaluator
    is_leading: Callable[[], bool]


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
        self.stored = parts.stored
        self._live = parts.live
        self._state = parts.state
        self._source = parts.source
        self._is_leading = parts.is_leading
        self._clock = clock
        self._sleep = sleep
        self._storage = state_storage.RolloutStateStorage(parts.stored, clock, rng, sleep)
        self._storage.on_change = self.tick
        self._candidate: RolloutCandidate | None = None
        # The newest offer of the source; None before the first.
        self._offer: versions.OfferedVersion | None = None
        # A step that is being stored, and is taken then.
        self._next: progress.RolloutState | None = None
        # Whether a term has begun, and the process has caught up with the source.
        self._has_term = False
        # Of the versions that this process has used: they pass no stages again.
        self._own_texts = {versions.hash_texts(parts.state.current.texts)}
        self._state.has_read_rollout = False
        self._state.listeners.append(self._notice_outcome)

    # --- versions ---------------------------------------------------------------------------------

    def continues(self, version_hash: str) -> bool:
        """Return whether a version is in a stage, also if it was so before a restart."""
        running = self._state.running_rollout
        is_running = running is not None and running.new_hash == version_hash
        return is_running or version_hash == self._source.held_hash != ""

    def takes_version(
        self, checked: versions.CheckedVersion, offer: versions.OfferedVersion
    ) -> bool:
        """Return whether a version passes stages; otherwise it is in force at once.

        A version that was in force before passes none. Neither do a version that the leader uses
        already, and the first version of all.
        """
        is_former = self._was_in_force(checked) or checked.hash == offer.in_use
        return bool(checked.rollout.stages) and not is_former and bool(self._state.current.texts)

    def _was_in_force(self, checked: versions.CheckedVersion) -> bool:
        texts = versions.hash_texts(checked.texts)
        return texts in self._own_texts or texts in self._storage.former_texts

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
        self._leave_candidate()
        self._candidate = RolloutCandidate(checked, made)
        self._follow_leader()
        self.tick()

    def _notice_outcome(self, event: states.ReloadEvent) -> None:
        """End the rollout if the policies are edited to a version that passes no stages."""
        is_loaded = event.outcome is states.OfferOutcome.LOADED
        offers_old = {states.OfferOutcome.KEPT, states.OfferOutcome.FROZEN}
        is_old = event.outcome in offers_old and event.hash == self._state.current.hash
        if is_loaded:
            self._own_texts.add(versions.hash_texts(self._state.current.texts))
        if (is_loaded or is_old) and self._candidate is not None:
            self._leave_candidate()
            self._live.unstage_version()

    def _leave_candidate(self) -> None:
        """End the rollout of the candidate: the policies were edited.

        The end is stored also for a version that was rolled back, so that it can be tried again.
        """
        self._candidate = self._next = None
        state = self._state.rollout
        if state is None or not progress.can_be_replaced(state):
            return
        if state.is_running:
            _log.warning("the rollout of %s ends: the policies were edited", state.new_hash)
            self.outcomes[progress.RolloutStatus.REPLACED.value] += 1
            self.evaluator.end()
        self._store_replaced(state)

    def _store_replaced(self, state: progress.RolloutState) -> None:
        self._state.rollout = progress.replace_rollout(state, self._clock.now())
        self._storage.write(self._state.rollout)

    def notice_offer(self, offer: versions.OfferedVersion) -> None:
        """Note what the source offers: a request of an operator, and the version in force."""
        self._offer = offer
        self._follow_leader()

    def _follow_leader(self) -> None:
        """On a standby, put the candidate in force if the leader uses it."""
        candidate, offer = self._candidate, self._offer
        if candidate is None or offer is None or self._is_leading():
            return
        if offer.in_use == candidate.hash:
            self._put_in_force(candidate)

    # --- terms ------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def lead(self) -> AsyncIterator[None]:
        """Continue the stored rollout, then lead until the context ends."""
        storing = asyncio.create_task(self._storage.run_term())
        try:
            await self._source.catch_up()
            await self._wait_until_ready()
            self._has_term = True
            self.tick()
            yield
        finally:
            storing.cancel()
            await asyncio.gather(storing, return_exceptions=True)
            self._stand_by()

    async def _wait_until_ready(self) -> None:
        """Wait until the candidate and the stored state are known, but not for ever."""
        for _ in range(_MAX_LOOKS):
            if self._is_ready():
                return
            await self._sleep(_LOOK_SECONDS)

    def _is_ready(self) -> bool:
        if self._offer is None or self._source.is_busy():
            return False
        return self._candidate is None or self._storage.is_read

    def _stand_by(self) -> None:
        """Decide nothing about the rollout: another process may continue it."""
        self._storage.end_term()
        self._has_term, self._next, self._state.rollout = False, None, None
        self._state.has_read_rollout = False
        self.evaluator.end()
        self._live.change_staged_pods(_decide_about_none)

    async def run(self) -> NoReturn:
        """Take a step each second until cancelled."""
        while True:
            await self._sleep(_TICK_SECONDS)
            try:
                self.tick()
            except Exception:  # noqa: BLE001 - logged, see below
                # A fault in a rollout must not end the process: the version in force schedules.
                _log.exception("the check of the rollout failed")

    def tick(self) -> None:
        """As the leader, take the next step of the rollout."""
        if not (self._has_term and self._is_leading() and self._storage.is_read):
            return
        is_without_candidate = self._candidate is None and not self._source.is_busy()
        if self._candidate is not None:
            self._take_step(self._candidate)
        elif is_without_candidate and self._state.rollout is None:
            self._end_abandoned_rollout()
        stored = self._storage.stored
        is_awaited = self._state.rollout is None and stored is not None and stored.is_running
        is_held = is_without_candidate and self._state.is_frozen
        self._state.has_read_rollout = is_held or not is_awaited

    # --- steps ------------------------------------------------------------------------------------

    def _end_abandoned_rollout(self) -> None:
        """End a stored rollout whose version is not offered any more, or is refused now."""
        stored, offer = self._storage.stored, self._offer
        if stored is None or offer is None or offer.is_frozen:
            return
        is_edited_back = self._source.compute_hash(offer) == self._state.current.hash
        if not is_edited_back and self._state.refused is None:
            return
        if progress.can_be_replaced(stored):
            self._store_replaced(stored)
        else:
            self._state.rollout = stored

    def _take_step(self, candidate: RolloutCandidate) -> None:
        """Take the next step of the candidate's rollout, if one is due."""
        state = self._state.rollout
        if self._was_in_force(candidate.checked):  # the stored history was not known before
            self._put_in_force(candidate)
        elif self._next is not None and self._storage.stored is self._next:
            if state is not None or not self._state.is_frozen:
                self._take_stored_step(candidate, self._next)
        elif state is None or not progress.is_about(state, candidate.hash):
            self._start_or_continue(candidate)
        elif state.is_running:
            self._check_stage(candidate, state)
        elif state.status is progress.RolloutStatus.PROMOTED:
            self._put_in_force(candidate)  # it could not be used before

    def _start_or_continue(self, candidate: RolloutCandidate) -> None:
        """Continue the stored rollout of the candidate, or store the beginning of a new one."""
        is_first_step = self._state.rollout is None and self._next is None
        stored = self._storage.stored if is_first_step else None
        now = self._clock.now()
        if stored is not None and progress.can_continue(stored, candidate.hash, candidate.plan):
            if stored.is_running:
                # Judged pods are counted anew, so the timeout begins anew, too.
                self._enter_stage(candidate, msgspec.structs.replace(stored, waiting_since=now))
            elif stored.status is progress.RolloutStatus.PROMOTED:
                self._state.rollout = stored
                self._put_in_force(candidate)
            else:
                self._roll_back(stored)
        elif self._next is None and not self._state.is_frozen:
            old_hash = self._state.current.hash
            self._store_step(progress.start_rollout(candidate.plan, candidate.hash, old_hash, now))

    def _store_step(self, state: progress.RolloutState) -> None:
        self._next = state
        self._storage.write(state)

    def _take_stored_step(self, candidate: RolloutCandidate, state: progress.RolloutState) -> None:
        """Enter a stage that is stored now, or put the version in force."""
        self._next = None
        if state.is_running:
            self._enter_stage(candidate, state)
        else:
            self.outcomes[state.status.value] += 1
            self._state.rollout = state
            self._put_in_force(candidate)

    def _check_stage(self, candidate: RolloutCandidate, before: progress.RolloutState) -> None:
        """Let the operator and the guards decide; a rollback does not wait for its write."""
        after = self._find_next_state(candidate, before)
        if after.status is progress.RolloutStatus.ROLLED_BACK:
            self.outcomes[after.status.value] += 1
            self._next = None
            self._storage.write(after)
            self._roll_back(after)
        elif after.is_running and after.stage == before.stage:
            self._state.rollout = after
            is_withdrawn = self._next is not None
            self._next = None
            if is_withdrawn or self._storage.is_due or after.is_paused != before.is_paused:
                self._storage.write(after)
        elif self._next is None:
            self._store_step(after)

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
        request = self._offer.rollout_request if self._offer is not None else ""
        verb, _, version_hash = request.partition(" ")
        if version_hash != state.new_hash:
            return state
        if verb in _REQUESTED_ENDS:
            return progress.end_rollout(state, *_REQUESTED_ENDS[verb], now)
        is_paused = verb == "pause" or (state.is_paused and verb != "resume")
        return msgspec.structs.replace(state, is_paused=is_paused)

    def _enter_stage(self, candidate: RolloutCandidate, state: progress.RolloutState) -> None:
        """Let the new version decide about the pods of a stage."""
        stages = candidate.plan.stages[: state.stage + 1]
        is_shadow = stages[-1].shadow
        chosen = _decide_about_none if is_shadow else pod_choice.PodChoice(stages, candidate.hash)
        if self._live.staged is None:
            try:
                self._live.stage_version(candidate.checked.policy_set, candidate.made, chosen)
            except errors.InputError as error:
                self._record_hindrance(candidate, error)
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
            self._record_hindrance(candidate, error)
            return
        self._candidate = self._next = None
        _log.info("version %s is in force for all pods", candidate.hash)
        version = states.make_version_in_use(candidate.checked, self._clock.now())
        self._state.record_loaded_version(version)

    def _record_hindrance(self, candidate: RolloutCandidate, error: errors.InputError) -> None:
        """Record that the candidate cannot be used at the moment; the next tick tries it again."""
        self._live.unstage_version()
        refusal = versions.make_version_refusal(candidate.hash, error)
        told = self._state.refused
        if told is None or (told.hash, told.details) != (refusal.hash, refusal.details):
            _log.error("version %s cannot be used now: %s", candidate.hash, refusal.details)
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
