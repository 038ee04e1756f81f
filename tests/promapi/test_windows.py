"""What windows that the scheduler keeps are begun with after a start."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings

from policysched.cluster.metrics import metric_windows
from policysched.promapi import (
    answers,
    connection,
    failures,
    range_answers,
    sample_matrix,
    server_clock,
)
from policysched.promapi import settings as source_settings
from policysched.promql import freshness
from policysched.sim import virtual_time
from tests import examples
from tests.kube.asynchronous import asynchronous
from tests.promapi import fake_prometheus as fake
from tests.promapi import hostile, test_live_source, worlds

Cause = failures.QueryIssue
SERVER_NOW = 5000.0
WINDOW = 60.0
METRICS = "version 1\n" + "".join(
    f"metric m{i}: ratio = `m{i}` node instance refresh 10s maxAge 20s\n" for i in range(4)
)
running = test_live_source.running


class _Scrapes:
    """A server whose node n1 is scraped every 15 s and has the time of the scrape as its value."""

    def __init__(self, world: worlds.World) -> None:
        self._world = world
        self._started_seconds = world.now_seconds

    @property
    def now_seconds(self) -> float:
        """The server's clock, which is not ours."""
        return SERVER_NOW + self._world.now_seconds - self._started_seconds

    def at(self, seconds: float) -> answers.InstantVector:
        """Answer for a moment."""
        scraped = 15.0 * math.floor(seconds / 15)
        return worlds.answer({"n1": scraped}, {"n1": scraped}, at_seconds=seconds)

    def steps(self, steps: range_answers.RangeQueryTimes) -> list[answers.InstantVector]:
        """Answer for a range."""
        return [self.at(steps.first_seconds + steps.step_seconds * i) for i in range(steps.count)]


def _world(
    text: str = worlds.POLICY, windows: dict[str, float] | None = None
) -> tuple[worlds.World, _Scrapes]:
    world = worlds.World(worlds.metrics(text))
    scrapes = _Scrapes(world)
    for server in world.servers.values():
        server.reply = lambda _: scrapes.at(scrapes.now_seconds)
        server.reply_to_range = scrapes.steps
    _keep(world, text, {"cpu": WINDOW} if windows is None else windows)
    return world, scrapes


def _keep(world: worlds.World, text: str, windows: dict[str, float]) -> None:
    metrics = worlds.metrics(text)
    by_key = {metric.key: metric for metric in metrics}
    world.table.keep_histories(
        {
            key: metric_windows.HistoryNeed(
                seconds, by_key[key].max_age_seconds, by_key[key].refresh_seconds
            )
            for key, seconds in windows.items()
        }
    )
    world.live.set_metrics(metrics, windows)


async def _begin(world: worlds.World) -> None:
    """Let first answers come, and what is done piece by piece after them."""
    await world.time.advance(1)
    await virtual_time.run_ready_tasks(rounds=50)


def _value(world: worlds.World, function: Any = "min", seconds: float = WINDOW) -> float:
    aggregate = metric_windows.WindowAggregate(seconds, function)
    return float(world.table.get_metric_column("cpu", ["n1"], 0, aggregate).values[0])


# --- how often --------------------------------------------------------------------------------


@asynchronous
async def test_one_range_query_for_each_metric_with_a_window() -> None:
    """After the first answers of all metrics, and never again; none for metrics without."""
    world, _ = _world(METRICS, {"m1": 60.0, "m3": 300.0})
    async with running(world):
        await world.time.advance(600)
    ranges = world.server.ranges
    assert sorted(query.partition("\n")[2][:2] for _, query, _ in ranges) == ["m1", "m3"]
    assert all(freshness.MARK in query for _, query, _ in ranges)
    last_first_answer = max(world.server.times[:4])
    assert last_first_answer <= min(at for at, _, _ in ranges) <= 1.0
    lengths = sorted(steps.last_seconds - steps.first_seconds for _, _, steps in ranges)
    assert lengths == pytest.approx([80.0, 320.0]), "the window, and how old its end may be"
    assert {steps.step_seconds for _, _, steps in ranges} == {10.0}
    assert [stats.queries for stats in world.live.get_metric_stats()] == [60, 61, 60, 61]


@asynchronous
async def test_none_without_windows() -> None:
    """Nothing is asked that no rule needs."""
    world, _ = _world(METRICS, {})
    async with running(world):
        await world.time.advance(60)
    assert world.server.ranges == []


@asynchronous
async def test_new_policies_ask_for_what_they_need_more() -> None:
    """A new window, or a longer one, is filled; one that stays or becomes shorter asks nothing."""
    world, _ = _world(METRICS, {"m0": 60.0, "m1": 60.0, "m2": 60.0})
    async with running(world):
        await world.time.advance(20)
        before = len(world.server.ranges)
        _keep(world, METRICS, {"m0": 60.0, "m1": 30.0, "m2": 120.0, "m3": 60.0})
        await world.time.advance(20)
    assert before == 3
    asked = [query.partition("\n")[2][:2] for _, query, _ in world.server.ranges[before:]]
    assert sorted(asked) == ["m2", "m3"]


@pytest.mark.parametrize(
    "length, step, count",
    [
        pytest.param(80.0, 10.0, 9, id="both-ends"),
        pytest.param(85.0, 10.0, 10, id="at-least-the-length"),
        pytest.param(1e9, 1.0, 11_000, id="what-prometheus-allows"),
    ],
)
def test_moments_of_a_range(length: float, step: float, count: int) -> None:
    """They end now; where there would be too many the oldest are given up."""
    steps = range_answers.make_range_query_times(SERVER_NOW, length, step)
    assert steps.count == count
    assert steps.last_seconds == SERVER_NOW
    assert steps.first_seconds == SERVER_NOW - (count - 1) * step


# --- what comes of it -------------------------------------------------------------------------


@asynchronous
async def test_a_window_is_whole_once_the_first_values_are_there() -> None:
    """The start waits for it, and each scrape is in it once, at its own time on our clock."""
    world, _ = _world()
    waiting = asyncio.create_task(world.live.wait_until_metrics_asked())
    async with running(world):
        await _begin(world)
        assert waiting.done()
        assert (_value(world, "min"), _value(world, "max")) == (4950.0, 4995.0)
        assert _value(world, "avg") == (4950 + 4965 + 4980 + 4995) / 4
        await world.time.advance(31)
        assert _value(world, "avg") == (4980 + 4995 + 5010 + 5025) / 4


@asynchronous
async def test_replies_that_take_unevenly_long_make_no_new_samples() -> None:
    """A scrape that is seen at several refreshes counts once in an average."""
    world, scrapes = _world()
    chance = random.Random(1)

    def late(_: str) -> answers.InstantVector:
        world.time.clock.advance(0.2 * chance.random())
        found = scrapes.at(round(scrapes.now_seconds, 3))
        world.time.clock.advance(0.2 * chance.random())
        return found

    world.server.reply = late
    async with running(world):
        await _begin(world)
        for _ in range(60):
            await world.time.advance(10)
            assert _value(world, "avg") == _value(world, "max") - 22.5


@asynchronous
async def test_a_source_that_is_down_at_the_start_is_asked_once_it_answers() -> None:
    """Nobody waits for that, and the window is whole nevertheless."""
    world, scrapes = _world()
    world.server.reply = lambda _: failures.QueryError(Cause.UNREACHABLE, "no")
    waiting = asyncio.create_task(world.live.wait_until_metrics_asked())
    async with running(world):
        await world.time.advance(60)
        assert waiting.done()
        assert world.server.ranges == []
        world.server.reply = lambda _: scrapes.at(scrapes.now_seconds)
        await world.time.advance(31)
        assert len(world.server.ranges) == 1
        assert _value(world, "max") - _value(world, "min") == 45.0


@pytest.mark.parametrize("cause", [Cause.TIMEOUT, Cause.REFUSED, Cause.OVERLOADED, Cause.TOO_LARGE])
@asynchronous
async def test_without_an_answer_the_window_fills_as_samples_come(
    cause: failures.QueryIssue, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told and counted, and neither a second try nor an outage."""
    world, _ = _world()
    world.server.reply_to_range = lambda _: failures.QueryError(cause, "too much")
    waiting = asyncio.create_task(world.live.wait_until_metrics_asked())
    async with running(world):
        await _begin(world)
        assert waiting.done()
        assert _value(world, "min") == 4995.0
        await world.time.advance(41)
        assert (_value(world, "min"), _value(world, "max")) == (4995.0, 5040.0)
    assert len(world.server.ranges) == 1
    assert len(world.server.asked) == 5
    assert world.stats().counts[cause] == 1
    assert world.changes == []
    assert "the window of metric `cpu` fills only with new samples: too much" in caplog.text


@asynchronous
async def test_what_nobody_foresaw_is_survived(caplog: pytest.LogCaptureFixture) -> None:
    """A window that a bug keeps from being filled does not hold up the start."""
    world, _ = _world()

    def fail(_: range_answers.RangeQueryTimes) -> list[answers.InstantVector]:
        raise ZeroDivisionError

    world.server.reply_to_range = fail
    waiting = asyncio.create_task(world.live.wait_until_metrics_asked())
    async with running(world):
        await _begin(world)
        assert waiting.done()
    assert "the query for older samples of metric `cpu` failed" in caplog.text


@asynchronous
async def test_each_moment_is_held_to_the_rules_for_answers() -> None:
    """Two series for a node, NaN, warnings: counted once, and no sample at that moment."""
    world, scrapes = _world()

    def spoil(steps: range_answers.RangeQueryTimes) -> list[answers.InstantVector]:
        good = scrapes.steps(steps)
        twice = [dataclasses.replace(one, series=one.series * 2) for one in good[:8]]
        nan = [
            dataclasses.replace(
                one, series=(answers.InstantVectorSample({"instance": "n1"}, math.nan, 0.0),)
            )
            for one in good[8:10]
        ]
        return [*twice, *nan, *(dataclasses.replace(one, warnings=("w",)) for one in good[10:])]

    world.server.reply_to_range = spoil
    async with running(world):
        await _begin(world)
        assert world.stats().counts == {Cause.DUPLICATE: 1, Cause.NON_FINITE: 1, Cause.WARNING: 1}
        assert _value(world, "min") == 4980.0, "the first scrape after those moments"


@asynchronous
async def test_a_query_that_means_something_else_in_a_range_is_not_sent_as_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """`@ end()` would be the end of the range at each of its moments."""
    world, _ = _world(worlds.POLICY.replace("`cpu`", "`cpu @ end()`"))
    async with running(world):
        await world.time.advance(30)
    assert world.server.ranges == []
    assert "fills only with new samples: the query has `@ start()` or `@ end()`" in caplog.text


@settings(max_examples=examples.scale(60))
@given(body=hostile.matrices)
def test_no_range_answer_makes_up_a_sample(body: bytes) -> None:
    """Whatever a server says, windows hold what is finite and past, and go on with new samples."""

    @asynchronous
    async def scenario() -> None:
        world, _ = _world()

        def reply(steps: range_answers.RangeQueryTimes) -> sample_matrix.SampleMatrix:
            return range_answers.decode_range_answer(body, "application/json", steps)

        world.server.reply_to_range = reply
        async with running(world):
            await _begin(world)
            aggregate = metric_windows.WindowAggregate(WINDOW, "max")
            column = world.table.get_metric_column("cpu", ["n1", "n2"], 0, aggregate)
            assert (column.measured_at_seconds <= world.now_seconds).all()
            has_one = column.measured_at_seconds > -math.inf
            assert has_one[0]
            assert [math.isfinite(value) for value in column.values[has_one]]
            await world.time.advance(80)
            assert _value(world, "max") == 5070.0

    scenario()


# --- the server's clock -----------------------------------------------------------------------


def test_the_difference_of_clocks_is_steady() -> None:
    """It changes when it can no longer be true: a clock was set, or the first answer was slow."""
    clock = server_clock.ServerClock()
    found = []
    for sent, evaluated, duration in [
        (1000.0, 400.0, 0.1),
        (1010.0, 410.09, 0.1),
        (1020.0, 420.02, 0.03),
        (1030.0, 425.0, 0.1),
        (1040.0, 460.0, 0.1),
        (1050.0, 468.0, 0.1),
    ]:
        clock.update_from_answer(evaluated, sent, duration)
        found.append(clock.behind_seconds)
    assert found == [600.0, 600.0, 600.0, 605.0, 580.0, 582.0]


# --- over HTTP --------------------------------------------------------------------------------


STEPS = range_answers.RangeQueryTimes(980.0, 1000.0, 10.0)


def _ask(server: fake.FakePrometheus, **options: Any) -> sample_matrix.SampleMatrix:
    source = source_settings.PrometheusSource(server.url, **options)
    with connection.PrometheusClient("p", source) as connected:
        found: sample_matrix.SampleMatrix = connected.ask_range("up", STEPS)
    return found


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_the_request_and_its_answer(method: str) -> None:
    """One request with the moments in seconds; what comes is an instant answer for each."""
    result = [
        {"metric": {"instance": "a"}, "values": [[980, "1"], [990, "NaN"], [1010, "9"]]},
        {"metric": {"instance": "b"}, "values": [[990, "x"]], "histograms": [[1000, {}]]},
        {"metric": {"instance": "a", "policysched": "measured_at"}, "values": [[990, "985.5"]]},
    ]
    answer = fake.success(result, "matrix", warnings=["w"])
    with fake.FakePrometheus(answer) as server:
        found = _ask(server, method=method, query_params={"dedup": "true"})
    (request,) = server.requests
    assert (request.method, request.path) == (method, "/api/v1/query_range")
    assert request.form == {
        "query": "up",
        "start": "980.000",
        "end": "1000.000",
        "step": "10.000",
        "timeout": "10s",
        "dedup": "true",
    }
    labels = ["a", "b", "a"]
    assert [one["instance"] for one in found.labels] == labels
    assert found.at_seconds.tolist() == [980.0, 990.0, 1000.0]
    assert found.is_there.tolist() == [[True, False, False], [True] * 3, [False, True, False]]
    assert found.is_number.tolist() == [[True, False, False], [True, False, True], [False] * 3]
    assert str(found.values[:2, 0].tolist()) == "[1.0, nan]"
    assert found.values[1, 2] == 985.5
    assert found.warnings == ("w",)


@pytest.mark.parametrize(
    "answer, cause, text",
    [
        pytest.param(fake.success([]), "wrong_type", "returns a vector", id="vector"),
        pytest.param(
            fake.failure(422, "execution", "too many samples"), "refused", "too many", id="422"
        ),
        pytest.param(fake.failure(503, "timeout", "slow"), "timeout", "slow", id="timeout"),
        pytest.param(fake.Answer(502), "server_error", "HTTP 502", id="502"),
        pytest.param(fake.Answer(200, (b'{"stat',)), "malformed", "cut off", id="cut-off"),
        pytest.param(
            fake.success([{"metric": {}, "values": [[1, 2]]}], "matrix"),
            "malformed",
            "not a valid matrix",
            id="no-text",
        ),
        pytest.param(
            fake.success([{"metric": {}, "values": [[900 + i, "1"] for i in range(90)]}], "matrix"),
            "malformed",
            "90 timestamps, but 3 were requested",
            id="too-many-moments",
        ),
    ],
)
def test_each_bad_range_answer_has_its_cause(answer: fake.Answer, cause: str, text: str) -> None:
    """Whatever comes instead of a matrix is one error that says what it is."""
    with fake.FakePrometheus(answer) as server, pytest.raises(failures.QueryError) as caught:
        _ask(server)
    assert caught.value.cause == cause
    assert text in str(caught.value)


def test_more_values_than_windows_of_a_cluster_need_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Moments times series are counted before room is made for them."""
    monkeypatch.setattr(range_answers, "MAX_VALUES", 5)
    result = [{"metric": {"a": str(i)}, "values": [[980 + 10 * i, "1"]]} for i in range(3)]
    with (
        fake.FakePrometheus(fake.success(result, "matrix")) as server,
        pytest.raises(failures.QueryError, match="3 timestamps for 3 series") as caught,
    ):
        _ask(server)
    assert caught.value.cause == Cause.TOO_LARGE
