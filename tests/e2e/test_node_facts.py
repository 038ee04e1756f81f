"""Conditions, annotations and kubelet versions of nodes on a real API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.scenes import scheduler_process
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import api_client
    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

POLICY = """
policy web {
  for pods
  nodeAffinity required condition(DiskPressure) != True and condition(GpuHealthy) = True as healthy
  nodeAffinity required nodeInfo(kubeletVersion) >= 1.30 as recent-kubelet
  nodeAffinity required annotation(example.com/rack) Exists as in-a-rack
  reject when annotation("example.com/celsius") > 35 missing allow as heat
  score annotation("example.com/celsius") prefer low missing score 0 weight 50 as cool
}
"""
GOOD = {"GpuHealthy": "True", "DiskPressure": "False"}
RACK = {"example.com/rack": "r1"}


def _node(
    name: str, annotations: dict[str, str], conditions: dict[str, str], version: str
) -> dict[str, Any]:
    node = manifests.node(name)
    node["metadata"]["annotations"] = annotations
    node["status"]["conditions"] += [_condition(*each) for each in conditions.items()]
    node["status"]["nodeInfo"] = _versions(version)
    return node


def _condition(kind: str, status: str, beat: str = "2026-01-05T12:00:00Z") -> dict[str, str]:
    return {"type": kind, "status": status, "lastHeartbeatTime": beat}


def _versions(kubelet: str) -> dict[str, str]:
    fields = (
        *("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "operatingSystem"),
        *("containerRuntimeVersion", "kubeProxyVersion", "architecture"),
    )
    return {**dict.fromkeys(fields, ""), "kubeletVersion": kubelet}


def _pod(name: str) -> dict[str, Any]:
    return manifests.pod(name, requests={"cpu": "1"}, scheduler_name="policysched")


def _is_on(client: api_client.ApiClient, namespace: str, name: str, node: str) -> bool:
    return bool(client.pod(namespace, name)["spec"].get("nodeName") == node)


def _events(client: api_client.ApiClient, namespace: str, name: str) -> list[dict[str, Any]]:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    return [one for one in client.items(path) if one["regarding"]["name"] == name]


def test_pods_follow_what_nodes_report(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """A healthy node with a recent kubelet gets the pod; another pod waits until there is one.

    Of a hundred heartbeats and other annotations, none leads to an attempt.
    """
    client = control_plane.client
    warm, hot = RACK | {"example.com/celsius": "31.5"}, RACK | {"example.com/celsius": "36"}
    cool = RACK | {"example.com/celsius": "20"}
    client.create_nodes(
        [
            _node("full", cool, GOOD | {"DiskPressure": "True"}, "v1.31.0"),
            _node("old", cool, GOOD, "v1.29.9-gke.100"),
            _node("preview", cool, GOOD, "v1.30.0-rc.1"),
            _node("nowhere", {"example.com/celsius": "20"}, GOOD, "v1.30.2"),
            _node("hot", hot, GOOD, "v1.30.2"),
            _node("warm", warm, GOOD, "v1.30.2-eks-ae9a62a"),
            _node("good", cool, GOOD, "v1.30.2-gke.1587000"),
        ]
    )
    (policies := tmp_path / "policies").mkdir()
    (policies / "web.policy").write_text(POLICY)
    client.create_pods(namespace, [_pod("web")])
    flags = ("--policies", str(policies))
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        scheduler.wait_until(lambda: _is_on(client, namespace, "web", "good"))
        for gone in ("good", "warm"):
            client.delete(f"/api/v1/nodes/{gone}")
        client.create_pods(namespace, [_pod("waits")])
        scheduler.wait_until(lambda: bool(_events(client, namespace, "waits")))
        (first,) = _events(client, namespace, "waits")
        assert first["reason"] == "FailedScheduling"
        for number in range(100):
            beat = f"2026-01-05T12:{number // 60:02}:{number % 60:02}Z"
            status = {"conditions": [_condition("DiskPressure", "True", beat)]}
            client.patch(
                "/api/v1/nodes/full/status",
                {"status": status},
                "application/strategic-merge-patch+json",
            )
            note = {"metadata": {"annotations": {"example.com/beat": beat}}}
            client.patch("/api/v1/nodes/hot", note)
        client.patch(
            "/api/v1/nodes/hot", {"metadata": {"annotations": {"example.com/celsius": "9"}}}
        )
        scheduler.wait_until(lambda: _is_on(client, namespace, "waits", "hot"))
        # Events follow the binding.
        scheduler.wait_until(lambda: len(_events(client, namespace, "waits")) > 1)
        failed, bound = _events(client, namespace, "waits")
        assert (failed["reason"], bound["reason"]) == ("FailedScheduling", "Scheduled")
        assert failed.get("series") is None
