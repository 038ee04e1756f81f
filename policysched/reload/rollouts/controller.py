"""Lead new versions of the policies through their stages, one version at a time.

    edit ▶ stage_version ▶ stored ▶ stage 1 ▶ … ▶ stage n ─┬─▶ promoted: in force for all pods
                                       tick, each second   ├─▶ rolled back: not tried again
                                                           └─▶ replaced by another edit

1. **Edit.** The reloader checks a version. If the version has to pass stages (`takes_version`), it
   becomes the candidate (`stage_version`), and decides about no pod yet. Any other version is in
   force at once, and ends a running rollout (`_notice_outcome`).
2. **Stages.** `tick` compares the candidate with the state of its rollout, and takes one step:
   begin or continue the rollout (`_begin`); follow the request of the operator and the guards
   (`_check_stage`); put a promoted version in force (`_put_in_force`).
3. **Storage.** The leader stores a step (`_unstored_step`) before the new version decides about
   more pods, and a rollback after the version has ceased to decide. If it dies in between, the next
   leader repeats the step.

**Terms.** Only a leader takes steps. `lead` begins a term: the process catches up with the source
and with the stored state before it schedules, and continues the stored rollout of the candidate. On
a standby, the candidate decides about no pod. It is in force as soon as the leader uses it
(`_follow_leader`).

A candidate has at most one rollout, whose state is `_rollout`. The leader publishes it, or how the
last one ended, in `PolicyState.rollout`; other processes have None there.
"""

from __future__ import annotations

import asyncio
import contextlib
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
from policysched.reload import state as states
from policysched.reload import versions
from policysched.reload.rollouts import parts, state_sync
from policysched.rollout import pod_choice, progress

_log = logging.getLogger("policysched")

_TICK_SECONDS = 1.0
_MAX_READY_CHECKS = 300
_READY_CHECK_SECONDS = 0.1
"""A term waits at most 30 seconds for the ConfigMap and the stored state before it schedules."""


class RolloutController:
    """Leads one version at a time through its stages.

    Attributes:
        outcomes: number of rollouts that ended in this process, by outcome.
        evaluator: evaluates the guards of the stage.
        store: reads and writes the state in the cluster.
    """

    def __init__(
        self,
        components: parts.RolloutParts,
        clock: clocks.Clock,
        rng: random.Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Control the versions of `components.live`; no rollout begins before the first term."""
        self.outcomes: Counter[str] = Counter()
        self.evaluator = components.evaluator
        self.store = components.store
        self._live = components.live
        self._state = components.state
        self._source = components.source
        self._is_leading = components.is_leading
        self._clock = clock
        self._sleep = sleep
        self._sync = state_sync.RolloutStateSync(components.store, clock, rng, sleep)
        self._sync.on_change = self.tick
        self._candidate: parts.RolloutCandidate | None = None
        # The newest offer of the source; None before the first.
        self._offer: versions.OfferedVersion | None = None
        # The state of the candidate's rollout; None before this process begins or continues it.
        self._rollout: progress.RolloutState | None = None
        # A step that is being stored, and is taken then.
        self._unstored_step: progress.RolloutState | None = None
        # Whether the source has offered the newest version in this term.
        self._has_caught_up = False
        # Hashes of the texts of versions that this process has used: they pass no stages again.
        self._own_texts = {versions.hash_texts(components.state.current.texts)}
        self._state.is_rollout_stored = False
        self._state.listeners.append(self._notice_outcome)

    @property
    def failed_requests(self) -> int:
        """Number of reads and writes of the stored state that failed in this process."""
        return self._sync.failed_requests

    # --- versions ---------------------------------------------------------------------------------

    def continues(self, version_hash: str) -> bool:
        """Return whether a version is in a stage, also if it was so before a restart."""
        if self._candidate is None:
            return version_hash == self._source.held_hash != ""
        is_running = self._rollout is not None and self._rollout.is_running
        return is_running and self._candidate.hash == version_hash

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
        return texts in self._own_texts or texts in self._sync.former_texts

    def stage_version(self, checked: versions.CheckedVersion, made: policies.Profiles) -> None:
        """Begin the rollout of a version; on a standby, wait until this process leads.

        After a freeze, the source offers the same version again. This is no edit: its rollout
        continues, or the version stays rolled back. During a freeze, other stages wait.

        Raises:
            ConfigurationError: the version cannot be used now; nothing has changed.
        """
        if self._candidate is not None and self._is_kept(self._candidate, checked):
            self._report_stage_or_rollback()
            return
        self._live.stage_version(checked.policy_set, made, _decide_about_none)
        self._leave_candidate()
        self._candidate = parts.RolloutCandidate(checked, made)
        self._follow_leader()
        self.tick()

    def _is_kept(self, candidate: parts.RolloutCandidate, checked: versions.CheckedVersion) -> bool:
        """Return whether a version is that of the candidate; in a freeze, with any stages."""
        is_same_plan = candidate.plan == checked.rollout or self._state.is_frozen
        return candidate.hash == checked.hash and is_same_plan

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

        The end is stored also for a version that was rolled back, so that it can be tried again,
        and for a beginning that is being stored.
        """
        state = self._rollout or self._unstored_step
        self._candidate = self._unstored_step = None
        if state is not None:
            self._end_as_replaced(state)

    def _end_as_replaced(self, state: progress.RolloutState) -> None:
        """End a rollout because of an edit."""
        if state.is_running:
            _log.warning("the rollout of %s ends: the policies were edited", state.new_hash)
            self.outcomes[progress.RolloutStatus.REPLACED.value] += 1
        self.evaluator.end()
        self._sync.write(progress.replace_rollout(state, self._clock.now()))
        self._act_on(None)

    def _act_on(self, state: progress.RolloutState | None) -> None:
        """Set the state of the candidate's rollout; without one, publish how the last one ended."""
        self._rollout = state
        newest = self._sync.newest
        ended = None if newest is None or newest.is_running else newest
        self._state.rollout = state or ended

    def notice_offer(self, offer: versions.OfferedVersion) -> None:
        """Note what the source offers: a request of an operator, and the version in force."""
        self._offer = offer
        self._follow_leader()

    def _follow_leader(self) -> None:
        """Before a term, put the candidate in force if the last leader has used it."""
        candidate, offer = self._candidate, self._offer
        is_leader = self._has_caught_up and self._is_leading()
        if candidate is None or offer is None or is_leader:
            return
        if offer.in_use == candidate.hash:
            self._put_in_force(candidate)

    # --- terms ------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def lead(self) -> AsyncIterator[None]:
        """Continue the stored rollout, then lead until the context ends.

        If the API server does not answer, the process schedules without rollouts after a while.
        """
        requests = asyncio.create_task(self._send_requests())
        try:
            for _ in range(_MAX_READY_CHECKS):
                if self._is_ready():
                    break
                await self._sleep(_READY_CHECK_SECONDS)
            self.tick()
            yield
        finally:
            requests.cancel()
            await asyncio.gather(requests, return_exceptions=True)
            self._stand_by()

    async def _send_requests(self) -> NoReturn:
        """Catch up with the source, then read and write the state, as soon as there are stages."""
        while not self._may_have_rollout:
            await self._sleep(_TICK_SECONDS)
        await self._source.catch_up()
        while self._source.is_busy():  # the newest version is being checked
            await self._sleep(_READY_CHECK_SECONDS)
        self._has_caught_up = True
        await self._sync.run_term()

    def _is_ready(self) -> bool:
        """Return whether the candidate and the state of its rollout are known."""
        if not self._may_have_rollout:
            return True
        is_offered = self._has_caught_up and self._offer is not None
        return is_offered and self._sync.is_read and not self._source.is_busy()

    @property
    def _may_have_rollout(self) -> bool:
        """Whether there may be a rollout; otherwise no request is sent for one."""
        has_settings = self._offer is not None and self._offer.rollout_text is not None
        return self._state.declares_stages or has_settings or self._candidate is not None

    def _stand_by(self) -> None:
        """Decide nothing about the rollout: another process may continue it."""
        self._sync.end_term()
        self._has_caught_up, self._unstored_step = False, None
        self._rollout = self._state.rollout = None
        self._state.is_rollout_stored = False
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
        if not self._is_leading():
            return
        if not (self._has_caught_up and self._sync.is_read):
            self._state.is_rollout_stored = not self._may_have_rollout
            return
        if self._candidate is not None:
            self._take_step(self._candidate)
        elif not self._source.is_busy():
            self._end_abandoned_rollout()
        newest = self._sync.newest
        is_awaited = self._rollout is None and newest is not None and newest.is_running
        self._state.is_rollout_stored = not (is_awaited or self._sync.has_unwritten_end)

    # --- steps ------------------------------------------------------------------------------------

    def _end_abandoned_rollout(self) -> None:
        """End a stored rollout whose version is not offered any more, or is refused now."""
        newest, offer = self._sync.newest, self._offer
        if newest is None or offer is None:
            return
        if progress.can_be_replaced(newest) and self._is_abandoned(offer):
            self._end_as_replaced(newest)
        else:
            self._act_on(None)

    def _is_abandoned(self, offer: versions.OfferedVersion) -> bool:
        """Return whether an offer without candidate means that no version passes stages."""
        if self._state.refused is not None and not self._source.is_hindered():
            return True
        return self._source.compute_hash(offer) == self._state.current.hash

    def _take_step(self, candidate: parts.RolloutCandidate) -> None:
        """Take the next step of the candidate's rollout, if one is due."""
        rollout, step = self._rollout, self._unstored_step
        if step is not None and rollout is None and self._state.is_frozen:
            self._withdraw_beginning(step)
        elif step is not None and self._sync.stored is step:
            self._take_stored_step(candidate, step)
        elif rollout is None and step is None:
            self._begin(candidate)
        elif rollout is not None and rollout.is_running:
            self._check_stage(candidate, rollout)
        elif rollout is not None and rollout.status is progress.RolloutStatus.PROMOTED:
            self._put_in_force(candidate)  # it could not be used before

    def _withdraw_beginning(self, step: progress.RolloutState) -> None:
        """Let a rollout begin after the freeze, although its beginning was being stored."""
        self._unstored_step = None
        self._sync.write(progress.replace_rollout(step, self._clock.now()))

    def _begin(self, candidate: parts.RolloutCandidate) -> None:
        """Continue the stored rollout of the candidate, or store the beginning of a new one."""
        newest, now = self._sync.newest, self._clock.now()
        if self._was_in_force(candidate.checked) and not self._state.is_frozen:
            self._put_in_force(candidate)  # the stored history was not known before
        elif newest is not None and progress.can_continue(newest, candidate.hash, candidate.plan):
            self._continue(candidate, newest)
        elif not self._state.is_frozen:
            old_hash = self._state.current.hash
            self._store_step(progress.start_rollout(candidate.plan, candidate.hash, old_hash, now))

    def _continue(self, candidate: parts.RolloutCandidate, state: progress.RolloutState) -> None:
        """Continue a rollout that this process or another leader has stored."""
        if state.is_running:
            # Judged pods are counted anew, so the timeout begins anew, too.
            begun = msgspec.structs.replace(state, waiting_since=self._clock.now())
            self._enter_stage(candidate, begun)
            if self._rollout is begun:
                self._check_stage(candidate, begun)  # an operator may have asked for its end
        elif state.status is progress.RolloutStatus.PROMOTED:
            self._act_on(state)
            self._put_in_force(candidate)
        else:
            self._roll_back(state)

    def _store_step(self, state: progress.RolloutState) -> None:
        self._unstored_step = state
        self._sync.write(state)

    def _take_stored_step(
        self, candidate: parts.RolloutCandidate, state: progress.RolloutState
    ) -> None:
        """Enter a stage that is stored now, or put the version in force."""
        self._unstored_step = None
        if state.is_running:
            self._enter_stage(candidate, state)
        else:
            self.outcomes[state.status.value] += 1
            self._act_on(state)
            _log.info("promoted %s: %s", candidate.hash, state.reason)
            self._put_in_force(candidate)

    def _check_stage(
        self, candidate: parts.RolloutCandidate, before: progress.RolloutState
    ) -> None:
        """Let the operator and the guards decide; a rollback does not wait for its write."""
        after = self._find_next_state(candidate, before)
        if after.status is progress.RolloutStatus.ROLLED_BACK:
            self.outcomes[after.status.value] += 1
            self._unstored_step = None
            self._sync.write(after)
            self._roll_back(after)
        elif after.is_running and after.stage == before.stage:
            self._act_on(after)
            is_withdrawn = self._unstored_step is not None
            self._unstored_step = None
            if is_withdrawn or self._sync.is_due or after.is_paused != before.is_paused:
                self._sync.write(after)
        elif self._unstored_step is None:
            self._store_step(after)

    def _find_next_state(
        self, candidate: parts.RolloutCandidate, state: progress.RolloutState
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

    def _enter_stage(self, candidate: parts.RolloutCandidate, state: progress.RolloutState) -> None:
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
        self._act_on(state)
        self.evaluator.begin_stage(state, candidate.plan, candidate.made)
        _log.info("rollout of %s: %s", state.new_hash, state.describe_stage())
        self._state.record_staged_version(state.new_hash)

    def _put_in_force(self, candidate: parts.RolloutCandidate) -> None:
        """Use the new version for all pods."""
        self.evaluator.end()
        try:
            self._live.use_version(candidate.checked.policy_set, candidate.made)
        except errors.InputError as error:
            self._record_hindrance(candidate, error)
            return
        self._candidate = self._rollout = self._unstored_step = None
        _log.info("version %s is in force for all pods", candidate.hash)
        version = states.make_version_in_use(candidate.checked, self._clock.now())
        self._state.record_promoted_version(version)

    def _record_hindrance(
        self, candidate: parts.RolloutCandidate, error: errors.InputError
    ) -> None:
        """Record that the candidate cannot be used at the moment; the next tick tries it again."""
        self._live.unstage_version()
        refusal = versions.make_version_refusal(candidate.hash, error)
        if not self._state.is_known_refusal(refusal):
            _log.error("version %s cannot be used now: %s", candidate.hash, refusal.details)
            self._state.record_refusal(refusal, self._clock.now())

    def _roll_back(self, state: progress.RolloutState) -> None:
        """Use the version in force for all pods again."""
        self._act_on(state)
        self.evaluator.end()
        self._live.unstage_version()
        _log.error("rolled back to %s: %s", self._state.current.hash, state.reason)
        self._report_stage_or_rollback()

    def _report_stage_or_rollback(self) -> None:
        """Record the present stage, or why the newest version was rolled back."""
        state = self._rollout
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
