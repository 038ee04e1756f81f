"""The way to the API server is bad, or its storage stands still. Scheduling resumes by itself."""

from __future__ import annotations

import random
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.scenes import failover_scene, scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import faults, faulty_proxy

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

NODES, PODS_PER_NODE = 10, 15
PODS = NODES * PODS_PER_NODE
"""Exactly as many as there is room for: a place that is lost leaves a pod without a node."""


@pytest.fixture
def proxy(control_plane: control_planes.ControlPlane) -> Iterator[faulty_proxy.FaultyProxy]:
    """A way to a cluster with nodes, healthy so far."""
    failover_scene.make_nodes(control_plane.client, NODES, PODS_PER_NODE)
    with faulty_proxy.FaultyProxy(control_plane) as made:
        yield made


def _pending(plane: control_planes.ControlPlane) -> int:
    return len(plane.client.items("/api/v1/pods", fieldSelector="spec.nodeName="))


@pytest.mark.parametrize("name", faults.PLANS)
def test_faults_on_the_way_lose_and_double_nothing(
    name: str,
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
    proxy: faulty_proxy.FaultyProxy,
) -> None:
    """Refusals, failures, lost and torn answers, delays and expired watches harm no pod."""
    proxy.plan = faults.PLANS[name](random.Random(7))
    with scheduler_process.PolicyScheduler(
        control_plane, tmp_path, server=proxy.server
    ) as scheduler:
        failover_scene.make_pods(control_plane.client, namespace, PODS)
        scheduler.wait_until(lambda: _pending(control_plane) == 0)
        assert proxy.given
        proxy.plan = faulty_proxy.healthy
        scheduler.process.signal(signal.SIGTERM)
        assert scheduler.process.wait(failover_scene.LIMIT_SECONDS) == 0
    assert failover_scene.violations(control_plane.client) == []
    assert len({path for _, path in proxy.bound}) == len(proxy.bound) == PODS


def test_watches_are_cut_again_and_again(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
    proxy: faulty_proxy.FaultyProxy,
) -> None:
    """Watches go on where they were cut, so pods of all the time are seen."""

    def cut_and_look() -> bool:
        proxy.cut_watches()
        return _pending(control_plane) == 0

    with scheduler_process.PolicyScheduler(
        control_plane, tmp_path, server=proxy.server
    ) as scheduler:
        scheduler.wait_until(lambda: "synced" in scheduler.log)
        with failover_scene.Load(control_plane.client, namespace, "pod", PODS, per_second=40):
            scheduler.wait_until(lambda: cut_and_look() and len(proxy.bound) == PODS)
    assert failover_scene.violations(control_plane.client) == []


def test_etcd_stands_still(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
    proxy: faulty_proxy.FaultyProxy,
) -> None:
    """Bindings that hang in the API server are carried out once, when its storage goes on."""
    with scheduler_process.PolicyScheduler(
        control_plane, tmp_path, server=proxy.server
    ) as scheduler:
        scheduler.wait_until(lambda: "synced" in scheduler.log)
        scheduler.process.signal(signal.SIGSTOP)
        failover_scene.make_pods(control_plane.client, namespace, PODS)
        control_plane.etcd.signal(signal.SIGSTOP)
        try:
            scheduler.process.signal(signal.SIGCONT)
            until = time.monotonic() + 4.0
            scheduler.wait_until(lambda: time.monotonic() >= until)
            assert proxy.bound == []
        finally:
            control_plane.etcd.signal(signal.SIGCONT)
        control_plane.wait_ready()
        scheduler.wait_until(lambda: _pending(control_plane) == 0)
    assert failover_scene.violations(control_plane.client) == []
