"""A source of metrics, which limits parallel queries and tracks whether the server is up."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import logging
import random
import urllib.parse
from collections.abc import Awaitable, Callable, Collection
from typing import Protocol, TypeVar

from policysched import clock as clocks
from policysched.promapi import (
    answers,
    circuit,
    failures,
    range_answers,
    sample_matrix,
    settings,
    status,
)

_log = logging.getLogger(__name__)

PARALLEL_QUERIES = 4
"""Prometheus runs 20 queries at once by default (--query.max-concurrency), for all clients."""
_GRACE_SECONDS = 2.0
"""Seconds to wait beyond the query's own timeout, which slow headers can exceed."""

_INTERVALS_OF_TRUST = 3.0
"""Number of refresh intervals for which a success counts, unless the query is sent again sooner.

The limit applies to queries that are no longer sent.
"""

Sleep = Callable[[float], Awaitable[None]]
_T = TypeVar("_T")


class QueryClient(Protocol):
    """The methods of `connection.PrometheusClient` that a source uses."""

    def ask(self, promql: str) -> answers.InstantVector:
        """Return the answer; called in a thread. Raises QueryError."""
        ...

    def ask_range(
        self, promql: str, steps: range_answers.RangeQueryTimes
    ) -> sample_matrix.SampleMatrix:
        """Return the samples at the times of `steps`; called in a thread. Raises QueryError."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class SourceDependencies:
    """The clock, random generator, sleep function and observer of a source; tests replace them."""

    clock: clocks.Clock
    rng: random.Random
    sleep: Sleep = asyncio.sleep
    observer: status.SourceObserver = dataclasses.field(default_factory=status.NullSourceObserver)


@dataclasses.dataclass(frozen=True, slots=True)
class TimedReply:
    """An answer, the time of its query (seconds since 1970, local clock) and its duration."""

    answer: answers.InstantVector
    sent_at_seconds: float
    duration_seconds: float


class PrometheusQuerySource:
    """Queries one server in a few threads of its own, so that a slow server delays no other server.

    A query that fails while others succeed does not count against the server. Such queries are sent
    one at a time, so that they delay no others. If the latest attempt of every query failed, all
    queries are sent one at a time, with growing pauses; the first success ends this.

    Attributes:
        name: the name that metrics use for the source.
    """

    def __init__(
        self,
        name: str,
        config: settings.PrometheusSource,
        connection: QueryClient,
        dependencies: SourceDependencies,
    ) -> None:
        """Start with a server that has not been queried yet."""
        self.name = name
        self._config = config
        self._connection = connection
        self._clock = dependencies.clock
        self._sleep = dependencies.sleep
        self._observer = dependencies.observer
        self._circuit = circuit.CircuitBreaker(dependencies.clock, dependencies.rng)
        self._threads = concurrent.futures.ThreadPoolExecutor(
            PARALLEL_QUERIES, thread_name_prefix=f"prometheus-{name}"
        )
        self._turns = asyncio.Semaphore(PARALLEL_QUERIES)
        self._probe = asyncio.Lock()
        self._suspects_turn = asyncio.Lock()
        self._suspects: set[str] = set()
        self._succeeded_until_seconds: dict[str, float] = {}
        self._address = urllib.parse.urlsplit(config.url).netloc
        self._health = status.SourceHealth(name, is_up=True, address=self._address)

    @property
    def health(self) -> status.SourceHealth:
        """Whether the server is up, since when, and its last problem."""
        return self._health

    @property
    def is_failing(self) -> bool:
        """Whether no query currently succeeds, so that queries are sent one at a time."""
        return self._circuit.failures > 0

    def forget_other_metrics(self, keys: Collection[str]) -> None:
        """Forget the outcomes of queries for metrics other than these, except recent successes.

        A recent success shows that the source is up, even if its metric no longer exists.
        """
        now = self._clock.monotonic_seconds()
        self._suspects &= set(keys)
        self._succeeded_until_seconds = {
            key: until for key, until in self._succeeded_until_seconds.items() if until >= now
        }

    async def ask(self, promql: str, key: str, refresh_seconds: float) -> TimedReply:
        """Wait for a turn and send a query once.

        Args:
            promql: the query.
            key: key of the metric, for which the outcome of the query is recorded.
            refresh_seconds: time between two queries of the metric.

        Raises:
            QueryError: no usable answer arrived; the failure has been counted if the source can be
                at fault.
        """
        trust_seconds = _INTERVALS_OF_TRUST * refresh_seconds + self._config.timeout_seconds
        while self.is_failing:
            async with self._probe:
                if self.is_failing:
                    await self._sleep(self._circuit.get_remaining_pause_seconds())
                    return await self._send_query_now(promql, key, trust_seconds)
        if key in self._suspects:
            async with self._suspects_turn, self._turns:
                return await self._send_query_now(promql, key, trust_seconds)
        async with self._turns:
            return await self._send_query_now(promql, key, trust_seconds)

    async def ask_range(
        self, promql: str, steps: range_answers.RangeQueryTimes
    ) -> sample_matrix.SampleMatrix:
        """Wait for a turn and send a range query.

        Only instant queries determine whether the source is up, because a range that is too large
        for the source must not delay instant queries.

        Raises:
            QueryError: no usable answer arrived.
        """
        async with self._turns:
            return await self._run_in_thread(lambda: self._connection.ask_range(promql, steps))

    def close(self) -> None:
        """Close connections; running queries continue to their end."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._connection.close()

    async def _send_query_now(self, promql: str, key: str, trust_seconds: float) -> TimedReply:
        """Send a query in a thread and record whether it succeeded."""
        started_at_seconds = self._clock.monotonic_seconds()
        sent_at_seconds = self._clock.now().timestamp()
        try:
            answer = await self._run_in_thread(lambda: self._connection.ask(promql))
        except failures.QueryError as error:
            error.duration_seconds = self._clock.monotonic_seconds() - started_at_seconds
            if error.is_source_at_fault:
                self._note_failure(key, started_at_seconds, error)
            else:
                self._record_query_success(
                    key, trust_seconds
                )  # a server that refuses a query is up
            raise
        self._record_query_success(key, trust_seconds)
        duration_seconds = self._clock.monotonic_seconds() - started_at_seconds
        return TimedReply(answer, sent_at_seconds, duration_seconds)

    async def _run_in_thread(self, ask: Callable[[], _T]) -> _T:
        limit_seconds = self._config.timeout_seconds + _GRACE_SECONDS
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(limit_seconds):
                return await loop.run_in_executor(self._threads, ask)
        except TimeoutError as error:
            problem = f"no answer within {limit_seconds:g} s"
            raise failures.QueryError(failures.QueryIssue.TIMEOUT, problem) from error

    def _note_failure(
        self, key: str, started_at_seconds: float, error: failures.QueryError
    ) -> None:
        """Blame the query if another query succeeded recently; otherwise count a source failure."""
        self._succeeded_until_seconds.pop(key, None)
        now = self._clock.monotonic_seconds()
        if any(until >= now for until in self._succeeded_until_seconds.values()):
            self._suspects.add(key)
            return
        self._circuit.record_failure(started_at_seconds, error.retry_after_seconds)
        if self._circuit.is_down and self._health.is_up:
            _log.error(
                "metrics source `%s` (%s) is down, its samples become stale: %s",
                self.name,
                self._address,
                error,
            )
            self._change_health(is_up=False, problem=str(error))

    def _record_query_success(self, key: str, trust_seconds: float) -> None:
        now = self._clock.monotonic_seconds()
        self._succeeded_until_seconds[key] = now + trust_seconds
        self._suspects.discard(key)
        self._circuit.record_success()
        if not self._health.is_up:
            _log.info("metrics source `%s` is up again", self.name)
            self._change_health(is_up=True, problem="")

    def _change_health(self, *, is_up: bool, problem: str) -> None:
        self._health = status.SourceHealth(
            self.name, is_up, problem, self._clock.now(), self._address
        )
        self._observer.source_changed(self._health)
