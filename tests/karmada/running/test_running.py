"""`karmada run` alone: killed, relieved, asked for its pages, given what makes no sense."""

from __future__ import annotations

import contextlib
import signal
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

import policysched
from tests.karmada import twins
from tests.realcluster import api_client, karmada, process

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

COUNT = 150
LEASES = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases"
LEASE = f"{LEASES}/second"
ELECTION = (
    "--leader-elect=true",
    "--leader-elect-resource-name=second",
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)


def _backlog(client: api_client.ApiClient) -> None:
    for number in range(10):
        karmada.create(client, twins.cluster(f"member{number}", cpu=str(50 + number)))
    bindings = [
        twins.of(twins.binding(f"app{number}", twins.dynamic(), replicas=5), twins.OURS)
        for number in range(COUNT)
    ]
    client.create_many(f"{karmada.WORK}/namespaces/default/resourcebindings", bindings)


def _placed(client: api_client.ApiClient) -> list[dict[str, Any]]:
    return [one for one in client.items(karmada.BINDINGS) if one["spec"].get("clusters")]


def _are_finished(client: api_client.ApiClient) -> bool:
    """Say whether all are placed, and say so."""
    finished = [
        one
        for one in client.items(karmada.BINDINGS)
        if one.get("status", {}).get("schedulerObservedGeneration") == one["metadata"]["generation"]
        and one["status"].get("conditions")
    ]
    return len(finished) == COUNT


def _violations(client: api_client.ApiClient) -> list[str]:
    """Return bindings that were not placed exactly once, to the last replica, and told so."""
    wrong = []
    for one in client.items(karmada.BINDINGS):
        replicas = sum(target["replicas"] for target in one["spec"].get("clusters", []))
        (condition,) = one["status"]["conditions"]
        # The first generation is what was created, each further one is a write of clusters.
        if replicas != 5 or one["metadata"]["generation"] != 2 or condition["status"] != "True":
            wrong.append(f"{one['metadata']['name']}: {one}")
    return wrong


def test_nothing_is_lost_or_placed_twice_when_it_is_killed(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Killed three times midway of a backlog, it places each binding once, with its status."""
    client = karmada_plane.client
    _backlog(client)
    with twins.ours(karmada_plane, tmp_path, ["--kube-api-qps=150"]) as scheduler:
        for share in (0.1, 0.4, 0.7):
            scheduler.wait_until(lambda: len(_placed(client)) >= share * COUNT)  # noqa: B023 - it is called in this round
            scheduler.kill_and_start_again()
        scheduler.wait_until(lambda: _are_finished(client))
    assert _violations(client) == []


def test_another_one_takes_over(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """One of two leads; when it is killed the other one goes on where it was."""
    client = karmada_plane.client
    with contextlib.suppress(api_client.ApiError):  # it is there from a test before
        client.create_namespace("karmada-system")
    with contextlib.suppress(api_client.ApiError):  # there is none
        client.delete(LEASE)
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    first, second = (
        twins.ours(karmada_plane, folder, [*ELECTION, f"--kube-api-qps={qps}"])
        for folder, qps in zip(folders, (30, 100), strict=True)  # the first one cannot finish
    )
    with first:
        first.wait_until(lambda: "leading by" in first.log)
        with second:
            second.wait_until(lambda: "standing by" in second.log)
            _backlog(client)
            first.wait_until(lambda: len(_placed(client)) >= COUNT // 10)
            first.process.kill()
            assert not _are_finished(client)
            second.wait_until(lambda: _are_finished(client))
            holder = client.get(LEASE)["spec"]["holderIdentity"]
            assert f"leading by the lease karmada-system/second as {holder}" in second.log
    assert _violations(client) == []


def test_it_tells_of_itself(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Health and metrics have Karmada's paths and names, at one address or at two."""
    client = karmada_plane.client
    karmada.create(client, twins.cluster("member1"))
    karmada.create(client, twins.of(twins.binding("app", {}, replicas=2), twins.OURS))
    address = f"127.0.0.1:{process.free_port()}"
    flags = [f"--metrics-bind-address={address}", f"--health-probe-bind-address={address}"]
    with twins.ours(karmada_plane, tmp_path, flags) as scheduler:
        scheduler.wait_until(lambda: len(_placed(client)) == 1 and _page(address, "/readyz") != "")
        assert _page(address, "/healthz") == "ok"
        assert _page(address, "/readyz") == "ok"
        said = 'karmada_scheduler_schedule_attempts_total{result="scheduled",schedule_type='
        scheduler.wait_until(lambda: f'{said}"ReconcileSchedule"}}' in _page(address, "/metrics"))
        metrics = _page(address, "/metrics")
    for name in (
        'karmada_scheduler_e2e_scheduling_duration_seconds_bucket{le="16.384",',
        'karmada_scheduler_scheduling_algorithm_duration_seconds_bucket{le="0.001",schedule_step=',
        'karmada_scheduler_queue_incoming_bindings_total{event="BindingAdd"} 1.0',
        'karmada_scheduler_framework_extension_point_duration_seconds_bucket{extension_point="Score',
        'karmada_scheduler_plugin_execution_duration_seconds_bucket{extension_point="Filter",le="1e',
        'plugin="TaintToleration",result="Success"}',
        'karmada_build_info{build_date="",compiler="CPython",',
        f'policysched_build_info{{version="{policysched.__version__}"}} 1.0',
    ):
        assert name in metrics


def _page(address: str, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=60) as answer:
            return str(answer.read().decode())
    except OSError:  # it does not listen yet
        return ""


def test_what_cannot_be_read_stops_nobody_else(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Clusters that cannot be read are told of in the log, and left out."""
    client = karmada_plane.client
    karmada.create(client, twins.cluster("member1"))
    spoiled = twins.cluster("spoiled")
    spoiled["status"]["resourceSummary"]["allocatable"]["cpu"] = "much"
    karmada.create(client, spoiled)
    strange = twins.cluster("strange")
    strange["spec"]["taints"] = "all of them"
    karmada.create(client, strange)
    for name in ("good", "better"):
        karmada.create(client, twins.of(twins.binding(name, {}, replicas=2), twins.OURS))
    with twins.ours(karmada_plane, tmp_path) as scheduler:
        scheduler.wait_until(lambda: len(_placed(client)) == 2)
        targets = {target["name"] for one in _placed(client) for target in one["spec"]["clusters"]}
        assert targets == {"member1"}
        assert "cluster spoiled is invalid" in scheduler.log
        assert "skipping an object that cannot be decoded" in scheduler.log


def test_it_ends_when_asked(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """SIGTERM: what was begun is written, the Lease is given back, the exit code is 0."""
    client = karmada_plane.client
    with contextlib.suppress(api_client.ApiError):  # it is there from a test before
        client.create_namespace("karmada-system")
    with twins.ours(karmada_plane, tmp_path, ELECTION) as scheduler:
        scheduler.wait_until(lambda: "synced" in scheduler.log and "leading by" in scheduler.log)
        scheduler.process.signal(signal.SIGTERM)
        assert scheduler.process.wait(60.0) == 0
        assert "released the lease karmada-system/second" in scheduler.log
    assert client.get(LEASE)["spec"]["holderIdentity"] == ""
