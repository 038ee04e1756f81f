from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.realcluster import api_client, components, kube_scheduler, manifests

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

_SCHEDULING_LIMIT_SECONDS = 120.0


def test_created_nodes_are_ready(control_plane: control_planes.ControlPlane) -> None:
    """Nodes keep the zones, taints, resources and Ready condition that they are created with."""
    control_plane.client.create_nodes(manifests.fleet(15))
    nodes = control_plane.client.nodes()
    assert len(nodes) == 15
    assert {node["metadata"]["labels"][manifests.ZONE] for node in nodes} == set(manifests.ZONES)
    assert {node["status"]["conditions"][0]["status"] for node in nodes} == {"True"}
    gpu_nodes = [node for node in nodes if "nvidia.com/gpu" in node["status"]["allocatable"]]
    assert len(gpu_nodes) == 3
    assert all(node["spec"]["taints"][0]["key"] == "nvidia.com/gpu" for node in gpu_nodes)


def test_a_user_without_rights_is_refused(control_plane: control_planes.ControlPlane) -> None:
    """RBAC is on: a token without a role may not even list nodes."""
    with pytest.raises(api_client.ApiError) as refusal:
        control_plane.client_of("nobody").nodes()
    assert (refusal.value.status, refusal.value.reason) == (403, "Forbidden")


def test_a_granted_user_may_do_just_that(control_plane: control_planes.ControlPlane) -> None:
    """A grant opens what its rules say and nothing else."""
    control_plane.grant(
        "scheduler", [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]
    )
    client = control_plane.client_of("scheduler")
    control_plane.api_server.wait_until(lambda: _may_list_nodes(client), time_limit_seconds=60.0)
    assert client.nodes() == []
    with pytest.raises(api_client.ApiError, match="403"):
        client.pods()


def _may_list_nodes(client: api_client.ApiClient) -> bool:
    """Return whether the API server, which follows grants by a watch, knows of this one yet."""
    try:
        client.nodes()
    except api_client.ApiError:
        return False
    return True


def test_clear_takes_back_nodes_pods_and_grants(
    control_plane: control_planes.ControlPlane, namespace: str
) -> None:
    """What one test leaves behind does not reach the next."""
    control_plane.client.create_nodes([manifests.node("leftover")])
    control_plane.client.create_pods(namespace, [manifests.pod("leftover")])
    control_plane.grant("nobody", [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}])
    control_plane.clear()
    assert control_plane.client.nodes() == []
    assert control_plane.client.pods() == []
    with pytest.raises(api_client.ApiError, match="403"):
        control_plane.client_of("nobody").nodes()


def test_kubectl_reads_the_version_of_the_server(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """kubectl works with a written kubeconfig, and the server says which version it is."""
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "kubeconfig")
    kubectl = str(components.binary("kubectl"))
    done = subprocess.run(
        [kubectl, "--kubeconfig", str(kubeconfig), f"--cache-dir={tmp_path}", "version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"Server Version: {components.KUBERNETES_VERSION}" in done.stdout.splitlines()


def test_kube_scheduler_binds_a_pod(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """The real kube-scheduler places a pod on the one node whose taint it tolerates."""
    client = control_plane.client
    client.create_nodes(
        [
            manifests.node("tainted", taints=[("team", "a", "NoSchedule")]),
            manifests.node("other", taints=[("team", "b", "NoSchedule")]),
        ]
    )
    toleration = {"key": "team", "value": "a", "effect": "NoSchedule"}
    client.create_pods(namespace, [manifests.pod("web", spec={"tolerations": [toleration]})])
    with kube_scheduler.KubeScheduler(control_plane, tmp_path) as scheduler:
        scheduler.process.wait_until(
            lambda: "nodeName" in client.pod(namespace, "web")["spec"],
            time_limit_seconds=_SCHEDULING_LIMIT_SECONDS,
        )
    assert client.pod(namespace, "web")["spec"]["nodeName"] == "tainted"


def test_the_api_server_can_be_killed_and_started_again(
    control_plane: control_planes.ControlPlane,
) -> None:
    """After a restart the API server answers on its old address with its old objects."""
    control_plane.client.create_nodes([manifests.node("kept")])
    control_plane.api_server.kill()
    with pytest.raises(api_client.TransportError):
        control_plane.client.nodes()
    control_plane.api_server.start()
    control_plane.wait_ready()
    assert [node["metadata"]["name"] for node in control_plane.client.nodes()] == ["kept"]
