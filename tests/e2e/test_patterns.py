"""Patterns of names, labels and namespaces on a real API server."""

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
  for pods in namespace ("*") where app = "web-*"
  nodeAffinity required nodeName = "web-*" and pool In (shared, "gpu-*") as web-nodes
  podAntiAffinity required pods where app = "web-*" topologyKey kubernetes.io/hostname as apart
}
"""


def _node(name: str, pool: str) -> dict[str, Any]:
    node = manifests.node(name)
    node["metadata"].setdefault("labels", {}).update({"pool": pool, "kubernetes.io/hostname": name})
    return node


def _pod(name: str, app: str) -> dict[str, Any]:
    pod = manifests.pod(name, requests={"cpu": "1"}, scheduler_name="policysched")
    pod["metadata"].setdefault("labels", {})["app"] = app
    return pod


def _is_on(client: api_client.ApiClient, namespace: str, name: str, node: str) -> bool:
    return bool(client.pod(namespace, name)["spec"].get("nodeName") == node)


def _events(client: api_client.ApiClient, namespace: str, name: str) -> list[dict[str, Any]]:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    return [one for one in client.items(path) if one["regarding"]["name"] == name]


def test_pods_go_where_patterns_allow(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """One node matches; the second pod waits until a label of another node matches.

    Of a hundred other labels, none leads to an attempt.
    """
    client = control_plane.client
    client.create_nodes([_node("db-1", "gpu-a"), _node("web-1", "cpu-a"), _node("web-2", "gpu-b")])
    (policies := tmp_path / "policies").mkdir()
    (policies / "web.policy").write_text(POLICY)
    client.create_pods(namespace, [_pod("first", "web-a")])
    flags = ("--policies", str(policies))
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        scheduler.wait_until(lambda: _is_on(client, namespace, "first", "web-2"))
        client.create_pods(namespace, [_pod("second", "web-b")])
        scheduler.wait_until(lambda: bool(_events(client, namespace, "second")))
        (first,) = _events(client, namespace, "second")
        assert first["reason"] == "FailedScheduling"
        for number in range(100):
            client.patch("/api/v1/nodes/web-1", {"metadata": {"labels": {"pool": f"cpu-{number}"}}})
        client.patch("/api/v1/nodes/web-1", {"metadata": {"labels": {"pool": "gpu-c"}}})
        scheduler.wait_until(lambda: _is_on(client, namespace, "second", "web-1"))
        # Events follow the binding.
        scheduler.wait_until(lambda: len(_events(client, namespace, "second")) > 1)
        failed, bound = _events(client, namespace, "second")
        assert (failed["reason"], bound["reason"]) == ("FailedScheduling", "Scheduled")
        assert failed.get("series") is None
