"""A scheduler in virtual time that goes by what a real HTTP server answers, and a scalar oracle.

The oracle knows what each answer really holds, not how it is written, and keeps the rules of
docs/metrics.md with plain dictionaries.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np

from policysched import clock as clocks
from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.framework import handles, runtime
from policysched.lang import source
from policysched.profiles import policies
from policysched.promapi import connection, live_metrics_source, settings, status
from policysched.promapi import query_source as sources
from policysched.scheduler import decisions, ports
from policysched.scheduler import scheduler as schedulers
from policysched.sim import api_server, driver, virtual_time
from tests import builders
from tests.promapi import fake_prometheus as fake
from tests.promapi import worlds

PROFILE = "hostile"
REFRESH_SECONDS = 10.0
MAX_AGE_SECONDS = 60.0
MISSING_POINTS = 7.0
LOW, HIGH, LIMIT = 0.0, 100.0, 90.0
NODES = {"n1": "10.0.0.1", "n2": "10.0.0.2", "n3": "10.0.0.3"}
ALIASES = {
    **{name: name for name in NODES},
    **{address: name for name, address in NODES.items()},
    **{f"{address}:9100": name for name, address in NODES.items()},
}
"""What answers may call nodes, with blanks around it and in any case; other texts are of none."""

POLICY = """
metric load: number = `load` node instance refresh 10s maxAge 60s between 0 and 100
policy p {
  for pods
  reject when load > 90 missing allow
  score load prefer low normalize linear(0, 100) missing score 7 as low
}
profile hostile { policies p disable all scores }
"""


@dataclasses.dataclass(frozen=True)
class Series:
    """A series of an answer, as it is meant.

    Attributes:
        label: value of `instance`, None for no such label.
        text: its value as the API writes it, None for a series without one.
        times: how long ago the answer says that its samples were measured, or nonsense.
    """

    label: str | None
    text: str | None
    times: tuple[float | str, ...] = (0.0,)


@dataclasses.dataclass(frozen=True)
class Hostile:
    """What the server does until the next refresh.

    Attributes:
        series: what can be had from the answer; None where that is nothing.
        write: returns what is sent, at a time of the server's clock.
        server_ahead_seconds: how its clock stands to ours.
        is_slow: it comes in drops, beyond the time limit.
    """

    series: tuple[Series, ...] | None
    write: Callable[[float], fake.Answer]
    server_ahead_seconds: float = 0.0
    is_slow: bool = False


# --- the oracle -------------------------------------------------------------------------------


def node_of(label: str | None) -> str | None:
    """Return the node that a label names."""
    return ALIASES.get((label or "").strip().lower())


def _number(text: str | None) -> float | None:
    try:
        return None if text is None or "_" in text else float(text)
    except ValueError:
        return None


class Oracle:
    """What is known of each node, by the rules for answers.

    Attributes:
        samples: node → (value, when it was measured, whether the answer said so).
        stale: nodes whose last answer with times was too old.
    """

    def __init__(self) -> None:
        self.samples: dict[str, tuple[float, float, bool]] = {}
        self.stale: set[str] = set()

    def take(self, series: tuple[Series, ...], now: float, *, is_timed: bool) -> None:
        """Take in what an answer holds."""
        for node in NODES:
            of_node = [one for one in series if node_of(one.label) == node]
            if not of_node:
                continue
            value = _number(of_node[0].text)
            if len(of_node) > 1 or value is None or not math.isfinite(value):
                self.samples.pop(node, None)
                continue
            age = _age(of_node[0], series) if is_timed else 0.0
            self._take_sample(node, value, age, now, is_timed=is_timed)

    def _take_sample(
        self, node: str, value: float, age: float | None, now: float, *, is_timed: bool
    ) -> None:
        kept = self.samples.get(node)
        if is_timed:
            self.stale.discard(node)
            if age is None or age > MAX_AGE_SECONDS:
                self.stale.add(node)
        elif node in self.stale or (kept and kept[2] and now - kept[1] > MAX_AGE_SECONDS):
            return
        if age is None:
            return
        measured = now - age
        if kept is not None and kept[1] > measured:
            value = value if kept[1] - measured <= 1.0 else kept[0]
            measured = kept[1]
        self.samples[node] = (value, measured, is_timed)

    def valid(self, now: float) -> dict[str, float]:
        """Return the values that there are now."""
        return {
            node: value
            for node, (value, measured, _) in self.samples.items()
            if now - measured <= MAX_AGE_SECONDS and LOW <= value <= HIGH
        }

    def points(self, now: float) -> dict[str, float]:
        """Return what each node that is not rejected gets."""
        valid = self.valid(now)
        if not valid:
            return dict.fromkeys(NODES, 0.0)  # an outage: the rules drop out
        given = {node: HIGH - valid[node] if node in valid else MISSING_POINTS for node in NODES}
        return {node: each for node, each in given.items() if valid.get(node, 0.0) <= LIMIT}


def _age(one: Series, series: tuple[Series, ...]) -> float | None:
    """Return how old a series is; the last number that the answer has for its label counts."""
    found: float | None = None
    for other in series:
        for each in other.times if other.label == one.label else ():
            number = each if isinstance(each, float) else _number(each)
            if number is not None:
                found = number
    return max(found, 0.0) if found is not None and math.isfinite(found) else None


# --- the world --------------------------------------------------------------------------------


class World:
    """One cluster, one scheduler and one server.

    Attributes:
        problems: what is not as the oracle says.
        decided: how many pods were decided about.
        placed_by_value: how many were placed while a value was there.
    """

    def __init__(self, server: fake.FakePrometheus) -> None:
        self.problems: list[str] = []
        self.decided = 0
        self.placed_by_value = 0
        self._oracle = Oracle()
        self._current = Hostile((), lambda _: fake.success([]))
        self._ticks = 0.0
        self._time = virtual_time.VirtualTime(clocks.ManualClock(builders.EPOCH))
        self._cluster = api_server.SimulatedApiServer(
            self._time.clock, random.Random(1), self._time.sleep
        )
        server.answer = self._answer
        self._make_scheduler()
        self._make_source(server.url)

    def _make_scheduler(self) -> None:
        outside = ports.SchedulerPorts(self._cluster, self._cluster, self._cluster)
        self.scheduler = schedulers.Scheduler({}, outside, self._time.clock)
        found = policies.make_policy_set_from_texts(
            [source.SourceText("hostile.policy", POLICY)], {}
        )
        handle = handles.Handle(self._cluster)
        profiles = policies.require_profiles(policies.make_profiles(found, handle))
        self.scheduler.set_profiles(
            {name: runtime.Framework(one, None) for name, one in profiles.by_name.items()},
            profiles.annotation_keys,
            profiles.metric_needs,
        )
        self._metrics = found.node_metrics
        self.scheduler.decisions.listeners.append(self._compare)
        self._driver = driver.SimulationDriver(self._cluster, self.scheduler, self._time)

    def _make_source(self, url: str) -> None:
        dependencies = sources.SourceDependencies(
            self._time.clock, random.Random(1), self._time.sleep, self
        )
        self.live = live_metrics_source.LiveMetricsSource(
            {"default": settings.PrometheusSource(url, timeout_seconds=30)},
            self._metrics,
            dependencies,
            connect=lambda name, one: connection.PrometheusClient(name, one, self._real_seconds),
        )
        at_once: Any = worlds._AtOnce()
        self.live._joins._thread = at_once
        for each in self.live._sources.values():
            each._threads = at_once

    def _real_seconds(self) -> float:
        """Count for the time limit of queries: only slow answers take any time."""
        self._ticks += 100.0 if self._current.is_slow else 0.0
        return self._ticks

    def _answer(self, request: fake.Request) -> fake.Answer:
        now = self._time.clock.now().timestamp()
        held = self._current
        if held.series is not None:
            is_timed = "measured_at" in request.query
            self._oracle.take(held.series, now, is_timed=is_timed)
        return held.write(now + held.server_ahead_seconds)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        """Let the source ask meanwhile; nodes are older than all samples that count."""
        for name, address in NODES.items():
            node = builders.make_node(name).capacity(cpu="64", memory="64Gi")
            addresses = (objects.NodeAddress("InternalIP", address),)
            self._cluster.nodes.create(node._status(addresses=addresses).build())
        await self._driver.advance_time(1000.0)
        task = asyncio.create_task(
            self.live.run(
                self.scheduler.events.refresh_metrics,
                self,
                self.scheduler.events.backfill_metrics,
            )
        )
        try:
            yield self
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def refresh(self, hostile: Hostile, name: str) -> None:
        """Let the server answer so for one refresh, and place a pod by what came."""
        self._current = hostile
        await self._driver.advance_time(2.0)
        pod = builders.make_pod(name).requests(cpu="1m")
        self._cluster.pods.create(pod.scheduler_name(PROFILE).build())
        await self._driver.advance_time(REFRESH_SECONDS - 2.0)

    def _compare(
        self,
        decision: decisions.SchedulingDecision,
        _result: runtime.ScheduleResult,
        _snapshot: snapshot.Snapshot,
    ) -> None:
        now = self._time.clock.now().timestamp()
        points = self._oracle.points(now)
        self.decided += 1
        where = f"{decision.pod} at {decision.node_name}, {points} of {self._oracle.samples}"
        if decision.node_name is None:
            if points:
                self.problems.append(f"{where}: fits nowhere")
            return
        self.placed_by_value += bool(self._oracle.valid(now))
        if points.get(decision.node_name, -math.inf) < max(points.values(), default=0.0) - 0.02:
            self.problems.append(f"{where}: others are better")
        if decision.standing is not None:
            totals = decision.standing.totals
            expected = [100 * points.get(name, math.nan) for name in decision.standing.nodes]
            if not np.allclose(totals, expected, atol=1.0):
                self.problems.append(f"{where}: has {list(totals)}")

    # --- what the source asks for -----------------------------------------------------------------

    async def wait_synced(self) -> None:
        """Nodes are there from the start."""

    def current(self) -> list[objects.Node]:
        """Return the nodes."""
        return list(self._cluster.nodes)

    def source_changed(self, health: status.SourceHealth) -> None:
        """Nothing."""

    def metric_asked(self, stats: status.MetricStats) -> None:
        """Nothing."""
