"""Put new versions of the policies in force in stages, and roll them back.

    Reloader ─ new version ▶ stage_version ─┐                   ┌─▶ promoted: in force for all pods
                                            ├─ tick, each second┤
    Lease ─ begin_term ▶ stored state ──────┘                   └─▶ rolled back, and not tried again

Only the leader advances a rollout. The state is written before the new version decides about more
pods, and after it has ceased to decide. A leader that dies in between repeats the step.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

import msgspec

from policysched import clock as clocks
from policysched import errors
from policysched.cluster.objects import objects
from policysched.kube import errors as kube_errors
from policysched.profiles import policies
from policysched.reload import live_profiles, retries, versions
from policysched.reload import state as states
from policysched.reload.rollouts import measuring, query_values, records
from policysched.rollout import guards, pod_choice, progress, settings

_log = logging.getLogger("policysched")

_TICK_SECONDS = 1.0
_QUERY_SECONDS = 5.0
"""Interval between the queries of guards."""
_STORE_SECONDS = 10.0
"""Interval at which the counts of a running stage are stored, for `rollout status`."""
REPLACED = "replaced"
"""The outcome of a rollout that another edit of the policies ended."""
_SHADOW_MEASURES = frozenset({"unschedulable", "missingMetrics"})
"""What guards can measure of a version that binds no pods."""


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """A new version that is not in force yet.

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
class RolloutParts:
    """What a controller works with.

    Attributes:
        live: the profiles in use.
        state: the version in force, and the state of the rollout.
        stored: the state in the cluster.
        measured: counts the decisions in a stage.
        queries: asks Prometheus for the values of guards.
        is_leading: returns whether this process leads.
    """

    live: live_profiles.LiveProfiles
    state: states.PolicyState
    stored: records.RolloutRecords
    measured: measuring.StageMeasurements
    queries: query_values.GuardQueryClient
    is_leading: Callable[[], bool]


class RolloutController:
    """Leads one version at a time through its stages.

    Attributes:
        outcomes: number of rollouts that ended in this process, by outcome.
        verdicts: the latest verdicts of the guards.
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
        self.verdicts: tuple[guards.GuardVerdict, ...] = ()
        self._live = parts.live
        self._state = parts.state
        self._stored = parts.stored
        self._measured = parts.measured
        self._queries = parts.queries
        self._is_leading = parts.is_leading
        self._clock = clock
        self._sleep = sleep
        self._retries = retries.WriteRetries("the state of the rollout", rng)
        self._candidate: Candidate | None = None
        self._rolled_back: tuple[Candidate, progress.RolloutState] | None = None
        self._known: records.StoredRollout | None = None
        self._request = self._in_use = ""
        self._formerly_in_force = {parts.state.current.hash}
        self._query_values: dict[str, float | str] = {}
        self._asking: asyncio.Task[None] | None = None
        self._asked_seconds = self._stored_seconds = clock.monotonic_seconds()
        self._unstored: progress.RolloutState | None = None
        self._state.listeners.append(self._notice_outcome)

    # --- versions ---------------------------------------------------------------------------------

    def takes_version(self, found: versions.CheckedVersion, offer: versions.OfferedVersion) -> bool:
        """Return whether a version passes stages; otherwise it is in force at once.

        A version that was in force before, for example of a rollback, or that the leader already
        uses, passes none.
        """
        is_former = found.hash in self._formerly_in_force or found.hash == offer.in_use
        return bool(found.rollout.stages) and not is_former and bool(self._state.current.texts)

    def stage_version(self, found: versions.CheckedVersion, made: policies.Profiles) -> None:
        """Begin the rollout of a version; on a standby, wait until this process leads.

        After a freeze, the version that was considered last is offered again, but is no edit: its
        rollout continues, or it stays rolled back.

        Raises:
            ConfigurationError: the version cannot be used now; nothing has changed.
        """
        if self._candidate is not None and self._candidate.equals(found):
            return
        if self._rolled_back is not None and self._rolled_back[0].equals(found):
            self._roll_back(*self._rolled_back)
            return
        self._live.stage_version(found.policy_set, made, _decide_about_none)
        self._end_replaced_rollout()
        self._candidate, self._rolled_back = Candidate(found, made), None
        self._follow_leader(self._candidate)
        if self._known is not None and self._is_leading():
            self._adopt_stored_state(self._candidate, self._known.state)

    def _notice_outcome(self, told: states.ReloadEvent) -> None:
        """End the rollout if the policies are edited to a version that passes no stages."""
        if told.outcome not in {states.OfferOutcome.LOADED, states.OfferOutcome.KEPT}:
            return
        self._formerly_in_force.add(told.hash)
        self._rolled_back = None
        if self._candidate is not None:
            self._end_replaced_rollout()
            self._candidate = None
            self._measured.end()
            self._live.unstage_version()

    def _end_replaced_rollout(self) -> None:
        running = self._state.rollout
        if running is None or not running.is_running:
            return
        _log.warning("the rollout of %s ends: the policies were edited", running.new_hash)
        self.outcomes[REPLACED] += 1
        self._state.rollout = self._unstored = progress.end_rollout(
            running,
            progress.RolloutStatus.ROLLED_BACK,
            "the policies were edited",
            self._clock.now(),
        )

    def notice_offer(self, offer: versions.OfferedVersion) -> None:
        """Note the request of an operator; on a standby, also which version the leader uses."""
        self._request, self._in_use = offer.rollout_request, offer.in_use
        if self._candidate is not None:
            self._follow_leader(self._candidate)

    def _follow_leader(self, candidate: Candidate) -> None:
        """On a standby, put a version in force if the leader uses it."""
        if not self._is_leading() and self._in_use == candidate.hash:
            self._put_in_force(candidate)

    # --- terms ------------------------------------------------------------------------------------

    async def begin_term(self) -> None:
        """Read the stored state, and continue with it before this process schedules."""
        self._known = None
        failures = 0
        while self._known is None:
            try:
                self._known = await self._stored.read()
            except kube_errors.KubeError as error:
                failures += 1
                _log.warning("waiting for the state of the rollout: %s", error)
                await self._sleep(min(2.0**failures, 30.0))
        self._formerly_in_force |= self._known.formerly_in_force
        if self._candidate is not None:
            self._adopt_stored_state(self._candidate, self._known.state)

    def _adopt_stored_state(
        self, candidate: Candidate, stored: progress.RolloutState | None
    ) -> None:
        """Continue as the stored state of the same version says, or begin a rollout.

        It also begins again if the configuration has other stages since.
        The stored state is used once: a version that is offered again later is a new edit.
        """
        if self._known is not None:
            self._known = dataclasses.replace(self._known, state=None)
        if stored is not None and stored.is_running:
            stored = stored if progress.can_continue(stored, candidate.plan) else None
        if stored is None or stored.new_hash != candidate.hash:
            now, old_hash = self._clock.now(), self._state.current.hash
            state = progress.start_rollout(candidate.plan, candidate.hash, old_hash, now)
            self._enter_stage(candidate, state)
        elif stored.status is progress.RolloutStatus.PROMOTED:
            self._put_in_force(candidate)
        elif stored.status is progress.RolloutStatus.ROLLED_BACK:
            self._roll_back(candidate, stored)
        else:
            self._enter_stage(candidate, stored)

    async def run(self) -> NoReturn:
        """Look at the running rollout each second until cancelled."""
        while True:
            await self._sleep(_TICK_SECONDS)
            try:
                await self._tick()
            except kube_errors.FencedWriteError:
                continue  # the lease is lost; the next leader goes on
            except kube_errors.KubeError as error:
                await self._sleep(self._retries.record_failure(error))

    async def _tick(self) -> None:
        """Compare the measurements of the stage with the guards, and take the next step."""
        if self._known is None or not self._is_leading():
            self._known = self._unstored = None
            return
        if self._unstored is not None:
            await self._store(self._unstored)
        candidate, state = self._candidate, self._state.rollout
        if candidate is None or state is None or not state.is_running:
            return
        now = self._clock.now()
        following = self._obey_request(state, now)
        if following.is_running:
            self._ask_queries_if_due(candidate, state)
            self.verdicts = verdicts = self._judge(candidate, state)
            judged = self._measured.new.judged
            following = progress.advance_rollout(following, candidate.plan, verdicts, judged, now)
        await self._take_step(candidate, state, following)

    def _obey_request(
        self, state: progress.RolloutState, now: datetime.datetime
    ) -> progress.RolloutState:
        """Return the state after the request of an operator, if it is about this version."""
        verb, _, version_hash = self._request.partition(" ")
        if version_hash != state.new_hash:
            verb = ""
        if verb == "abort":
            return progress.end_rollout(
                state, progress.RolloutStatus.ROLLED_BACK, "an operator aborted the rollout", now
            )
        if verb == "promote":
            return progress.end_rollout(
                state, progress.RolloutStatus.PROMOTED, "an operator promoted the version", now
            )
        is_paused = verb == "pause" or self._state.is_frozen
        return msgspec.structs.replace(state, is_paused=is_paused)

    def _ask_queries_if_due(self, candidate: Candidate, state: progress.RolloutState) -> None:
        """Send the queries of guards in the background, so that no other guard waits for them."""
        now_seconds = self._clock.monotonic_seconds()
        is_asking = self._asking is not None and not self._asking.done()
        if is_asking or now_seconds < self._asked_seconds + _QUERY_SECONDS:
            return
        self._asked_seconds = now_seconds
        asked = [each for each in self._list_guards(candidate, state) if each.query]
        if asked:
            self._asking = asyncio.create_task(self._ask_queries(asked, candidate, state))

    async def _ask_queries(
        self, asked: Sequence[settings.Guard], candidate: Candidate, state: progress.RolloutState
    ) -> None:
        new = self._measured.list_bound_pods(state.new_hash)
        old = self._measured.list_bound_pods(state.old_hash)
        values = await self._queries.ask_all(asked, new, old)
        present = self._state.rollout
        is_same_stage = present is not None and present.stage == state.stage
        if self._candidate is candidate and is_same_stage:
            self._query_values = values

    def _list_guards(
        self, candidate: Candidate, state: progress.RolloutState
    ) -> list[settings.Guard]:
        """Return the guards that can be measured in the present stage."""
        is_shadow = candidate.plan.stages[state.stage].shadow
        return [
            each
            for each in candidate.plan.guards
            if not is_shadow or each.measure in _SHADOW_MEASURES
        ]

    def _judge(
        self, candidate: Candidate, state: progress.RolloutState
    ) -> tuple[guards.GuardVerdict, ...]:
        measured = guards.Measured(
            self._measured.new,
            self._measured.old,
            self._measured.compute_missing_metrics_share(candidate.made),
            self._query_values,
        )
        min_pods = candidate.plan.min_pods_of(state.stage)
        return tuple(
            guards.judge_guard(each, measured, min_pods)
            for each in self._list_guards(candidate, state)
        )

    # --- steps ------------------------------------------------------------------------------------

    async def _take_step(
        self,
        candidate: Candidate,
        before: progress.RolloutState,
        after: progress.RolloutState,
    ) -> None:
        """Store a state and act by it; roll back first, because that must not wait for a write."""
        if after.status is progress.RolloutStatus.ROLLED_BACK:
            self.outcomes[after.status.value] += 1
            self._unstored = after
            self._roll_back(candidate, after)
            await self._store(after)
            return
        if after.is_running and after.stage == before.stage:
            self._state.rollout = after
            now_seconds = self._clock.monotonic_seconds()
            is_due = now_seconds >= self._stored_seconds + _STORE_SECONDS
            if is_due or after.is_paused != before.is_paused:
                self._unstored = after
            return
        await self._store(after)
        if self._candidate is not candidate:
            return  # the policies were edited meanwhile
        if after.is_running:
            self._enter_stage(candidate, after)
        else:
            self.outcomes[after.status.value] += 1
            self._state.rollout = after
            self._put_in_force(candidate)

    async def _store(self, state: progress.RolloutState) -> None:
        await self._stored.write(state)
        if self._unstored is state:
            self._unstored = None
        self._stored_seconds = self._clock.monotonic_seconds()
        self._retries.record_success()

    def _enter_stage(self, candidate: Candidate, state: progress.RolloutState) -> None:
        """Let the new version decide about the pods of a stage."""
        self._state.rollout = self._unstored = state
        stages = candidate.plan.stages[: state.stage + 1]
        is_shadow = stages[-1].shadow
        self._query_values = {}
        self._live.change_staged_pods(
            _decide_about_none if is_shadow else pod_choice.PodChoice(stages, candidate.hash)
        )
        shadowed = candidate.made if is_shadow else None
        self._measured.begin_stage(state, shadowed)
        _log.info("rollout of %s: %s", state.new_hash, state.describe_stage())
        self._state.record_staged_version(state.new_hash)

    def _put_in_force(self, candidate: Candidate) -> None:
        """Use the new version for all pods."""
        self._candidate = None
        self._measured.end()
        try:
            self._live.use_version(candidate.checked.policy_set, candidate.made)
        except errors.InputError as error:
            refusal = versions.make_version_refusal(candidate.hash, error)
            self._live.unstage_version()
            self._state.record_refusal(refusal, self._clock.now())
            return
        _log.info("promoted %s: it is in force for all pods", candidate.hash)
        version = states.make_version_in_use(candidate.checked, self._clock.now())
        self._state.record_loaded_version(version)

    def _roll_back(self, candidate: Candidate, state: progress.RolloutState) -> None:
        """Use the version in force for all pods again, and say why."""
        self._candidate, self._rolled_back = None, (candidate, state)
        self._state.rollout = state
        self._measured.end()
        self._live.unstage_version()
        _log.error("rolled back to %s: %s", self._state.current.hash, state.reason)
        refusal = versions.VersionRefusal(
            candidate.hash, state.reason, state.reason, errors.InputError("rollout", state.reason)
        )
        self._state.record_rolled_back_version(refusal, self._clock.now())


def _decide_about_none(_pod: objects.Pod) -> bool:
    return False
