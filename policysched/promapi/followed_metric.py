"""One metric that is followed: its query, its samples, and its place in time."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable

from policysched.cluster import node_names
from policysched.lang import checked
from policysched.promapi import (
    failures,
    freshness,
    joining,
    kept_samples,
    source,
    status,
)

_log = logging.getLogger(__name__)

_JITTER = 0.1
"""Queries come late by up to this part of the interval, so that they do not come all at once."""
_MAX_FIRST_JITTER_SECONDS = 1.0
_REFUSALS_BEFORE_RETRY = 20
"""A server that does not take the times of measurement is offered them again after so many."""


class FollowedMetric:
    """One metric with its samples and its place in time.

    Attributes:
        metric: what is asked for.
        origin: where.
        kept: its samples.
        stats: how it is doing.
        asked: set when it has been asked once.
    """

    def __init__(
        self,
        metric: checked.CheckedMetric,
        origin: source.Source,
        around: source.Surroundings,
        kept: kept_samples.KeptSamples | None = None,
    ) -> None:
        self.metric = metric
        self.kept = kept or kept_samples.KeptSamples()
        self.stats = status.MetricStats(metric.key, metric.name, origin.name)
        self.asked = asyncio.Event()
        self.origin = origin
        self._clock = around.clock
        self._rng = around.rng
        self._started_at_seconds = 0.0
        self._timed = freshness.with_freshness(metric.promql, metric.label, metric.max_age_seconds)
        self._untimed = freshness.Asked(metric.promql, has_freshness=False)
        self._untimed_left = 0
        self._node_count = 0
        if self._timed.problem:
            self._warn_untimed(self._timed.problem)

    def is_same_query(self, metric: checked.CheckedMetric, origin: source.Source) -> bool:
        """Return whether samples of the one are samples of the other."""
        ours, theirs = (self.metric.promql, self.metric.label), (metric.promql, metric.label)
        return ours == theirs and self.origin is origin

    def first_wait_seconds(self) -> float:
        """Return how long to wait before the first query; the intervals begin with it."""
        self._started_at_seconds = self._clock.monotonic_seconds()
        most = min(_MAX_FIRST_JITTER_SECONDS, _JITTER * self.metric.refresh_seconds)
        return self._rng.random() * most

    def wait_seconds(self) -> float:
        """Return how long to wait before the next query: one in each interval."""
        interval = self.metric.refresh_seconds
        passed = self._clock.monotonic_seconds() - self._started_at_seconds
        to_next = (math.floor(passed / interval) + 1) * interval - passed
        return to_next + self._rng.random() * _JITTER * interval

    async def ask_once(self, names: Callable[[], node_names.NodeNames]) -> None:
        """Send one query and take in what comes.

        Raises:
            QueryError: nothing came.
        """
        asked = self._untimed if self._untimed_left else self._timed
        try:
            reply = await self.origin.ask(asked.promql)
        except failures.QueryError as error:
            self.stats.queries += 1
            self.stats.last_duration_seconds = error.duration_seconds
            self.stats.counts[error.cause] += 1
            self._note(str(error))
            if error.cause == failures.Cause.REFUSED:
                self._refused(asked)
            raise
        self.stats.queries += 1
        self.stats.last_duration_seconds = reply.duration_seconds
        self._note("")
        if self._untimed_left == _REFUSALS_BEFORE_RETRY:
            self._warn_untimed("its server refuses the query that asks for the time as well")
        if self._untimed_left:
            self._untimed_left -= 1
        self.stats.last_success = self._clock.now()
        known = names()
        joined = joining.join(
            reply.answer,
            self.metric,
            known,
            reply.sent_at_seconds,
            has_freshness=asked.has_freshness,
        )
        self.stats.counts += joined.counts
        self.kept.take(joined, known)
        self._node_count = len(known)
        self.measure()

    def measure(self) -> None:
        """Bring ages and counts of nodes up to date; samples age while nothing comes."""
        oldest = self._clock.now().timestamp() - self.metric.max_age_seconds
        times = [sample.measured_at_seconds for sample in self.kept.samples.values()]
        fresh = [time for time in times if time >= oldest]
        self.stats.nodes_with_data = len(fresh)
        self.stats.nodes_without_data = self._node_count - len(fresh)
        self.stats.newest_measured_at_seconds = max(times, default=None)
        self.stats.oldest_measured_at_seconds = min(fresh, default=None)

    def _refused(self, asked: freshness.Asked) -> None:
        """Try the query alone: perhaps the server only dislikes what was added to it."""
        if self._untimed_left:
            self._untimed_left = 0
        elif asked.has_freshness:
            self._untimed_left = _REFUSALS_BEFORE_RETRY

    def _note(self, problem: str) -> None:
        """Log when a metric begins to fail and when it ceases to; see `Source` for outages."""
        if problem and not self.stats.problem:
            _log.warning("metric `%s` brings nothing: %s", self.metric.name, problem)
        elif self.stats.problem and not problem:
            _log.info("metric `%s` is there again", self.metric.name)
        self.stats.problem = problem

    def _warn_untimed(self, problem: str) -> None:
        _log.warning(
            "the samples of metric `%s` count as measured when it was asked for, since %s",
            self.metric.name,
            problem,
        )
