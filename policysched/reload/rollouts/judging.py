"""Judge the present stage of a rollout: measure both versions, and compare with the guards."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from policysched import clock as clocks
from policysched.profiles import policies
from policysched.reload.rollouts import measuring, query_values
from policysched.rollout import guards, progress, settings

_QUERY_SECONDS = 5.0
"""Interval between the queries of guards."""
_SHADOW_MEASURES = frozenset({"unschedulable", "missingMetrics"})
"""What guards can measure of a version that binds no pods."""


class StageJudge:
    """Gives the verdicts of the guards in the present stage.

    Attributes:
        verdicts: the latest ones.
        measured: the decisions of both versions in the stage.
    """

    def __init__(
        self,
        measured: measuring.StageMeasurements,
        queries: query_values.GuardQueryClient,
        clock: clocks.Clock,
    ) -> None:
        """Judge nothing before `begin_stage`."""
        self.verdicts: tuple[guards.GuardVerdict, ...] = ()
        self.measured = measured
        self._queries = queries
        self._clock = clock
        self._query_values: dict[str, float | str] = {}
        self._asking: asyncio.Task[None] | None = None
        self._asked_seconds = 0.0

    def begin_stage(
        self, state: progress.RolloutState, plan: settings.RolloutSettings, made: policies.Profiles
    ) -> None:
        """Measure from now on; `made` are the profiles of the new version."""
        self.end()
        is_shadow = plan.stages[state.stage].shadow
        self.measured.begin_stage(state, made if is_shadow else None)
        self._asked_seconds = self._clock.monotonic_seconds()

    def end(self) -> None:
        """Measure nothing more."""
        self.measured.end()
        self.verdicts, self._query_values = (), {}
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    def judge(
        self, state: progress.RolloutState, plan: settings.RolloutSettings, made: policies.Profiles
    ) -> tuple[guards.GuardVerdict, ...]:
        """Return the verdicts of the guards that can be measured in the stage."""
        is_shadow = plan.stages[state.stage].shadow
        judged = [each for each in plan.guards if not is_shadow or each.measure in _SHADOW_MEASURES]
        self._ask_queries_if_due(judged, state)
        found = guards.Measured(
            self.measured.new,
            self.measured.old,
            self.measured.compute_missing_metrics_share(made),
            self._query_values,
        )
        min_pods = plan.min_pods_of(state.stage)
        self.verdicts = tuple(guards.judge_guard(each, found, min_pods) for each in judged)
        return self.verdicts

    def _ask_queries_if_due(
        self, judged: Sequence[settings.Guard], state: progress.RolloutState
    ) -> None:
        """Send the queries in the background, so that no other guard waits for them."""
        now_seconds = self._clock.monotonic_seconds()
        is_asking = self._asking is not None and not self._asking.done()
        if is_asking or now_seconds < self._asked_seconds + _QUERY_SECONDS:
            return
        self._asked_seconds = now_seconds
        asked = [each for each in judged if each.query]
        if asked:
            self._asking = asyncio.create_task(self._ask_queries(asked, state))

    async def _ask_queries(
        self, asked: Sequence[settings.Guard], state: progress.RolloutState
    ) -> None:
        new = self.measured.list_bound_pods(state.new_hash)
        old = self.measured.list_bound_pods(state.old_hash)
        self._query_values = await self._queries.ask_all(asked, new, old)
