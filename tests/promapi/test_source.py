from __future__ import annotations

import asyncio
import random
import threading

import pytest

from policysched import clock as clocks
from policysched.promapi import answers, circuit, failures, range_answers, sample_matrix, settings
from policysched.promapi import query_source as sources
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.promapi import worlds


class _Hanging:
    """A server of which nothing is heard until `released`."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.asked = 0

    def ask(self, promql: str) -> answers.InstantVector:
        self.asked += 1
        self.released.wait()
        return worlds.answer({})

    def ask_range(
        self, promql: str, steps: range_answers.RangeQueryTimes
    ) -> sample_matrix.SampleMatrix:
        self.ask(promql)
        return worlds.moments_of(())

    def close(self) -> None:
        """Nothing is open."""


def _source(
    connection: sources.QueryClient, timeout_seconds: float
) -> sources.PrometheusQuerySource:
    config = settings.PrometheusSource("http://x", timeout_seconds=timeout_seconds)
    dependencies = sources.SourceDependencies(clocks.SystemClock(), random.Random(1))
    return sources.PrometheusQuerySource("p", config, connection, dependencies)


@asynchronous
async def test_a_query_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers that drip for ever hold a thread of their source, and nobody else."""
    monkeypatch.setattr(sources, "_GRACE_SECONDS", 0.0)
    hanging = _Hanging()
    source = _source(hanging, timeout_seconds=0.05)
    with pytest.raises(failures.QueryError) as caught:
        await source.ask("up", "up", 10.0)
    assert caught.value.cause == failures.QueryIssue.TIMEOUT
    assert caught.value.duration_seconds > 0
    hanging.released.set()
    source.close()


@asynchronous
async def test_only_a_few_queries_are_under_way_at_once() -> None:
    """The others wait for their turn, and get it."""
    hanging = _Hanging()
    source = _source(hanging, timeout_seconds=50)
    tasks = [asyncio.create_task(source.ask(f"m{i}", f"m{i}", 10.0)) for i in range(10)]
    while hanging.asked < sources.PARALLEL_QUERIES:  # noqa: ASYNC110 - threads come one by one
        await asyncio.sleep(0.01)
    for _ in range(20):
        await asyncio.sleep(0)
    assert hanging.asked == sources.PARALLEL_QUERIES
    hanging.released.set()
    await asyncio.gather(*tasks)
    assert hanging.asked == 10
    source.close()


class _HangingFor(_Hanging):
    """Answers all but queries that are called `slow`."""

    def ask(self, promql: str) -> answers.InstantVector:
        if "slow" not in promql:
            return worlds.answer({})
        super().ask(promql)
        raise failures.QueryError(failures.QueryIssue.TIMEOUT, "slow")


@asynchronous
async def test_queries_that_hang_leave_turns_to_the_others() -> None:
    """However many there are, one is under way once they are known to hang."""
    hanging = _HangingFor()
    source = _source(hanging, timeout_seconds=50)
    hanging.released.set()
    await source.ask("fine", "fine", 100.0)
    for i in range(5):
        with pytest.raises(failures.QueryError):
            await source.ask(f"slow{i}", f"slow{i}", 100.0)
    hanging.released.clear()
    tasks = [asyncio.create_task(source.ask(f"slow{i}", f"slow{i}", 100.0)) for i in range(5)]
    while hanging.asked < 6:  # noqa: ASYNC110 - its thread comes by and by
        await asyncio.sleep(0.01)
    await source.ask("fine", "fine", 100.0)
    assert hanging.asked == 6
    assert source.health.is_up
    hanging.released.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    source.close()


def test_pauses_grow_with_failures_and_end_with_success() -> None:
    """From about a second to half a minute; of queries under way together one failure counts."""
    clock = clocks.ManualClock(builders.EPOCH)
    found = circuit.CircuitBreaker(clock, random.Random(1))
    pauses = []
    for _ in range(8):
        started = clock.monotonic_seconds()
        clock.advance(0.1)
        found.record_failure(started, None)
        found.record_failure(started, None)
        pauses.append(found.get_remaining_pause_seconds())
        clock.advance(pauses[-1])
    assert found.failures == 8
    for pause, most in zip(pauses, [1, 2, 4, 8, 16, 30, 30, 30], strict=True):
        assert most / 2 <= pause <= most
    found.record_success()
    assert (found.failures, found.get_remaining_pause_seconds()) == (0, 0.0)


@pytest.mark.parametrize(
    "asked_for, pause", [(20.0, 20.0), (0.0, 1.0), (1e9, circuit.MAX_RETRY_AFTER_SECONDS)]
)
def test_a_server_may_ask_for_a_longer_pause(asked_for: float, pause: float) -> None:
    """Not for a shorter one, and not for ever."""
    found = circuit.CircuitBreaker(clocks.ManualClock(builders.EPOCH), random.Random(1))
    found.record_failure(0.0, asked_for)
    assert pause / 2 <= found.get_remaining_pause_seconds() <= pause
