"""Pods with claims on devices, with the real resource claim controller; the tests play the driver.

At no time, a device is allocated to two claims.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from tests.e2e.scenes import claimed_devices, device_watch, scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import controller_manager, faulty_proxy, manifests

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.e2e

NO_DEVICES = "cannot allocate all claims"
MAX_USERS = 256
"""Reservations of one claim that the API server permits."""


@pytest.fixture(scope="module")
def claim_controller(
    shared_control_plane: control_planes.ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[controller_manager.ControllerManager]:
    """The controller that creates claims from templates, and ends allocations without users."""
    flags = ("--controllers=resourceclaim-controller",)
    folder = tmp_path_factory.mktemp("claim-controller")
    with controller_manager.ControllerManager(shared_control_plane, folder, flags=flags) as made:
        yield made


@pytest.fixture(scope="module")
def scheduler(
    shared_control_plane: control_planes.ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[scheduler_process.PolicyScheduler]:
    """A scheduler at work."""
    folder = tmp_path_factory.mktemp("scheduler")
    with scheduler_process.PolicyScheduler(shared_control_plane, folder) as made:
        yield made


@pytest.fixture
def devices(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    claim_controller: controller_manager.ControllerManager,
) -> claimed_devices.ClaimedDevices:
    """Three nodes, on which devices can be published."""
    del claim_controller  # is at work
    control_plane.client.create_nodes(
        manifests.node(f"node-{n}", resources={"pods": "500"}) for n in range(3)
    )
    return claimed_devices.ClaimedDevices(control_plane.client, namespace)


@pytest.fixture(autouse=True)
def watch(control_plane: control_planes.ControlPlane) -> Iterator[device_watch.DeviceWatch]:
    """Fails a test in which two claims have one device at the same time."""
    with device_watch.DeviceWatch(control_plane.client) as made:
        yield made
    assert made.owners.conflicts == []
    assert made.owners.allocations > 0


def _number_pods(count: int) -> list[str]:
    return [f"pod-{n}" for n in range(count)]


def _count_bound(devices: claimed_devices.ClaimedDevices, pods: Sequence[str]) -> int:
    return len(devices.nodes_of(pods))


def _is_told(devices: claimed_devices.ClaimedDevices, pod: str, text: str) -> bool:
    return any(text in message for message in devices.messages(pod))


def test_pods_with_templates_wait_for_devices(
    devices: claimed_devices.ClaimedDevices, scheduler: scheduler_process.PolicyScheduler
) -> None:
    """Each pod gets a device of its own on its node; the next free one goes to a waiting pod."""
    for n in range(3):
        devices.publish(f"node-{n}", ["gpu-0", "gpu-1"])
    pods = _number_pods(8)
    devices.create_pods(pods)
    scheduler.wait_until(lambda: _count_bound(devices, pods) == 6)
    waiting = sorted(set(pods) - set(devices.nodes_of(pods)))
    for pod in waiting:
        scheduler.wait_until(functools.partial(_is_told, devices, pod, f"3 {NO_DEVICES}"))
    owned = devices.devices_of_pods()
    assert {pod: device.partition("/")[0] for pod, device in owned.items()} == devices.nodes_of(
        pods
    )
    assert len(set(owned.values())) == 6
    ended = next(iter(owned))
    devices.delete_pod(ended)
    scheduler.wait_until(lambda: _count_bound(devices, waiting) == 1)
    (lucky,) = devices.nodes_of(waiting)
    assert devices.devices_of_pods()[lucky] == owned[ended]


def test_pods_share_a_claim(
    devices: claimed_devices.ClaimedDevices, scheduler: scheduler_process.PolicyScheduler
) -> None:
    """All go to the node of the device; when all have ended, the claim has no device any more."""
    devices.publish("node-1", ["gpu-0"])
    devices.create_claim("shared")
    pods = _number_pods(4)
    created = devices.create_pods(pods, "shared")
    scheduler.wait_until(lambda: _count_bound(devices, pods) == len(pods))
    assert set(devices.nodes_of(pods).values()) == {"node-1"}
    claim = devices.claim("shared")
    assert claim["metadata"]["finalizers"] == [claimed_devices.FINALIZER]
    assert {user["uid"] for user in claim["status"]["reservedFor"]} == {
        pod["metadata"]["uid"] for pod in created
    }
    for pod in pods:
        devices.delete_pod(pod)
    scheduler.wait_until(lambda: "allocation" not in devices.claim("shared").get("status", {}))
    devices.create_pods(["later"])
    scheduler.wait_until(lambda: devices.nodes_of(["later"]) == {"later": "node-1"})


def test_one_pod_too_many_for_a_claim(
    devices: claimed_devices.ClaimedDevices, scheduler: scheduler_process.PolicyScheduler
) -> None:
    """The pod is tried again until another has ended, and does not block other pods."""
    devices.publish("node-0", ["gpu-0", "gpu-1"])
    users = devices.create_pods(_number_pods(MAX_USERS - 1), "shared", nodeName="node-0")
    devices.create_claim("shared")
    devices.allocate("shared", "node-0", "gpu-0", users)
    devices.create_pods(["last"], "shared")
    scheduler.wait_until(lambda: devices.nodes_of(["last"]) == {"last": "node-0"})
    devices.create_pods(["too-many"], "shared")
    problem = "shared has 256 reservations, the most that the API permits"
    scheduler.wait_until(lambda: _is_told(devices, "too-many", problem))
    devices.create_pods(["other"])
    scheduler.wait_until(lambda: _count_bound(devices, ["other"]) == 1)
    assert _count_bound(devices, ["too-many"]) == 0
    devices.delete_pod("pod-0")
    scheduler.wait_until(lambda: _count_bound(devices, ["too-many"]) == 1)
    assert len(devices.claim("shared")["status"]["reservedFor"]) == MAX_USERS


def test_an_allocation_where_the_pod_cannot_run(
    devices: claimed_devices.ClaimedDevices, scheduler: scheduler_process.PolicyScheduler
) -> None:
    """It is deallocated, because no pod uses it; the claim gets a device on a node that fits."""
    for n in range(2):
        devices.publish(f"node-{n}", ["gpu-0"])
    devices.create_claim("elsewhere")
    devices.allocate("elsewhere", "node-0", "gpu-0")
    selector = {manifests.HOSTNAME: "node-1"}
    devices.create_pods(["choosy"], "elsewhere", nodeSelector=selector)
    scheduler.wait_until(lambda: devices.nodes_of(["choosy"]) == {"choosy": "node-1"})
    assert devices.devices_of_pods() == {"choosy": "node-1/gpu-0"}
    devices.create_pods(["next"])
    scheduler.wait_until(lambda: devices.nodes_of(["next"]) == {"next": "node-0"})


def test_pods_race_for_the_last_device(
    devices: claimed_devices.ClaimedDevices, scheduler: scheduler_process.PolicyScheduler
) -> None:
    """One pod gets it, and when that ends, one of the others; claims here outlive their pods."""
    devices.publish("node-2", ["gpu-0"])
    left = _number_pods(4)
    for pod in left:
        devices.create_claim(pod)
        devices.create_pods([pod], pod)
    while left:
        scheduler.wait_until(lambda: _count_bound(devices, left) == 1)
        (winner,) = devices.nodes_of(left)
        assert devices.devices_of_pods() == {winner: "node-2/gpu-0"}
        devices.delete_pod(winner)
        left.remove(winner)


def test_a_driver_replaces_its_slices(
    devices: claimed_devices.ClaimedDevices, scheduler: scheduler_process.PolicyScheduler
) -> None:
    """Devices in use stay in use in a new generation; one that is incomplete is not used."""
    devices.publish("node-0", ["gpu-0", "gpu-1"])
    pods = _number_pods(12)
    for generation, name in enumerate(pods[:8], start=2):  # while pods arrive
        devices.create_pods([name])
        devices.publish(
            "node-0", [f"gpu-{n}" for n in range(generation - 1)], generation=generation
        )
    scheduler.wait_until(lambda: _count_bound(devices, pods) == 8)
    devices.publish("node-0", ["gpu-8", "gpu-0"], generation=20, slice_count=2)
    devices.create_pods(pods[8:])
    scheduler.wait_until(lambda: _is_told(devices, pods[8], NO_DEVICES))
    assert _count_bound(devices, pods) == 8
    rest = [f"gpu-{n}" for n in (1, 2, 3, 9, 10)]
    devices.publish("node-0", rest, generation=20, name="more", slice_count=2)
    scheduler.wait_until(lambda: _count_bound(devices, pods) == 11)
    owned = set(devices.devices_of_pods().values())
    assert owned == {f"node-0/gpu-{n}" for n in range(11)}


def test_it_is_killed_between_allocation_and_binding(
    control_plane: control_planes.ControlPlane,
    devices: claimed_devices.ClaimedDevices,
    tmp_path: pathlib.Path,
) -> None:
    """The next process finds what was written, gives no device twice, and runs the pods."""
    devices.scheduler_name = "killed"
    devices.publish("node-0", ["gpu-0", "gpu-1", "gpu-2"])
    pods = ["protected", "allocated", "reserved", "waiting"]
    flags = ("--scheduler-name", devices.scheduler_name)
    with (
        faulty_proxy.FaultyProxy(control_plane) as proxy,
        scheduler_process.PolicyScheduler(
            control_plane, tmp_path, server=proxy.server, flags=flags
        ) as killed,
    ):
        proxy.plan = _stop_halfway
        devices.create_pods(pods[:3])
        killed.wait_until(lambda: proxy.given["HOLD"] >= 2 and proxy.given["delay"] >= 1)
        devices.create_pods(pods[3:])
        killed.wait_until(lambda: _is_told(devices, "waiting", NO_DEVICES))
        written = devices.devices_of_pods()
        assert sorted(written) == ["allocated", "reserved"]
        proxy.plan = faulty_proxy.healthy
        killed.kill_and_start_again()
        killed.wait_until(lambda: _count_bound(devices, pods) == 3)
        assert devices.devices_of_pods().items() >= written.items()
        devices.delete_pod("reserved")
        killed.wait_until(lambda: _count_bound(devices, pods) == 3)
    assert len(set(devices.devices_of_pods().values())) == 3


def _stop_halfway(call: faulty_proxy.Call) -> faulty_proxy.Fault:
    """Let the writes for three pods end at different points, as if the scheduler never went on.

    For the first, the finalizer of its claim is written, for the second also the allocation; the
    third is not bound after both.
    """
    unanswered = faulty_proxy.Fault(faulty_proxy.Harm.HOLD)
    is_status = call.path.endswith("/status")
    if call.method == "PATCH" and "/resourceclaims/protected-" in call.path:
        return unanswered
    if call.method == "PATCH" and "/resourceclaims/allocated-" in call.path and is_status:
        return unanswered
    if call.is_binding and "/pods/reserved/" in call.path:
        return faulty_proxy.Fault(delay_seconds=600.0)
    return faulty_proxy.healthy(call)
