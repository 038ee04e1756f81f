"""Two `policysched run`: the leader is killed, frozen, cut off, asked to end. Nobody notices."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.e2e import failover_scene
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    import pathlib

pytestmark = pytest.mark.e2e

NODES, PODS_PER_NODE = 20, 20
PODS = NODES * PODS_PER_NODE
PER_SECOND = 100


@pytest.fixture
def replicas(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> failover_scene.Replicas:
    """Two replicas that are not started yet, on a cluster with exactly enough room."""
    failover_scene.make_nodes(control_plane.client, NODES, PODS_PER_NODE)
    return failover_scene.Replicas(control_plane, tmp_path)


@pytest.mark.parametrize("harm", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_another_one_takes_over(
    harm: signal.Signals,
    control_plane: control_planes.ControlPlane,
    namespace: str,
    replicas: failover_scene.Replicas,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every pod is bound, to a node with room, whatever happens to the leader under load."""
    client = control_plane.client
    load = failover_scene.Load(client, namespace, "pod", PODS, PER_SECOND)
    with replicas, failover_scene.BindingTimes(client) as bound, load:
        former, leader = replicas.holder(), replicas.leader()
        failover_scene.wait_until(lambda: len(bound) >= PODS // 4)
        leader.process.signal(harm)
        replicas.wait_until_led_by_another(former)
        if harm is signal.SIGSTOP:
            failover_scene.wait_until(lambda: len(bound) > PODS // 2)
            leader.process.signal(signal.SIGCONT)
        if harm is signal.SIGTERM:
            assert leader.process.wait(failover_scene.LIMIT_SECONDS) == 0
        failover_scene.wait_until(lambda: len(bound) == PODS)
        pause_seconds = bound.longest_pause_seconds()
    assert failover_scene.violations(client) == []
    with capsys.disabled():
        print(f"\n{harm.name}: {pause_seconds:.2f} s without scheduling")  # noqa: T201 - a result
