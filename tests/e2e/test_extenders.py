"""Pods about which `run` asks an HTTP extender, on a real API server."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from policysched.config import config_reading
from tests.e2e.scenes import extender_server, failover_scene, scheduler_process
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

RESOURCE = "example.com/rack-slot"


@pytest.fixture
def extender(
    control_plane: control_planes.ControlPlane,
) -> Iterator[extender_server.RackExtender]:
    """An extender for pods that request RESOURCE, and three nodes, two of them in racks."""
    racks = {
        "node-0": {},
        "node-1": {extender_server.LABEL: "1"},
        "node-2": {extender_server.LABEL: "2"},
    }
    control_plane.client.create_nodes(
        manifests.node(name, labels=labels, resources={"cpu": "4", "pods": "10"})
        for name, labels in racks.items()
    )
    with extender_server.RackExtender(control_plane.client) as made:
        yield made


@pytest.fixture
def config(extender: extender_server.RackExtender, tmp_path: pathlib.Path) -> pathlib.Path:
    """The configuration of a scheduler that asks the extender."""
    configured = {
        "urlPrefix": extender.url,
        **{f"{verb}Verb": verb for verb in ("filter", "prioritize", "bind")},
        "weight": 100,
        "managedResources": [{"name": RESOURCE, "ignoredByScheduler": True}],
    }
    file = tmp_path / "config.yaml"
    text = yaml.safe_dump({**config_reading.HEAD, "extenders": [configured]})
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def scheduler(
    control_plane: control_planes.ControlPlane, config: pathlib.Path, tmp_path: pathlib.Path
) -> Iterator[scheduler_process.PolicyScheduler]:
    """A scheduler that asks the extender."""
    flags = ("--config", str(config))
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as made:
        yield made


def _make_pod(name: str, *, asks: bool = True, **spec: Any) -> dict[str, Any]:
    requests = {"cpu": "1"}
    pod = manifests.pod(name, scheduler_name="policysched", requests=requests, spec=spec)
    if asks:
        resources = pod["spec"]["containers"][0]["resources"]
        resources["requests"] = {**requests, RESOURCE: "1"}
        resources["limits"] = {RESOURCE: "1"}
    return pod


def _is_on(
    control_plane: control_planes.ControlPlane, namespace: str, name: str, node: str
) -> bool:
    return bool(control_plane.client.pod(namespace, name)["spec"].get("nodeName") == node)


def test_an_extender_chooses_and_binds(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    extender: extender_server.RackExtender,
    scheduler: scheduler_process.PolicyScheduler,
) -> None:
    """It gets the whole objects; while it is broken, its pods wait and others are scheduled."""
    client = control_plane.client
    on = functools.partial(_is_on, control_plane, namespace)
    client.create_pods(namespace, [_make_pod("a", terminationGracePeriodSeconds=7)])
    scheduler.wait_until(lambda: on("a", "node-2"))
    (request,) = extender.list_bodies("filter")
    known = client.pod(namespace, "a")
    assert request["Pod"]["spec"] == {
        key: value for key, value in known["spec"].items() if key != "nodeName"
    }
    assert request["Pod"]["spec"]["terminationGracePeriodSeconds"] == 7
    assert not request["Pod"]["metadata"].keys() & {"managedFields", "kind"}
    assert {node["metadata"]["name"] for node in request["Nodes"]["items"]} == {
        f"node-{n}" for n in range(3)
    }
    (binding,) = extender.list_bodies("bind")
    assert binding["PodUID"] == known["metadata"]["uid"]

    extender.is_broken = True
    client.create_pods(namespace, [_make_pod("b"), _make_pod("other", asks=False)])
    scheduler.wait_until(lambda: bool(client.pod(namespace, "other")["spec"].get("nodeName")))

    def has_reason() -> bool:
        conditions = client.pod(namespace, "b")["status"].get("conditions") or [{}]
        message = f"failed filter with extender at URL {extender.url}/filter, code 500"
        seen = (conditions[0].get("reason"), conditions[0].get("message"))
        return seen == ("SchedulerError", message)

    scheduler.wait_until(has_reason)
    extender.is_broken = False
    scheduler.wait_until(lambda: on("b", "node-2"))


def test_pods_wait_until_the_extender_accepts_a_node(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    extender: extender_server.RackExtender,
    scheduler: scheduler_process.PolicyScheduler,
) -> None:
    """A change of a node retries them, also after the scheduler was killed."""
    client = control_plane.client
    for name in ("node-1", "node-2"):
        client.patch(
            f"/api/v1/nodes/{name}", {"metadata": {"labels": {extender_server.LABEL: None}}}
        )
    client.create_pods(namespace, [_make_pod("a")])

    def is_rejected() -> bool:
        conditions = client.pod(namespace, "a")["status"].get("conditions") or [{}]
        message: str = conditions[0].get("message", "")
        return message.startswith("0/3 nodes are available: 3 no rack.")

    scheduler.wait_until(is_rejected)
    scheduler.kill_and_start_again()
    asked = len(extender.requests)
    scheduler.wait_until(lambda: len(extender.requests) > asked)
    client.patch("/api/v1/nodes/node-0", {"metadata": {"labels": {extender_server.LABEL: "5"}}})
    scheduler.wait_until(lambda: _is_on(control_plane, namespace, "a", "node-0"))
    assert extender.list_bodies("bind")[-1]["Node"] == "node-0"


def test_a_leader_that_loses_the_lease_during_a_call_binds_nothing(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    extender: extender_server.RackExtender,
    config: pathlib.Path,
    tmp_path: pathlib.Path,
) -> None:
    """The extender is not asked to bind the pod until the process leads again."""
    client = control_plane.client
    flags = ("--config", str(config), *failover_scene.LeaseTimes().flags)
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        extender.may_answer.clear()
        client.create_pods(namespace, [_make_pod("a")])
        scheduler.wait_until(lambda: bool(extender.list_bodies("filter")))
        stolen = {"holderIdentity": "somebody", "leaseDurationSeconds": 3600}
        client.patch(failover_scene.LEASE, {"spec": stolen})
        scheduler.wait_until(lambda: "lost the lease" in scheduler.process.log_tail())
        extender.may_answer.set()
        scheduler.wait_until(lambda: "standing by" in scheduler.process.log_tail())
        assert not extender.list_bodies("bind")
        client.patch(failover_scene.LEASE, {"spec": {"holderIdentity": ""}})
        scheduler.wait_until(lambda: _is_on(control_plane, namespace, "a", "node-2"))
        assert len(extender.list_bodies("bind")) == 1
