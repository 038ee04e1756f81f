"""Rules about devices on a real API server: some stay free, and few whole devices are broken up."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.scenes import claimed_devices, scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import api_client

pytestmark = pytest.mark.e2e

POLICY = """
policy training {
  for pods
  reject when freeDevices(part) < 2 as reserve
  score takenDevices(whole) prefer low weight 100 as keep-whole
}
"""
NODES = ("node-0", "node-1")
IN_USE = (
    *(("node-0", "gpu-0-part-a"), ("node-0", "gpu-1-part-a")),
    *(("node-1", "gpu-0-part-a"), ("node-1", "gpu-0-part-b")),
)
DRIVER = claimed_devices.DRIVER


def _publish_partitions(client: api_client.ApiClient, node: str) -> None:
    """Publish two GPUs, each of which is one whole device or two parts."""
    cores = {"value": "2"}
    shared = [{"name": f"gpu-{n}", "counters": {"cores": cores}} for n in range(2)]
    devices = [_make_device(n, name) for n in range(2) for name in ("part-a", "part-b", "whole")]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 2}
    for name, content in (
        ("counters", {"sharedCounters": shared}),
        ("devices", {"devices": devices}),
    ):
        spec = {"driver": DRIVER, "nodeName": node, "pool": pool, **content}
        client.create(
            f"{claimed_devices.API}/resourceslices",
            {"metadata": {"name": f"{node}-{name}"}, "spec": spec},
        )


def _make_device(gpu: int, name: str) -> dict[str, Any]:
    kind = name.partition("-")[0]
    used = {"cores": {"value": "2" if kind == "whole" else "1"}}
    return {
        "name": f"gpu-{gpu}-{name}",
        "attributes": {"kind": {"string": kind}},
        "consumesCounters": [{"counterSet": f"gpu-{gpu}", "counters": used}],
    }


def _create_class(client: api_client.ApiClient, kind: str) -> None:
    expression = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].kind == '{kind}'"
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    client.create(
        f"{claimed_devices.API}/deviceclasses", {"metadata": {"name": kind}, "spec": spec}
    )


def _is_bound(devices: claimed_devices.ClaimedDevices, pod: str) -> bool:
    return bool(devices.nodes_of([pod]))


@pytest.fixture
def devices(
    control_plane: control_planes.ControlPlane, namespace: str
) -> claimed_devices.ClaimedDevices:
    """Two nodes with two GPUs each; `node-0` has both in use by half, `node-1` one of them.

    Scores of amounts prefer `node-1`, which is larger.
    """
    client = control_plane.client
    client.create_nodes(
        manifests.node(name, resources={"cpu": cpu})
        for name, cpu in zip(NODES, ("1", "64"), strict=True)
    )
    made = claimed_devices.ClaimedDevices(client, namespace)
    for kind in ("part", "whole"):
        _create_class(client, kind)
    for name in NODES:
        _publish_partitions(client, name)
    for node, device in IN_USE:
        made.create_claim(f"{node}-{device}", "part")
        made.allocate(f"{node}-{device}", node, device)
    return made


def test_whole_devices_are_kept_and_a_freed_device_wakes_the_pod(
    control_plane: control_planes.ControlPlane,
    devices: claimed_devices.ClaimedDevices,
    tmp_path: pathlib.Path,
) -> None:
    """No whole GPU is broken up while there is a part; pods wait until two parts are free."""
    (policies := tmp_path / "policies").mkdir()
    (policies / "training.policy").write_text(POLICY)
    flags = ("--policies", str(policies))
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        for pod, node in (("first", "node-0"), ("second", "node-1")):
            devices.create_claim(pod, "part")
            devices.create_pods([pod], pod)
            scheduler.wait_until(functools.partial(_is_bound, devices, pod))
            assert devices.nodes_of([pod]) == {pod: node}
        assert devices.devices_of_pods()["first"] == "node-0/gpu-0-part-b"

        devices.create_claim("waits", "part")
        devices.create_pods(["waits"], "waits")
        scheduler.wait_until(lambda: bool(devices.messages("waits")))
        for n in range(20):
            devices.create_claim(f"other-{n}", "part")
            for node in NODES:
                changed = {"metadata": {"labels": {"seen": str(n)}}}
                path = f"{claimed_devices.API}/resourceslices/{node}-devices"
                control_plane.client.patch(path, changed)
        devices.create_claim("unwanted", "part")
        devices.allocate("unwanted", "node-1", "gpu-1-part-b")
        (note,) = devices.messages("waits")
        assert "2 node(s) rejected by policy training/reserve" in note

        devices.end_allocation("node-0-gpu-0-part-a")
        scheduler.wait_until(lambda: devices.nodes_of(["waits"]) == {"waits": "node-0"})
