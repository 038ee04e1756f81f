"""One metric that is queried periodically: its query, its samples and its schedule."""

from __future__ import annotations

import asyncio
import logging
import math

from policysched import clock as clocks
from policysched.cluster.metrics import metric_windows
from policysched.cluster.objects import node_aliases
from policysched.lang.checked import checked
from policysched.promapi import (
    answers,
    circuit,
    failures,
    latest_samples,
    node_names_thread,
    older_samples,
    query_source,
    range_answers,
    series_node_join,
    server_clock,
    status,
)
from policysched.promql import freshness, query_tokens

_log = logging.getLogger(__name__)

_JITTER = 0.1
"""Share of the interval for random delays, which spread queries over time."""
_MAX_FIRST_JITTER_SECONDS = 1.0
_REFUSALS_BEFORE_UNTIMED = 3
"""Consecutive refusals after which the query is sent without measurement times.

Fewer refusals can be due to load on the server, and without these times, answers hide dead
exporters.
"""
_UNTIMED_BEFORE_RETRY = 20
"""Number of queries without measurement times before the next attempt with them."""
_MAX_QUOTED_CHARACTERS = 100


class FollowedMetric:
    """One metric with its query, its samples and its schedule.

    Attributes:
        metric: the checked declaration.
        origin: the source that answers the query.
        kept: the latest sample of each node.
        stats: status and counters for observers and exported metrics.
        asked: set after the first query.
        answered: set after the first answer with series; from then on, the offset of the server's
            clock is known.
        window_seconds: length of the longest window over the metric; 0 without windows.
        backfilled: set unless windows still need older samples.
    """

    def __init__(
        self,
        metric: checked.CheckedMetric,
        origin: query_source.PrometheusQuerySource,
        dependencies: query_source.SourceDependencies,
        joins: node_names_thread.NodeNamesThread,
        kept: latest_samples.LatestSamples | None = None,
    ) -> None:
        self.metric = metric
        self.kept = kept or latest_samples.LatestSamples()
        self.stats = status.MetricStats(metric.key, metric.name, origin.name)
        self.asked = asyncio.Event()
        self.answered = asyncio.Event()
        self.window_seconds = 0.0
        self.backfilled = asyncio.Event()
        self.backfilled.set()
        self.origin = origin
        self._joins = joins
        self._clock = dependencies.clock
        self._jumps = clocks.ClockJumpDetector(dependencies.clock)
        self._rng = dependencies.rng
        self._started_at_seconds = 0.0
        self._timed = freshness.add_freshness(metric.promql, metric.label, metric.max_age_seconds)
        self._untimed = freshness.FreshnessQuery(metric.promql, has_freshness=False)
        self._untimed_left = 0
        self._refusals = 0
        self._names_nodes = True
        self._server_clock = server_clock.ServerClock()
        if self._timed.problem:
            self._warn_of_untimed_samples(self._timed.problem)

    def is_same_query(
        self, metric: checked.CheckedMetric, origin: query_source.PrometheusQuerySource
    ) -> bool:
        """Return whether query, label and source are unchanged, so that the samples can be kept."""
        ours, theirs = (self.metric.promql, self.metric.label), (metric.promql, metric.label)
        return ours == theirs and self.origin is origin

    def compute_first_wait_seconds(self) -> float:
        """Return the delay before the first query; intervals are counted from this call."""
        self._started_at_seconds = self._clock.monotonic_seconds()
        most = min(_MAX_FIRST_JITTER_SECONDS, _JITTER * self.metric.refresh_seconds)
        return self._rng.random() * most

    def compute_wait_seconds(self, error: failures.QueryError | None = None) -> float:
        """Return the delay before the next query, so that each interval has one query.

        A query that fails while others succeed also waits for its next interval, or for the pause
        that the server requests. If the source answers no query at all, the delay is 0, because the
        source's circuit breaker delays the query.
        """
        if error is not None and error.is_source_at_fault and self.origin.is_failing:
            return 0.0
        asked_for = error.retry_after_seconds if error is not None else None
        return max(self._next_wait_seconds(), circuit.limit_pause_seconds(asked_for))

    def _next_wait_seconds(self) -> float:
        interval = self.metric.refresh_seconds
        passed = self._clock.monotonic_seconds() - self._started_at_seconds
        to_next = (math.floor(passed / interval) + 1) * interval - passed
        return to_next + self._rng.random() * _JITTER * interval

    async def fetch_samples_once(self, nodes: node_names_thread.NodeLister) -> None:
        """Send one query and process its answer.

        Raises:
            QueryError: no usable answer arrived.
        """
        asked, reply = await self._ask_with_measurement_times()
        self.stats.last_success = self._clock.now()
        asked_at_seconds = self._compute_evaluation_time(reply)
        now_seconds = self._clock.now().timestamp()
        set_back_seconds = max(0.0, -self._jumps.measure_jump_seconds())

        # Runs in the joining thread, the only thread that changes the kept samples.
        def join(names: node_aliases.NodeAliasIndex) -> series_node_join.NodeSamples:
            self.kept.shift_times_back(set_back_seconds)
            joined = series_node_join.join_instant_vector(
                reply.answer,
                self.metric,
                names,
                asked_at_seconds,
                has_freshness=asked.has_freshness,
            )
            self.kept.update_samples(joined, names, now_seconds, self.metric.max_age_seconds)
            return joined

        known = nodes.current()
        joined = await self._joins.run_with_node_names(known, join)
        self.stats.counts += joined.counts
        if reply.answer.series and known:
            self._log_node_match_change(reply.answer.series[0], names_nodes=joined.has_named_nodes)

    async def _ask_with_measurement_times(
        self,
    ) -> tuple[freshness.FreshnessQuery, query_source.TimedReply]:
        """Query with measurement times, or without them if the server refuses that query."""
        if self._untimed_left:
            return self._untimed, await self._ask_without_measurement_times()
        try:
            reply = await self._send_query(self._timed)
        except failures.QueryError as error:
            if error.cause != failures.QueryIssue.REFUSED or not self._timed.has_freshness:
                raise
            self._refusals += 1
            if self._refusals < _REFUSALS_BEFORE_UNTIMED:
                raise
        else:
            self._refusals = 0
            return self._timed, reply
        self._refusals = 0
        reply = await self._send_query(self._untimed)
        self._refusals = _REFUSALS_BEFORE_UNTIMED - 1  # then one refusal is enough to return here
        self._untimed_left = _UNTIMED_BEFORE_RETRY - 1
        self._warn_of_untimed_samples("the server refuses the query that also asks for the time")
        return self._untimed, reply

    async def _ask_without_measurement_times(self) -> query_source.TimedReply:
        """Query without measurement times; if that is refused too, resume queries with them."""
        self._untimed_left -= 1
        try:
            return await self._send_query(self._untimed)
        except failures.QueryError as error:
            # The query without times is refused too, so the times are not the reason for refusals.
            if error.cause == failures.QueryIssue.REFUSED:
                self._untimed_left = 0
                self._refusals = 0
            raise

    async def _send_query(self, asked: freshness.FreshnessQuery) -> query_source.TimedReply:
        """Send one query and record its outcome."""
        self.stats.queries += 1
        try:
            reply = await self.origin.ask(
                asked.promql, self.metric.key, self.metric.refresh_seconds
            )
        except failures.QueryError as error:
            self.stats.durations.observe(error.duration_seconds)
            self.stats.counts[error.cause] += 1
            self._log_problem_change(str(error))
            raise
        self.stats.durations.observe(reply.duration_seconds)
        self._log_problem_change("")
        return reply

    def _compute_evaluation_time(self, reply: query_source.TimedReply) -> float:
        """Return the evaluation time on the local clock; the estimate errs towards too early."""
        evaluated_at_seconds = reply.answer.evaluated_at_seconds
        if evaluated_at_seconds is None:
            return reply.sent_at_seconds
        self._server_clock.update_from_answer(
            evaluated_at_seconds, reply.sent_at_seconds, reply.duration_seconds
        )
        self.answered.set()
        return evaluated_at_seconds + self._server_clock.behind_seconds

    def record_longest_window_seconds(self, seconds: float) -> None:
        """Record the length of the longest window; if it grew, mark older samples as needed.

        Older samples are requested only once, because new samples fill the windows over time.
        """
        if seconds > self.window_seconds:
            self.backfilled.clear()
        self.window_seconds = seconds

    async def fetch_older_samples(
        self, nodes: node_names_thread.NodeLister
    ) -> metric_windows.OlderSamples:
        """Send the range query for the windows and join its answer with nodes.

        Call this only after `answered` is set.

        Raises:
            QueryError: no usable answer arrived.
        """
        if query_tokens.depends_on_range_query_bounds(self.metric.promql):
            problem = (
                "the query has `@ start()` or `@ end()`, which have another meaning in a range "
                "query"
            )
            raise failures.QueryError(failures.QueryIssue.UNTIMED, problem)
        asked = self._untimed if self._untimed_left else self._timed
        behind_seconds = self._server_clock.behind_seconds
        steps = range_answers.make_range_query_times(
            self._clock.now().timestamp() - behind_seconds,
            self.window_seconds + self.metric.max_age_seconds,
            self.metric.refresh_seconds,
        )
        self.stats.queries += 1
        try:
            found = await self.origin.ask_range(asked.promql, steps)
        except failures.QueryError as error:
            self.stats.counts[error.cause] += 1
            raise
        older = await self._joins.run_with_node_names(
            nodes.current(),
            lambda names: older_samples.join_range_answer(
                found, self.metric, names, behind_seconds, has_freshness=asked.has_freshness
            ),
        )
        self.stats.counts += older.counts
        return older.samples

    def _log_problem_change(self, problem: str) -> None:
        """Log when a metric starts or stops failing; `PrometheusQuerySource` logs outages."""
        if problem and not self.stats.problem:
            _log.warning(
                "metric `%s` of source `%s` has no result: %s",
                self.metric.name,
                self.origin.name,
                problem,
            )
        elif self.stats.problem and not problem:
            _log.info("metric `%s` has a result again", self.metric.name)
        self.stats.problem = problem

    def _log_node_match_change(
        self, example: answers.InstantVectorSample, *, names_nodes: bool
    ) -> None:
        """Log when series stop matching nodes, and when a series matches a node again."""
        name, label = self.metric.name, self.metric.label
        if self._names_nodes and not names_nodes:
            found = example.labels.get(label, "")[:_MAX_QUOTED_CHARACTERS]
            _log.warning(
                "no series of metric `%s` belongs to a node of the cluster: label `%s` is `%s`",
                name,
                label,
                found,
            )
        elif names_nodes and not self._names_nodes:
            _log.info("metric `%s` has series of nodes again", name)
        self._names_nodes = names_nodes

    def _warn_of_untimed_samples(self, problem: str) -> None:
        _log.warning(
            "the samples of metric `%s` count as measured at the time of the query, because %s",
            self.metric.name,
            problem,
        )
