from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import itertools
import logging
import math
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policysched import errors
from policysched.promapi import answers, failures
from policysched.promql import freshness
from tests import examples
from tests.kube.asynchronous import asynchronous
from tests.promapi import hostile, worlds

Cause = failures.QueryIssue


@contextlib.asynccontextmanager
async def running(world: worlds.World) -> AsyncIterator[worlds.World]:
    """Run the source of `world` meanwhile."""
    task = asyncio.create_task(world.live.run(world.refresh, world, world.backfill))
    await world.time.advance(0)
    try:
        yield world
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _three(refresh: str = "10s") -> str:
    return "version 1\n" + "".join(
        f"metric m{i}: ratio = `m{i}` node instance refresh {refresh} maxAge 1m\n" for i in range(3)
    )


# --- how often --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@asynchronous
async def test_one_query_a_metric_and_interval(seed: int) -> None:
    """Each interval has one query, a little late, at another moment each time."""
    world = worlds.World(worlds.metrics(_three()), seed=seed)
    async with running(world):
        await world.time.advance(600)
    for index in range(3):
        times = [at for at, query in world.server.asked if f"m{index}" in query]
        assert len(times) == 60
        first = times[0]
        assert first <= 1.0
        late = [at - (index_ + 1) * 10 for index_, at in enumerate(times[1:])]
        assert all(0 <= each <= 1.0 for each in late)
        assert len({round(each, 6) for each in late}) > 50


@asynchronous
async def test_equal_metrics_are_asked_once() -> None:
    """Profiles that share a metric share its query."""
    (metric,) = worlds.metrics()
    world = worlds.World([metric, metric])
    async with running(world):
        await world.time.advance(25)
    assert len(world.server.asked) == 3


@asynchronous
async def test_the_number_of_nodes_does_not_matter() -> None:
    """A thousand nodes and their samples are one query."""
    world = worlds.World()
    world.nodes = [worlds.node(f"n{i}") for i in range(1000)]
    world.server.reply = lambda _: worlds.answer({f"n{i}:9100": 0.5 for i in range(1000)})
    async with running(world):
        await world.time.advance(5)
    assert len(world.server.asked) == 1
    assert len(world.ages()) == 1000


# --- outages ----------------------------------------------------------------------------------


@asynchronous
async def test_a_dead_source_is_asked_ever_more_seldom(caplog: pytest.LogCaptureFixture) -> None:
    """By one metric at a time, whatever their number; everything goes on when it answers."""
    world = worlds.World(worlds.metrics(_three()))
    server = world.server
    server.reply = lambda _: failures.QueryError(Cause.UNREACHABLE, "connection refused")
    with caplog.at_level(logging.INFO):
        async with running(world):
            await world.time.advance(600)
            failed = server.times
            assert len(failed) < 40
            pauses = [b - a for a, b in itertools.pairwise(failed[8:])]
            assert all(15 <= pause <= 30 for pause in pauses)
            assert [change.is_up for change in world.changes] == [False]
            assert world.live.get_server_health()[0].problem == "connection refused"
            server.reply = lambda _: worlds.answer({"n1": 0.5})
            await world.time.advance(31)
            assert [change.is_up for change in world.changes] == [False, True]
            assert {world.table.get_newest_sample(f"m{i}", "n1") is not None for i in range(3)} == {
                True
            }
            before = len(server.asked)
            await world.time.advance(60)
            assert len(server.asked) - before == 18
    assert [r.message for r in caplog.records if r.message.startswith("metrics s")] == [
        "metrics source `default` (x) is down, its samples become stale: connection refused",
        "metrics source `default` is up again",
    ]


@asynchronous
async def test_two_failures_are_a_hiccup() -> None:
    """Nobody is told, and the next try is soon."""
    world = worlds.World()
    replies = [failures.QueryError(Cause.TIMEOUT, "slow")] * 2
    world.server.reply = lambda _: replies.pop() if replies else worlds.answer({"n1": 0.5})
    async with running(world):
        await world.time.advance(5)
        assert world.ages()["n1"][0] == 0.5
    assert world.changes == []
    assert world.queries == ["slow", "slow", ""]
    assert world.stats().counts[Cause.TIMEOUT] == 2


@asynchronous
async def test_a_server_says_when_to_come_back() -> None:
    """Retry-After makes the pause longer, within reason."""
    world = worlds.World()
    world.server.reply = lambda _: failures.QueryError(
        Cause.OVERLOADED, "busy", retry_after_seconds=20
    )
    async with running(world):
        await world.time.advance(61)
    first, *_ = times = world.server.times
    assert [round(at - first) for at in times[:4]] == [0, 20, 40, 60]


@pytest.mark.parametrize(
    "cause", [Cause.TIMEOUT, Cause.SERVER_ERROR, Cause.OVERLOADED, Cause.UNREACHABLE]
)
@asynchronous
async def test_a_query_that_always_fails_leaves_the_others_alone(
    cause: failures.QueryIssue,
) -> None:
    """It waits for its own refresh, they are asked at theirs, and the source counts as up."""
    text = "version 1\nmetric slow: ratio = `slow` node instance refresh 60s maxAge 5m\n"
    world = worlds.World(worlds.metrics(text + _three("15s").removeprefix("version 1\n")))
    failed = failures.QueryError(cause, "no")
    world.server.reply = lambda q: failed if "slow" in q else worlds.answer({"n1": 0.5})
    async with running(world):
        await world.time.advance(599)
        queries = {stats.name: stats.queries for stats in world.live.get_metric_stats()}
    assert {name: queries[name] for name in ("m0", "m1", "m2")} == {"m0": 40, "m1": 40, "m2": 40}
    assert 10 <= queries["slow"] <= 12
    assert world.changes == []


@asynchronous
async def test_a_query_that_fails_among_others_heeds_retry_after() -> None:
    """The pause is its own; the others go on."""
    world = worlds.World(worlds.metrics(_three("5s")))
    failed = failures.QueryError(Cause.OVERLOADED, "busy", retry_after_seconds=29.0)
    world.server.reply = lambda q: failed if "m1" in q else worlds.answer({"n1": 0.5})
    async with running(world):
        await world.time.advance(5)
        before = len(world.server.asked)
        await world.time.advance(145)
        asked = world.server.asked[before:]
    assert sum("m1" in query for _, query in asked) == 5
    assert sum("m0" in query for _, query in asked) == 29


@asynchronous
async def test_a_bad_query_is_no_outage() -> None:
    """It fails alone, once an interval and now and then without times, while the others go on."""
    world = worlds.World(worlds.metrics(_three()))
    refused = failures.QueryError(Cause.REFUSED, "HTTP 422: too many samples")
    world.server.reply = lambda q: refused if "m1" in q else worlds.answer({"n1": 0.5})
    async with running(world):
        await world.time.advance(59)
        by_name = {stats.name: stats for stats in world.live.get_metric_stats()}
    assert [by_name[f"m{i}"].queries for i in range(3)] == [6, 8, 6]
    assert by_name["m1"].problem == "HTTP 422: too many samples"
    assert by_name["m1"].counts == {Cause.REFUSED: 8}
    assert world.changes == []


@asynchronous
async def test_what_nobody_foresaw_is_logged_and_survived(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No server can end the scheduler by making a library raise."""
    world = worlds.World()
    bugs = [ZeroDivisionError()]

    def reply(_: str) -> answers.InstantVector:
        if bugs:
            raise bugs.pop()
        return worlds.answer({"n1": 0.5})

    world.server.reply = reply
    async with running(world):
        await world.time.advance(15)
        assert world.ages()["n1"][0] == 0.5
    assert "the query of metric `cpu` failed" in caplog.text


@asynchronous
async def test_each_source_has_its_own_health() -> None:
    """One that is down does not hold up another."""
    text = (
        "version 1\n"
        "metric a: ratio = `a` node instance source east refresh 10s maxAge 1m\n"
        "metric b: ratio = `b` node instance refresh 10s maxAge 1m\n"
    )
    world = worlds.World(worlds.metrics(text), ("east", "default"))
    world.servers["east"].reply = lambda _: failures.QueryError(Cause.SERVER_ERROR, "HTTP 500")
    world.servers["default"].reply = lambda _: worlds.answer({"n1": 0.5})
    async with running(world):
        await world.time.advance(59)
    assert len(world.servers["default"].asked) == 6
    assert {each.name: each.is_up for each in world.live.get_server_health()} == {
        "east": False,
        "default": True,
    }


# --- samples ----------------------------------------------------------------------------------


@asynchronous
async def test_samples_age_from_when_they_were_measured() -> None:
    """By the server's own clock: here it is ages behind ours."""
    world = worlds.World()
    world.server.reply = lambda _: worlds.answer({"n1": 0.5, "10.0.0.2:9100": 0.7}, at_seconds=9e3)
    async with running(world):
        await world.time.advance(1)
        asked_seconds_ago = world.time.clock.monotonic_seconds() - world.server.times[0]
        ages = world.ages()
    assert {node: value for node, (value, _) in ages.items()} == {"n1": 0.5, "n2": 0.7}
    assert [age for _, age in ages.values()] == pytest.approx([2 + asked_seconds_ago] * 2, abs=2e-3)


@asynchronous
async def test_a_clock_that_is_set_back_stops_no_metric() -> None:
    """The next answer counts, with its age on the clock as it is now; other samples keep theirs."""
    world = worlds.World()
    clock = world.time.clock
    values = {"n1": 0.1, "n2": 0.2}
    world.server.reply = lambda _: worlds.answer(
        values, at_seconds=5000 + clock.monotonic_seconds()
    )
    async with running(world):
        await world.time.advance(25)
        age_before = world.ages()["n2"][1]
        clock.jump_wall_clock(-3600)
        values = {"n1": 0.9}
        await world.time.advance(15)
        found, age = world.ages()["n1"]
        assert world.ages()["n2"][1] == pytest.approx(age_before + 15, abs=0.01)
    assert found == 0.9
    assert 2 <= age <= 13


@asynchronous
async def test_a_dead_exporter_turns_stale_while_the_query_still_answers() -> None:
    """`rate` goes on for its whole window; the time of the last scrape does not."""
    world = worlds.World()
    started = world.now_seconds
    world.server.reply = lambda _: worlds.answer(
        {"n1": 0.01}, {"n1": 4990.0}, at_seconds=5000 + world.now_seconds - started
    )
    async with running(world):
        await world.time.advance(100)
        value, age = world.ages()["n1"]
    assert value == 0.01
    assert age == pytest.approx(110, abs=1.1)
    assert world.stats().counts[Cause.STALE] == 5


@asynchronous
async def test_a_node_that_is_not_named_keeps_its_sample_which_ages() -> None:
    """Staleness drops a series at once; a node must not look idle, nor new, for that."""
    world = worlds.World()
    world.server.reply = lambda _: worlds.answer({"n1": 0.5, "n2": 0.9})
    async with running(world):
        await world.time.advance(5)
        world.server.reply = lambda _: worlds.answer({"n1": 0.6}, warnings=("a store is away",))
        await world.time.advance(90)
        assert world.ages()["n1"][0] == 0.6
        value, age = world.ages()["n2"]
        assert value == 0.9
        assert age == pytest.approx(97, abs=1.1)
        world.server.reply = lambda _: worlds.answer({})
        await world.time.advance(10)
        assert world.ages()["n1"][0] == 0.6
    assert world.stats().counts[Cause.EMPTY] == 1
    assert world.stats().counts[Cause.WARNING] == 9


@asynchronous
async def test_what_is_known_of_a_metric_stays_during_an_outage() -> None:
    """When the last answer came, and why none comes now."""
    world = worlds.World()
    world.server.reply = lambda _: worlds.answer({"n1": 0.5})
    async with running(world):
        await world.time.advance(5)
        last_success = world.stats().last_success
        assert last_success is not None
        world.server.reply = lambda _: failures.QueryError(Cause.TIMEOUT, "slow")
        await world.time.advance(100)
        stats = world.stats()
    assert (stats.last_success, stats.problem, stats.source) == (last_success, "slow", "default")


@asynchronous
async def test_a_sample_of_unknown_age_is_none() -> None:
    """A node without time of measurement, or with one long past, gets no sample."""
    world = worlds.World()
    world.server.reply = lambda _: worlds.answer({"n1": 0.5, "n2": 0.6}, {"n2": 0.0})
    async with running(world):
        await world.time.advance(5)
        assert world.ages() == {}
    assert world.stats().counts == {Cause.STALE: 2}


@asynchronous
async def test_a_replaced_node_starts_without_samples() -> None:
    """It has the name of the old one and nothing else."""
    world = worlds.World()
    world.server.reply = lambda _: worlds.answer({"n1": 0.5, "n2": 0.6})
    async with running(world):
        await world.time.advance(5)
        world.nodes = [worlds.node("n1", uid="another"), worlds.node("n3", "10.0.0.2")]
        world.server.reply = lambda _: worlds.answer({"10.0.0.2:1": 0.7})
        await world.time.advance(10)
        assert world.ages().keys() == {"n3"}
        assert world.table.get_newest_sample("cpu", "n2") is None


@asynchronous
async def test_a_query_is_asked_alone_when_the_server_refuses_the_times() -> None:
    """Then the time of the query stands for them; the times are tried again later."""
    world = worlds.World()
    refused = failures.QueryError(Cause.REFUSED, "HTTP 422: many-to-many")
    world.server.reply = lambda q: refused if freshness.MARK in q else worlds.answer({"n1": 0.5})
    async with running(world):
        await world.time.advance(229)
        assert world.ages()["n1"][1] < 10
    has_times = [freshness.MARK in query for _, query in world.server.asked]
    assert has_times == [True] * 3 + [False] * 20 + [True, False]
    assert world.stats().counts == {Cause.REFUSED: 4, Cause.UNTIMED: 21}


@asynchronous
async def test_a_query_that_is_wrong_itself_is_told_as_it_is() -> None:
    """With times once an interval, and every third time without."""
    world = worlds.World()
    world.server.reply = lambda _: failures.QueryError(Cause.REFUSED, "HTTP 400: bad")
    async with running(world):
        await world.time.advance(59)
    has_times = [freshness.MARK in query for _, query in world.server.asked]
    assert has_times == [True, True, True, False] * 2


def _with_a_dead_exporter(world: worlds.World, query: str) -> answers.InstantVector:
    """Return what a rate over minutes says of `n1`, which was scraped at the start alone."""
    at = 5000 + world.time.clock.monotonic_seconds()
    measured = {"n1": 4998.0, "n2": at - 2} if freshness.MARK in query else {}
    return worlds.answer({"n1": 0.0, "n2": 0.5}, measured, at)


@pytest.mark.parametrize(
    "until_seconds, is_asked_untimed",
    [pytest.param(110, False, id="one"), pytest.param(200, True, id="many")],
)
@asynchronous
async def test_refusals_do_not_revive_a_dead_exporter(
    until_seconds: float, is_asked_untimed: bool
) -> None:
    """What is known to be stale stays so, though an answer without times looks new."""
    world = worlds.World()

    def reply(query: str) -> answers.InstantVector | failures.QueryError:
        is_refused = 100 <= world.time.clock.monotonic_seconds() < until_seconds
        if is_refused and freshness.MARK in query:
            return failures.QueryError(Cause.REFUSED, "HTTP 422: too many samples")
        return _with_a_dead_exporter(world, query)

    world.server.reply = reply
    async with running(world):
        await world.time.advance(95)
        for _ in range(40):
            await world.time.advance(10)
            assert world.ages()["n1"][1] > 60
            assert world.ages()["n2"][1] < 60
        assert (world.stats().counts[Cause.UNTIMED] > 0) == is_asked_untimed


@asynchronous
async def test_untimed_answers_revive_no_node_that_never_had_a_time() -> None:
    """A node of unknown age stays without sample until an answer with times has one."""
    world = worlds.World()
    is_refused = False

    def reply(query: str) -> answers.InstantVector | failures.QueryError:
        if is_refused and freshness.MARK in query:
            return failures.QueryError(Cause.REFUSED, "HTTP 422: no")
        return worlds.answer({"n1": 0.0, "n2": 0.5}, {"n1": 0.0, "n2": 4998.0})

    world.server.reply = reply
    async with running(world):
        await world.time.advance(5)
        is_refused = True
        await world.time.advance(60)
        assert world.stats().counts[Cause.UNTIMED] > 0
        assert world.ages().keys() == {"n2"}
        world.nodes = [worlds.node("n1", uid="another")]
        await world.time.advance(10)
        assert world.ages().keys() == {"n1"}


def _same(answer: answers.InstantVector, _: str) -> answers.InstantVector:
    return answer


@asynchronous
async def test_a_metric_that_is_of_no_node_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """With a label as it is, and again when a series is of a node; no series say nothing."""
    world = worlds.World()
    with caplog.at_level(logging.INFO):
        async with running(world):
            for values in ({"n1": 0.5}, {"x:1": 0.5}, {}, {"y": 0.5}, {"n1": math.nan}):
                world.server.reply = functools.partial(_same, worlds.answer(values))
                await world.time.advance(10)
            await world.time.advance(10)
    assert [record.message for record in caplog.records if "series" in record.message] == [
        "no series of metric `cpu` belongs to a node of the cluster: label `instance` is `x:1`",
        "metric `cpu` has series of nodes again",
    ]


# --- changes of policies ----------------------------------------------------------------------


@asynchronous
async def test_metrics_may_change_while_it_runs() -> None:
    """New ones are asked at once, gone ones no more, and those that stay keep their samples."""
    world = worlds.World(worlds.metrics(_three()))
    world.server.reply = lambda _: worlds.answer({"n1": 0.5})
    async with running(world):
        await world.time.advance(5)
        changed = _three().replace("`m1`", "`other`").replace("metric m2", "metric m3")
        world.live.set_metrics(worlds.metrics(changed))
        before = len(world.server.asked)
        world.server.reply = lambda _: failures.QueryError(Cause.REFUSED, "HTTP 400")
        await world.time.advance(2)
        asked = world.server.asked[before:]
        assert sorted("other" in query for _, query in asked) == [False, True]
        samples = {
            f"m{i}": world.table.get_newest_sample(f"m{i}", "n1") is not None for i in range(4)
        }
        assert samples == {"m0": True, "m1": False, "m2": False, "m3": False}
    assert [stats.name for stats in world.live.get_metric_stats()] == ["m0", "m1", "m3"]


@asynchronous
async def test_policies_that_come_again_and_again_ask_no_more_than_they_need() -> None:
    """Metrics that stay keep their rhythm, gone ones are not asked, and may come back."""
    world = worlds.World(worlds.metrics(_three()))
    world.server.reply = lambda _: worlds.answer({"n1": 0.5})
    declared = worlds.metrics(_three())
    async with running(world):
        for kept in (declared[:1], declared, declared[:2], (), declared[:1]) * 4:
            world.live.set_metrics(kept)
            await world.time.advance(3)
            present = {metric.key for metric in kept}
            found = {
                m.key for m in declared if world.table.get_newest_sample(m.key, "n1") is not None
            }
            assert found == present
        world.live.set_metrics(declared[:1])
        before = len(world.server.asked)
        for _ in range(20):
            world.live.set_metrics(declared[:1])
            await world.time.advance(3)
    queries = [query for _, query in world.server.asked[before:]]
    assert len(queries) == 6, "one in each interval of 10 s"
    assert all("m0" in query for query in queries)


@asynchronous
async def test_metrics_that_are_gone_leave_nothing() -> None:
    """Policies that name their metrics anew each time leave neither samples nor measurements."""
    world = worlds.World(worlds.metrics(_three()))
    world.server.reply = lambda _: worlds.answer({"n1": 0.5})
    async with running(world):
        for number in range(30):
            named = _three().replace("metric m", f"metric v{number}m")
            world.live.set_metrics(worlds.metrics(named))
            await world.time.advance(3)
        assert world.table.metric_count == 3
        assert len(world.live.get_metric_stats()) == 3
        assert sum(sum(each.durations.counts) for each in world.live.get_metric_stats()) == 3


@asynchronous
async def test_an_answer_that_comes_after_its_metric_is_gone_is_dropped() -> None:
    """Also where another metric has its key by then."""
    world = worlds.World()
    world.server.reply = lambda _: worlds.answer({"n1": 0.5})
    async with running(world):
        await world.time.advance(5)
        (threads,) = world.live._sources.values()
        held: list[concurrent.futures.Future[Any]] = []
        real = threads._threads
        threads._threads = worlds.Held(held)  # type: ignore[assignment]  # as `worlds` does
        await world.time.advance(10)
        assert len(held) == 1
        threads._threads = real
        world.server.reply = lambda _: worlds.answer({})
        world.live.set_metrics(worlds.metrics(worlds.POLICY.replace("`cpu`", "`other`")))
        await world.time.advance(5)
        if not held[0].cancelled():
            held[0].set_result(worlds.answer({"n1": 0.9}))
        await world.time.advance(5)
        assert world.ages() == {}


@asynchronous
async def test_another_interval_keeps_the_samples() -> None:
    """They are samples of the same query."""
    world = worlds.World()
    world.server.reply = lambda _: worlds.answer({"n1": 0.5})
    async with running(world):
        await world.time.advance(5)
        world.server.reply = lambda _: worlds.answer({})
        world.live.set_metrics(worlds.metrics(worlds.POLICY.replace("10s", "20s")))
        await world.time.advance(100)
        assert world.ages()["n1"][0] == 0.5
    assert len(world.server.asked) == 6


@pytest.mark.parametrize(
    "names, clause, text",
    [
        pytest.param(
            ("a",),
            "source b",
            "names the source `b`, which is not configured (there are `a`)",
            id="x",
        ),
        pytest.param(("a", "b"), "", "names no source, and none of the several", id="none"),
    ],
)
def test_a_metric_without_a_source_is_refused(
    names: tuple[str, ...], clause: str, text: str
) -> None:
    """At the start, and at a reload, which then changes nothing."""
    declared = worlds.metrics(worlds.POLICY.replace("refresh", f"{clause} refresh"))
    with pytest.raises(errors.ConfigurationError) as caught:
        worlds.World(declared, names)
    assert "metric `cpu`: " + text in str(caught.value)
    world = worlds.World(
        worlds.metrics(worlds.POLICY.replace("refresh", "source a refresh")), names
    )
    with pytest.raises(errors.ConfigurationError):
        world.live.set_metrics(declared)
    assert world.stats().name == "cpu"


@asynchronous
async def test_everything_is_closed_at_the_end() -> None:
    """No task and no connection stays behind."""
    world = worlds.World(worlds.metrics(_three()))
    async with running(world):
        await world.time.advance(5)
    assert world.server.is_closed
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("metric ")] == []


@asynchronous
async def test_the_start_waits_for_the_first_answers_of_sources_that_answer() -> None:
    """A source that is down is not waited for."""
    world = worlds.World(worlds.metrics(_three()))
    waiting = asyncio.create_task(world.live.wait_until_metrics_asked())
    async with running(world):
        assert not waiting.done()
        world.server.reply = lambda _: failures.QueryError(Cause.UNREACHABLE, "no")
        await world.time.advance(1.0)
        assert waiting.done()


@settings(max_examples=examples.scale(60))
@given(bodies=st.lists(hostile.bodies, min_size=1, max_size=4))
def test_no_answer_makes_up_a_sample(bodies: list[bytes]) -> None:
    """Whatever a server says, what arrives at the scheduler is finite, past, or missing."""

    @asynchronous
    async def scenario() -> None:
        world = worlds.World()
        left = list(bodies)

        def reply(_: str) -> answers.InstantVector:
            return answers.decode_instant_vector(left.pop() if left else b"", "application/json")

        world.server.reply = reply
        async with running(world):
            await world.time.advance(45)
            column = world.table.get_metric_column("cpu", ["n1", "n2"], 0)
            assert np.isfinite(column.values).all()
            assert (column.measured_at_seconds <= world.now_seconds).all()
            assert not np.isnan(column.measured_at_seconds).any()
            assert not left
        assert sum(world.stats().counts.values()) > 0

    scenario()
