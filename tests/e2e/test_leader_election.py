"""Two `policysched run`: the leader is killed, frozen, cut off, asked to end. Nobody notices."""

from __future__ import annotations

import contextlib
import datetime
import signal
from typing import TYPE_CHECKING

import pytest

from tests.e2e.scenes import failover_scene, preemption_scene, scheduler_process
from tests.realcluster import api_client, tcp_proxy
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

NODES, PODS_PER_NODE = 20, 20
PODS = NODES * PODS_PER_NODE
PER_SECOND = 100


@pytest.fixture(autouse=True)
def no_lease(control_plane: control_planes.ControlPlane) -> Iterator[None]:
    """Nobody holds the lease, whatever the test before has left."""
    with contextlib.suppress(api_client.ApiError):  # there is none
        control_plane.client.delete(failover_scene.LEASE)
    yield
    with contextlib.suppress(api_client.ApiError):
        control_plane.client.delete(failover_scene.LEASE)


@pytest.fixture
def replicas(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> failover_scene.Replicas:
    """Two replicas that are not started yet, on a cluster with exactly enough room."""
    failover_scene.make_nodes(control_plane.client, NODES, PODS_PER_NODE)
    return failover_scene.Replicas(control_plane, tmp_path)


@pytest.mark.parametrize(
    "harm",
    [signal.SIGKILL, signal.SIGSTOP, pytest.param(signal.SIGTERM, marks=pytest.mark.proof)],
)
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


@contextlib.contextmanager
def _under_load(
    plane: control_planes.ControlPlane, namespace: str, folder: pathlib.Path, *, count: int
) -> Iterator[tuple[failover_scene.Replicas, tcp_proxy.TcpProxy, failover_scene.BindingTimes]]:
    """Run replicas while pods arrive; the first one reaches the API server by the proxy."""
    client = plane.client
    failover_scene.make_nodes(client, NODES, PODS_PER_NODE)
    load = failover_scene.Load(client, namespace, "pod", PODS, PER_SECOND)
    with tcp_proxy.TcpProxy(int(plane.server.rpartition(":")[2])) as proxy:
        replicas = failover_scene.Replicas(
            plane, folder, count=count, servers={0: f"https://127.0.0.1:{proxy.port}"}
        )
        with replicas, failover_scene.BindingTimes(client) as bound, load:
            yield replicas, proxy, bound


def test_a_leader_that_is_cut_off_stops_and_comes_back_as_a_standby(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
) -> None:
    """Bytes of a partitioned leader wait for ever; another one goes on, and loses to nobody."""
    with _under_load(control_plane, namespace, tmp_path, count=2) as (replicas, proxy, bound):
        cut_off = replicas.all[0]
        former = replicas.holder()
        failover_scene.wait_until(lambda: len(bound) >= PODS // 4)
        proxy.cut()
        replicas.wait_until_led_by_another(former)
        failover_scene.wait_until(lambda: len(bound) > PODS // 2)
        proxy.mend()
        failover_scene.wait_until(lambda: len(bound) == PODS)
        cut_off.wait_until(lambda: "standing by" in cut_off.process.log_tail())
        assert "lost the lease" in cut_off.process.log.read_text(encoding="utf-8")
    assert failover_scene.violations(control_plane.client) == []


def test_one_alone_goes_on_after_an_outage(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
) -> None:
    """The lease is lost with the API server, and had again with it; the process stays the same."""
    with _under_load(control_plane, namespace, tmp_path, count=1) as (replicas, proxy, bound):
        (alone,) = replicas.all
        identity = replicas.holder()
        failover_scene.wait_until(lambda: len(bound) >= PODS // 4)
        proxy.cut()
        alone.wait_until(lambda: "lost the lease" in alone.process.log_tail())
        proxy.mend()
        failover_scene.wait_until(lambda: len(bound) == PODS)
        assert replicas.holder() == identity
    assert failover_scene.violations(control_plane.client) == []


def test_a_standby_writes_nothing_and_then_everything(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Evictions, nominations, conditions, events and bindings wait until the lease is free."""
    client = control_plane.client
    spec = {"holderIdentity": "somebody", "leaseDurationSeconds": 3600}
    client.create(failover_scene.LEASES, {"metadata": {"name": "policysched"}, "spec": spec})
    flags = [*failover_scene.LeaseTimes().flags, "--scheduler-name", "default-scheduler"]
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        scene = preemption_scene.Scene(client, namespace, scheduler.process)
        scene.nodes("n1")
        scene.running("low", "low", "4", "n1")
        scene.pending("high", "high", "3")
        said = "standing by: the lease kube-system/policysched is held by somebody"
        scheduler.wait_until(lambda: said in scheduler.process.log_tail())
        free_at = datetime.datetime.now(datetime.UTC)  # noqa: TID251 - compared with the server's
        client.patch(failover_scene.LEASE, {"spec": {"holderIdentity": ""}})
        scene.wait_terminating("low")
        scene.wait_nominated("high", "n1")
        scene.finish("low")
        scene.wait_bound("high")
    events = client.items(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")
    assert {event["reason"] for event in events} == {"FailedScheduling", "Preempted", "Scheduled"}
    times = [datetime.datetime.fromisoformat(event["eventTime"]) for event in events]
    assert min(times) > free_at
