"""Evaluate the guards in the present stage of a rollout."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from policysched import clock as clocks
from policysched.profiles import policies
from policysched.reload.rollouts import measuring, query_values
from policysched.rollout import guard_queries, guards, progress, settings

_log = logging.getLogger(__name__)

_QUERY_SECONDS = 5.0
"""Interval between the queries of guards."""
_MAX_AGE_SECONDS = 60.0
"""Age from which answers to queries are not used: Prometheus may have failed since."""


class GuardEvaluator:
    """Measures both versions in the present stage, and compares the values with the guards.

    Attributes:
        verdicts: the latest verdicts, one for each guard that the stage can measure.
        measured: the decisions of both versions in the stage.
    """

    def __init__(
        self,
        measured: measuring.StageMeasurements,
        queries: query_values.GuardQueryClient,
        clock: clocks.Clock,
    ) -> None:
        """Measure nothing before `begin_stage`."""
        self.verdicts: tuple[guards.GuardVerdict, ...] = ()
        self.measured = measured
        self._queries = queries
        self._clock = clock
        self._query_values: dict[str, float | str] = {}
        self._asking: asyncio.Task[None] | None = None
        self._asked_seconds = self._answered_seconds = 0.0

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

    def evaluate(
        self, state: progress.RolloutState, plan: settings.RolloutSettings, made: policies.Profiles
    ) -> tuple[guards.GuardVerdict, ...]:
        """Return the verdicts of the guards that can be measured in the stage."""
        is_shadow = plan.stages[state.stage].shadow
        measurable = [
            each
            for each in plan.guards
            if not is_shadow or each.measure in settings.SHADOW_MEASURES
        ]
        self._ask_queries_if_due(measurable, state)
        found = guards.MeasuredValues(
            self.measured.new,
            self.measured.old,
            self._compute_missing_metrics_share(measurable, made),
            self._get_query_values(),
        )
        min_pods = plan.min_pods_of(state.stage)
        self.verdicts = tuple(guards.evaluate_guard(each, found, min_pods) for each in measurable)
        return self.verdicts

    def _compute_missing_metrics_share(
        self, measurable: Sequence[settings.Guard], made: policies.Profiles
    ) -> float | None:
        if all(each.measure != "missingMetrics" for each in measurable):
            return None
        return self.measured.compute_missing_metrics_share(made)

    def _get_query_values(self) -> dict[str, float | str]:
        """Return the answers to queries; none if they are too old."""
        age_seconds = self._clock.monotonic_seconds() - self._answered_seconds
        return self._query_values if age_seconds < _MAX_AGE_SECONDS else {}

    def _ask_queries_if_due(
        self, measurable: Sequence[settings.Guard], state: progress.RolloutState
    ) -> None:
        """Send the queries in the background, so that no other guard waits for them."""
        now_seconds = self._clock.monotonic_seconds()
        is_asking = self._asking is not None and not self._asking.done()
        if is_asking or now_seconds < self._asked_seconds + _QUERY_SECONDS:
            return
        self._asked_seconds = now_seconds
        asked = [each for each in measurable if each.query]
        if asked:
            self._asking = asyncio.create_task(self._ask_queries(asked, state))

    async def _ask_queries(
        self, asked: Sequence[settings.Guard], state: progress.RolloutState
    ) -> None:
        reads_old = any(guard_queries.OLD_PODS in each.query for each in asked)
        new = self.measured.list_bound_pods(state.new_hash)
        old = self.measured.list_bound_pods(state.old_hash) if reads_old else []
        try:
            self._query_values = await self._queries.ask_all(asked, new, old)
        except Exception as error:  # noqa: BLE001 - logged, see below
            # A fault of a query must not end the process, and the stage must wait.
            _log.exception("the queries of guards failed")
            self._query_values = {each.name: f"{type(error).__name__}: {error}" for each in asked}
        self._answered_seconds = self._clock.monotonic_seconds()
