"""Pods with claims on a real API server, whose volume controllers the tests play."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from tests.e2e.scenes import scheduler_process, volume_controllers
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

LOCAL, NETWORK = "local", "network"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
TIMEOUT_SECONDS = 3


@pytest.fixture
def volumes(
    control_plane: control_planes.ControlPlane, namespace: str
) -> volume_controllers.Volumes:
    """A class of local volumes, a class whose volumes are made, and three nodes."""
    found = volume_controllers.Volumes(control_plane.client, namespace)
    control_plane.client.create_nodes(manifests.node(f"node-{n}") for n in range(3))
    found.create_class(LOCAL, "kubernetes.io/no-provisioner")
    found.create_class(NETWORK)
    return found


@pytest.fixture
def scheduler(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> Iterator[scheduler_process.PolicyScheduler]:
    """A scheduler at work that waits for claims for a short time only."""
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: policysched.io/v1alpha1\n"
        "kind: PolicySchedulerConfiguration\n"
        "profiles:\n"
        "- schedulerName: policysched\n"
        "  plugins:\n"
        f"  - {{name: VolumeBinding, args: {{bindTimeoutSeconds: {TIMEOUT_SECONDS}}}}}\n",
        encoding="utf-8",
    )
    flags = ("--config", str(config))
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as running:
        yield running


@pytest.fixture
def patient_scheduler(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> Iterator[scheduler_process.PolicyScheduler]:
    """A scheduler at work that waits for claims as long as it does by default."""
    with scheduler_process.PolicyScheduler(control_plane, tmp_path) as running:
        yield running


def test_a_volume_is_made_where_the_pod_shall_run(
    volumes: volume_controllers.Volumes, patient_scheduler: scheduler_process.PolicyScheduler
) -> None:
    """The claim gets the node, and the pod is bound there as soon as the volume is."""
    volumes.create_pod("web", NETWORK)
    patient_scheduler.wait_until(lambda: volumes.selected_node("web") != "")
    node = volumes.selected_node("web")
    assert volumes.node_of("web") == ""
    volumes.provision("web")
    patient_scheduler.wait_until(lambda: volumes.node_of("web") != "")
    assert volumes.node_of("web") == node
    assert volumes.selected_node("web") == node


def test_a_local_volume_is_promised_to_its_claim(
    volumes: volume_controllers.Volumes, patient_scheduler: scheduler_process.PolicyScheduler
) -> None:
    """The smallest local volume that is large enough gets the claimRef, then the pod its node."""
    for name, node, size in (("small", 0, "1Gi"), ("fits", 1, "6Gi"), ("large", 2, "9Gi")):
        volumes.create_local(name, LOCAL, f"node-{node}", size)
    # Of nodes with volumes of different sizes the scores choose one; so only one may be chosen.
    volumes.take("large", "somebody")
    volumes.create_pod("web", LOCAL)
    patient_scheduler.wait_until(lambda: volumes.owner("fits") != "")
    promised = volumes.volume("fits")
    claim = volumes.claim("web")
    assert promised["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
    assert promised["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
    assert promised["spec"]["hostPath"] == {"path": "/mnt", "type": ""}
    assert volumes.node_of("web") == ""
    volumes.bind("fits")
    patient_scheduler.wait_until(lambda: volumes.node_of("web") != "")
    assert volumes.node_of("web") == "node-1"
    assert volumes.owner("small") == ""


def test_a_provisioner_that_gives_up(
    volumes: volume_controllers.Volumes, patient_scheduler: scheduler_process.PolicyScheduler
) -> None:
    """The pod is told of and tried again; what the provisioner then makes is used."""
    volumes.create_pod("web", NETWORK)
    patient_scheduler.wait_until(lambda: volumes.selected_node("web") != "")
    volumes.give_up("web")
    problem = 'binding volumes: provisioning failed for PVC "web"'
    told = f'running PreBind plugin "VolumeBinding": {problem}'
    patient_scheduler.wait_until(lambda: told in volumes.notes("web"))
    patient_scheduler.wait_until(lambda: volumes.selected_node("web") != "")
    volumes.provision("web")
    patient_scheduler.wait_until(lambda: volumes.node_of("web") != "")
    assert volumes.node_of("web") == volumes.selected_node("web")


def test_waiting_has_an_end(
    volumes: volume_controllers.Volumes, scheduler: scheduler_process.PolicyScheduler
) -> None:
    """A pod whose volume is not bound in time is tried again, and still has its volume."""
    volumes.create_local("disk", LOCAL, "node-1")
    volumes.create_pod("web", LOCAL)
    problem = "binding volumes: context deadline exceeded"
    told = f'running PreBind plugin "VolumeBinding": {problem}'
    scheduler.wait_until(lambda: told in volumes.notes("web"))
    assert volumes.owner("disk") == "web"
    volumes.bind("disk")
    scheduler.wait_until(lambda: volumes.node_of("web") == "node-1")


def test_what_cannot_be_written_is_given_to_others(
    volumes: volume_controllers.Volumes, patient_scheduler: scheduler_process.PolicyScheduler
) -> None:
    """A volume whose promise the API server refuses is free again for the next pod."""
    volumes.create_local("disk", LOCAL, "node-1")
    with volumes.forbidding("first"):
        patient_scheduler.wait_until(lambda: not volumes.may_promise("disk", "first"))
        volumes.create_pod("first", LOCAL)
        patient_scheduler.wait_until(
            lambda: any(volume_controllers.FORBIDDEN in note for note in volumes.notes("first"))
        )
        volumes.create_pod("second", LOCAL)
        patient_scheduler.wait_until(lambda: volumes.owner("disk") == "second")
    volumes.bind("disk")
    patient_scheduler.wait_until(lambda: volumes.node_of("second") == "node-1")
    patient_scheduler.wait_until(lambda: any(NO_VOLUME in note for note in volumes.notes("first")))


def test_pods_race_for_one_volume(
    volumes: volume_controllers.Volumes, patient_scheduler: scheduler_process.PolicyScheduler
) -> None:
    """One pod gets it, the others are told why not; the next volume is for one of them."""
    pods = [f"web-{number}" for number in range(6)]
    for name in pods:
        volumes.create_pod(name, LOCAL)
    for number, volume in enumerate(("disk-1", "disk-2"), start=1):
        volumes.create_local(volume, LOCAL, "node-1")
        patient_scheduler.wait_until(functools.partial(_is_promised, volumes, volume))
        volumes.bind(volume)
        patient_scheduler.wait_until(functools.partial(_are_bound, volumes, pods, number))
    waiting = [name for name in pods if not volumes.node_of(name)]
    assert {volumes.owner("disk-1"), volumes.owner("disk-2")} == set(pods) - set(waiting)
    for name in waiting:
        assert any(NO_VOLUME in note for note in volumes.notes(name))


def test_a_volume_that_somebody_else_takes(
    volumes: volume_controllers.Volumes, patient_scheduler: scheduler_process.PolicyScheduler
) -> None:
    """While others take volumes too, nobody loses one; pods that come too late get another one."""
    names = [f"{number}" for number in range(12)]
    for name in names:
        volumes.create_local(f"disk-{name}", LOCAL, f"node-{int(name) % 3}")
        volumes.create_pod(f"web-{name}", LOCAL)
    taken = {f"disk-{name}" for name in names if volumes.take(f"disk-{name}", "somebody")}
    left = {f"disk-{name}" for name in names} - taken
    patient_scheduler.wait_until(lambda: all(volumes.owner(name) for name in left))
    for name in left:
        volumes.bind(name)
    pods = [f"web-{name}" for name in names]
    patient_scheduler.wait_until(lambda: _are_bound(volumes, pods, len(left)))
    assert all(volumes.owner(name) == "somebody" for name in taken)
    owners = {volumes.owner(name) for name in left}
    assert owners == {pod for pod in pods if volumes.node_of(pod)}


def _is_promised(volumes: volume_controllers.Volumes, volume: str) -> bool:
    return volumes.owner(volume) != ""


def _are_bound(volumes: volume_controllers.Volumes, pods: list[str], count: int) -> bool:
    return sum(volumes.node_of(pod) != "" for pod in pods) == count
