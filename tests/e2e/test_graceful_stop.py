"""Signals: what is in flight is finished or undone, within a time, whatever the API server does."""

from __future__ import annotations

import random
import signal
from typing import TYPE_CHECKING

import pytest

from tests.e2e.checker import cluster_state
from tests.e2e.scenes import failover_scene, jumping_clock, scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import faults, faulty_proxy

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

PODS = 40
LIMIT_SECONDS = 150.0
LEASE = failover_scene.LeaseTimes("8s", "6s", "1s")
"""Longer than a busy machine may need for a renewal."""


@pytest.fixture
def proxy(control_plane: control_planes.ControlPlane) -> Iterator[faulty_proxy.FaultyProxy]:
    """A way to a cluster with room for all pods."""
    failover_scene.make_nodes(control_plane.client, 4, PODS // 4)
    with faulty_proxy.FaultyProxy(control_plane) as made:
        yield made


def _bound(plane: control_planes.ControlPlane) -> int:
    return sum(bool(cluster_state.node_name(pod)) for pod in plane.client.pods())


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param([], id="alone", marks=pytest.mark.proof),
        pytest.param(LEASE.flags, id="lease"),
    ],
)
def test_it_ends_though_nobody_answers(
    flags: list[str],
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
    proxy: faulty_proxy.FaultyProxy,
) -> None:
    """Bindings without an answer are given up after a while; the next process finds what they did.

    They were carried out, so the first one has bound pods without knowing it.
    """
    with scheduler_process.PolicyScheduler(
        control_plane, tmp_path, server=proxy.server, flags=flags
    ) as scheduler:
        scheduler.wait_until(lambda: "synced" in scheduler.log)
        unanswered = faulty_proxy.Fault(faulty_proxy.Harm.HOLD)
        proxy.plan = lambda call: unanswered if call.is_binding else faulty_proxy.healthy(call)
        failover_scene.make_pods(control_plane.client, namespace, PODS)
        scheduler.wait_until(lambda: len(proxy.bound) >= PODS // 2)
        proxy.plan = lambda _: unanswered
        scheduler.process.signal(signal.SIGTERM)
        assert scheduler.process.wait(LIMIT_SECONDS) == 0
        assert "the scheduler is stopping" in scheduler.log
        proxy.plan = faulty_proxy.healthy
        scheduler.process.start()
        scheduler.wait_until(lambda: _bound(control_plane) == PODS)
    assert failover_scene.violations(control_plane.client) == []


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.proof)]
)
def test_the_second_signal_ends_it_at_once(
    number: signal.Signals,
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
    proxy: faulty_proxy.FaultyProxy,
) -> None:
    """Who does not want to wait for the API server is not made to; the signal is the cause told."""
    proxy.plan = faults.PLANS["slow"](random.Random(1))
    with scheduler_process.PolicyScheduler(
        control_plane, tmp_path, server=proxy.server
    ) as scheduler:
        scheduler.wait_until(lambda: "synced" in scheduler.log)
        proxy.plan = lambda call: faulty_proxy.Fault(delay_seconds=0.0 if call.is_watch else 60.0)
        failover_scene.make_pods(control_plane.client, namespace, PODS)
        scheduler.wait_until(lambda: proxy.given["delay"] >= PODS)
        scheduler.process.signal(signal.SIGTERM)
        scheduler.wait_until(lambda: "stopping" in scheduler.log)
        scheduler.process.signal(number)
        assert scheduler.process.wait(LIMIT_SECONDS) == -number
        assert "Traceback" not in scheduler.log


@pytest.mark.parametrize(
    "wall_seconds, monotonic_seconds",
    [(3600.0, 0.0), (-7200.0, 0.0), (600.0, 600.0)],
    ids=["ahead", "back", "asleep"],
)
def test_clocks_jump(
    wall_seconds: float,
    monotonic_seconds: float,
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
    proxy: faulty_proxy.FaultyProxy,
) -> None:
    """Neither a clock that is set nor a machine that slept keeps pods from their nodes."""
    clock = jumping_clock.JumpingClock(tmp_path / "clock")
    with scheduler_process.PolicyScheduler(
        control_plane,
        tmp_path,
        server=proxy.server,
        flags=failover_scene.LeaseTimes().flags,
        program=clock.program,
    ) as scheduler:
        with failover_scene.Load(control_plane.client, namespace, "pod", PODS, per_second=20):
            scheduler.wait_until(lambda: len(proxy.bound) >= PODS // 4)
            clock.jump(wall_seconds, monotonic_seconds)
        scheduler.wait_until(lambda: _bound(control_plane) == PODS)
        scheduler.process.signal(signal.SIGTERM)
        assert scheduler.process.wait(LIMIT_SECONDS) == 0
    assert failover_scene.violations(control_plane.client) == []
