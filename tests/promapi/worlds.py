"""A live source in virtual time, on servers that are functions."""

from __future__ import annotations

import concurrent.futures
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from policysched import clock as clocks
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.cluster.objects import node_aliases, objects
from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import checker
from policysched.promapi import (
    answers,
    failures,
    live_metrics_source,
    range_answers,
    sample_matrix,
    settings,
    status,
)
from policysched.promapi import query_source as sources
from policysched.sim import virtual_time
from tests import builders

POLICY = "version 1\nmetric cpu: ratio = `cpu` node instance refresh 10s maxAge 1m\n"


def metrics(text: str = POLICY) -> tuple[checked.CheckedMetric, ...]:
    """Return the metrics that a policy declares."""
    result = checker.check([source.SourceText("m.policy", text)])
    assert result.program is not None, result.diagnostics
    return result.program.metrics


def node(name: str, *addresses: str, uid: str = "", hostname: str = "") -> objects.Node:
    """Return a node with InternalIPs."""
    found = tuple(objects.NodeAddress("InternalIP", address) for address in addresses)
    labels = {node_aliases.HOSTNAME_LABEL: hostname} if hostname else {}
    return objects.Node(
        objects.ObjectMeta(name=name, uid=uid or f"uid-{name}", labels=labels),
        status=objects.NodeStatus(addresses=found),
    )


def answer(
    values: Mapping[str, float],
    measured: Mapping[str, float] | None = None,
    at_seconds: float = 5000.0,
    **rest: Any,
) -> answers.InstantVector:
    """Return a vector by `instance`; all samples are two seconds old unless `measured` says."""
    times = dict.fromkeys(values, at_seconds - 2) if measured is None else measured
    return answers.InstantVector(
        series=tuple(
            answers.InstantVectorSample({"instance": name}, value, at_seconds)
            for name, value in values.items()
        ),
        measured=tuple(
            answers.InstantVectorSample({"instance": name}, time, at_seconds)
            for name, time in times.items()
        ),
        evaluated_at_seconds=at_seconds if values else None,
        **rest,
    )


def moments_of(
    given: Sequence[answers.InstantVector] | sample_matrix.SampleMatrix,
) -> sample_matrix.SampleMatrix:
    """Return what a range query brings whose moments were answered like that."""
    if isinstance(given, sample_matrix.SampleMatrix):
        return given
    each_series = [(one.series + one.measured) for one in given]
    size = sum(map(len, each_series))
    is_there, is_number = np.zeros((2, len(given), size), np.bool_)
    values = np.full((len(given), size), np.nan)
    columns = iter(range(size))
    for row, all_series in enumerate(each_series):
        for one, column in zip(all_series, columns, strict=False):
            is_there[row, column] = True
            is_number[row, column] = one.value is not None
            values[row, column] = np.nan if one.value is None else one.value
    return sample_matrix.SampleMatrix(
        tuple(one.labels for all_series in each_series for one in all_series),
        tuple(n >= len(one.series) for one in given for n in range(len(one.series + one.measured))),
        np.array([one.evaluated_at_seconds for one in given], np.float64),
        is_there,
        is_number,
        values,
        warnings=tuple(text for one in given for text in one.warnings),
    )


class Server:
    """Answers queries with what `reply` returns or raises.

    Attributes:
        asked: when (seconds since the start) and what.
        ranges: likewise, of range queries, and for which moments.
    """

    def __init__(self, clock: clocks.Clock) -> None:
        self.asked: list[tuple[float, str]] = []
        self.reply: Callable[[str], answers.InstantVector | failures.QueryError] = lambda _: answer(
            {}
        )
        self.ranges: list[tuple[float, str, range_answers.RangeQueryTimes]] = []
        self.reply_to_range: Callable[
            [range_answers.RangeQueryTimes],
            Sequence[answers.InstantVector] | sample_matrix.SampleMatrix | failures.QueryError,
        ] = lambda _: ()
        self.is_closed = False
        self._clock = clock

    def ask(self, promql: str) -> answers.InstantVector:
        """Answer."""
        self.asked.append((self._clock.monotonic_seconds(), promql))
        found = self.reply(promql)
        if isinstance(found, BaseException):
            raise found
        return found

    def ask_range(
        self, promql: str, steps: range_answers.RangeQueryTimes
    ) -> sample_matrix.SampleMatrix:
        """Answer for some moments."""
        self.ranges.append((self._clock.monotonic_seconds(), promql, steps))
        found = self.reply_to_range(steps)
        if isinstance(found, BaseException):
            raise found
        return moments_of(found)

    def close(self) -> None:
        """Note that nothing more is asked."""
        self.is_closed = True

    @property
    def times(self) -> list[float]:
        """When it was asked."""
        return [time for time, _ in self.asked]


class _AtOnce(concurrent.futures.Executor):
    """Runs what it is given on the spot, so that virtual time can stand still."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - handed on, as executors do
            future.set_exception(error)
        return future


class Held(concurrent.futures.Executor):
    """Leaves what it is given to the test, in `futures`."""

    def __init__(self, futures: list[concurrent.futures.Future[Any]]) -> None:
        self._futures = futures

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Return a future that the test fulfils."""
        self._futures.append(concurrent.futures.Future())
        return self._futures[-1]


class World:
    """Nodes, servers, and a live source that asks them; also what it is observed by.

    Attributes:
        time: moves when it is told to.
        servers: by name.
        table: what has been handed on.
        changes: of the health of sources.
        queries: problems of queries, "" for none.
    """

    def __init__(
        self,
        declared: Iterable[checked.CheckedMetric] | None = None,
        names: tuple[str, ...] = ("default",),
        seed: int = 1,
    ) -> None:
        clock = clocks.ManualClock(builders.EPOCH)
        self.time = virtual_time.VirtualTime(clock)
        self.servers = {name: Server(clock) for name in names}
        self.table = metric_table.MetricTable()
        self.changes: list[status.SourceHealth] = []
        self.queries: list[str] = []
        self.nodes = [node("n1", "10.0.0.1"), node("n2", "10.0.0.2")]
        dependencies = sources.SourceDependencies(clock, random.Random(seed), self.time.sleep, self)
        self.live = live_metrics_source.LiveMetricsSource(
            {name: settings.PrometheusSource("http://x") for name in names},
            metrics() if declared is None else declared,
            dependencies,
            connect=lambda name, _: self.servers[name],
        )
        for each in self.live._sources.values():
            each._threads = _AtOnce()  # type: ignore[assignment]  # see there
        self.live._joins._thread = _AtOnce()  # type: ignore[assignment]  # see there

    @property
    def server(self) -> Server:
        """The only server."""
        (server,) = self.servers.values()
        return server

    @property
    def now_seconds(self) -> float:
        """Seconds since 1970."""
        return self.time.clock.now().timestamp()

    def stats(self) -> status.MetricStats:
        """Return how the only metric is doing."""
        (found,) = self.live.get_metric_stats()
        return found

    async def wait_synced(self) -> None:
        """Nodes are there from the start."""

    def current(self) -> list[objects.Node]:
        """Return the nodes."""
        return list(self.nodes)

    def refresh(self, samples: Mapping[str, Mapping[str, metric_table.Sample]]) -> None:
        """Take samples as the scheduler does."""
        for metric, by_node in samples.items():
            self.table.refresh(metric, by_node)

    def backfill(self, history: Mapping[str, metric_windows.OlderSamples]) -> None:
        """Take older samples as the scheduler does."""
        for metric, older in history.items():
            self.table.backfill(metric, older)

    def source_changed(self, health: status.SourceHealth) -> None:
        """Remember it."""
        self.changes.append(health)

    def metric_asked(self, stats: status.MetricStats) -> None:
        """Remember what came of it."""
        self.queries.append(stats.problem)

    def ages(self, metric: str = "cpu") -> dict[str, tuple[float, float]]:
        """Return node → (value, age in seconds)."""
        found = {}
        for each in self.nodes:
            sample = self.table.get_newest_sample(metric, each.name)
            if sample is not None:
                age = self.now_seconds - sample.measured_at_seconds
                found[each.name] = (sample.value, round(age, 3))
        return found
