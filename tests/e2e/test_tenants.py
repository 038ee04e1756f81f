"""Nodes of tenants on a real API server: one rule sends the pods of each tenant to its nodes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.scenes import scheduler_process
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Mapping

    from tests.realcluster import api_client
    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

POLICY = """
policy tenants {
  for pods
  nodeAffinity required tenant In (shared, pod(tenant)) missing reject as own-nodes
  nodeAffinity preferred tenant = pod(tenant) weight 100 missing score 0
  reject when node(reserved-for Exists and reserved-for != pod(namespace))
  nodeAffinity required region = pod(namespaceLabel(region)) missing allow as home
}
"""
TENANTS = ("blue", "green", "red")


def _pod(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return manifests.pod(name, labels=labels, requests={"cpu": "1"}, scheduler_name="policysched")


def _is_on(client: api_client.ApiClient, namespace: str, name: str, node: str) -> bool:
    return bool(client.pod(namespace, name)["spec"].get("nodeName") == node)


def _attempts(client: api_client.ApiClient, namespace: str, name: str) -> list[dict[str, Any]]:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    return [one for one in client.items(path) if one["regarding"]["name"] == name]


def test_each_tenant_gets_its_nodes(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Pods follow their label, their namespace and its labels; a pod waits for its own node only.

    Of a hundred changes that cannot help it, none leads to an attempt.
    """
    client = control_plane.client
    nodes = [manifests.node(f"{each}-0", labels={"tenant": each}) for each in (*TENANTS, "shared")]
    nodes.append(
        manifests.node("reserved", labels={"tenant": "blue", "reserved-for": "someone-else"})
    )
    client.create_nodes(nodes)
    (policies := tmp_path / "policies").mkdir()
    (policies / "tenants.policy").write_text(POLICY)
    pods = [_pod(f"pod-{each}", {"tenant": each}) for each in TENANTS]
    client.create_pods(namespace, [*pods, _pod("pod-none", {})])
    flags = ("--policies", str(policies))
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        scheduler.wait_until(lambda: _is_on(client, namespace, "pod-none", "shared-0"))
        for each in TENANTS:
            placed = functools.partial(_is_on, client, namespace, f"pod-{each}", f"{each}-0")
            scheduler.wait_until(placed)

        labels = {"metadata": {"labels": {"region": "eu"}}}
        client.patch(f"/api/v1/namespaces/{namespace}", labels)
        client.create_pods(namespace, [_pod("waits", {"tenant": "blue"})])
        scheduler.wait_until(lambda: bool(_attempts(client, namespace, "waits")))
        for number in range(100):
            other = {"metadata": {"labels": {"region": f"us-{number}"}}}
            client.patch(f"/api/v1/nodes/{TENANTS[number % 3]}-0", other)
        home = {"metadata": {"labels": {"region": "eu"}}}
        client.patch("/api/v1/nodes/red-0", home)
        client.create_pods(namespace, [_pod("canary", {"tenant": "red"})])
        scheduler.wait_until(lambda: _is_on(client, namespace, "canary", "red-0"))
        assert [one["reason"] for one in _attempts(client, namespace, "waits")] == [
            "FailedScheduling"
        ]
        client.patch("/api/v1/nodes/blue-0", home)
        scheduler.wait_until(lambda: _is_on(client, namespace, "waits", "blue-0"))
