"""`policysched run` without all rights, against a real API server with RBAC."""

from __future__ import annotations

import pathlib

import pytest

from tests.e2e.scenes import scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests

READ = ["get", "list", "watch"]
RULES = [
    {"apiGroups": [""], "resources": ["nodes", "pods", "namespaces"], "verbs": READ},
    {"apiGroups": ["", "apps"], "resources": ["services", "replicationcontrollers"], "verbs": READ},
    {"apiGroups": ["apps"], "resources": ["replicasets", "statefulsets"], "verbs": READ},
    {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": READ},
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims", "resourceslices", "deviceclasses"],
        "verbs": READ,
    },
    {"apiGroups": [""], "resources": ["bindings", "pods/binding"], "verbs": ["create"]},
]
"""What pods without volumes need: nothing about storage is in it."""

CONFIG = """\
apiVersion: policysched.io/v1alpha1
kind: PolicySchedulerConfiguration
profiles:
- schedulerName: policysched
  disabled: [VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone]
"""


def _node_of(plane: control_planes.ControlPlane, namespace: str) -> str:
    node: str = plane.client.pod(namespace, "a")["spec"].get("nodeName", "")
    return node


@pytest.fixture
def waiting(control_plane: control_planes.ControlPlane, namespace: str) -> None:
    """Create a node, a pod without volumes, and a user with few rights."""
    control_plane.grant("scheduler", RULES)
    control_plane.client.create_nodes([manifests.node("node-1")])
    pod = manifests.pod("a", scheduler_name="policysched")
    control_plane.client.create_pods(namespace, [pod])


@pytest.mark.e2e
@pytest.mark.usefixtures("waiting")
def test_a_kind_that_is_refused_holds_up_everything_and_is_named(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Claims that cannot be seen would be claims that do not exist; once granted, all goes on."""
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, user="scheduler") as scheduler:
        told = (
            "no pod is scheduled before csistoragecapacities are listed (needed by VolumeBinding)"
        )
        scheduler.wait_until(lambda: told in scheduler.log)
        (line,) = [line for line in scheduler.log.splitlines() if told in line][:1]
        assert 'cannot list resource "csistoragecapacities" in API group "storage.k8s.io"' in line
        assert "grant the verbs list and watch on csistoragecapacities" in line
        assert _node_of(control_plane, namespace) == ""
        for role in ("system:kube-scheduler", "system:volume-scheduler"):
            control_plane.give_role("scheduler", role)
        scheduler.wait_until(lambda: _node_of(control_plane, namespace) == "node-1")


@pytest.mark.e2e
@pytest.mark.usefixtures("waiting")
def test_without_volume_plugins_no_rights_on_storage_are_needed(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Nothing that is decided depends on them."""
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG, encoding="utf-8")
    flags = ("--config", str(file))
    with scheduler_process.PolicyScheduler(
        control_plane, tmp_path, flags=flags, user="scheduler"
    ) as scheduler:
        scheduler.wait_until(lambda: _node_of(control_plane, namespace) == "node-1")
