"""Numbers of pods on a real API server: at most so many on a node and in a rack, for each team."""

from __future__ import annotations

import collections
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
policy render {
  for pods where app = render
  reject when count(pods where app = render and team = pod(team)) >= 1 missing reject as per-node
  reject when count(self topologyKey rack) >= 3 missing reject as per-rack
  score count(self topologyKey rack) < 2 weight 100 missing score 0 as emptier-racks
}
"""
RACKS = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b", "b3": "b"}


def _pod(name: str, team: str, app: str = "render") -> dict[str, Any]:
    labels = {"app": app, "team": team}
    return manifests.pod(name, labels=labels, requests={"cpu": "1m"}, scheduler_name="policysched")


def _bound(client: api_client.ApiClient, namespace: str) -> dict[str, str]:
    """Return the node of each bound pod of the policy."""
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in client.pods(namespace)
        if pod["spec"].get("nodeName") and pod["metadata"]["labels"]["app"] == "render"
    }


def _failures(client: api_client.ApiClient, namespace: str, name: str) -> list[str]:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    events = [one for one in client.items(path) if one["regarding"]["name"] == name]
    return [one["note"] for one in events if one["reason"] == "FailedScheduling"]


def test_no_rack_gets_more_than_its_share(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """The limits hold for a burst; of a hundred pods that do not count, none wakes the last pod."""
    client = control_plane.client
    client.create_nodes([manifests.node(name, labels={"rack": r}) for name, r in RACKS.items()])
    (policies := tmp_path / "policies").mkdir()
    (policies / "render.policy").write_text(POLICY)
    flags = ("--policies", str(policies))
    client.create_pods(namespace, [_pod(f"pod-{n}", f"team-{n % 2}") for n in range(6)])
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        scheduler.wait_until(lambda: len(_bound(client, namespace)) == 6)
        bound = _bound(client, namespace)
        assert collections.Counter(RACKS[node] for node in bound.values()) == {"a": 3, "b": 3}
        for team in (0, 1):
            nodes = [bound[f"pod-{n}"] for n in range(6) if n % 2 == team]
            assert len(set(nodes)) == 3

        client.create_pods(namespace, [_pod("waits", "team-2")])
        scheduler.wait_until(lambda: bool(_failures(client, namespace, "waits")))
        others = [_pod(f"other-{n}", "team-2", app="web") for n in range(50)]
        client.create_pods(namespace, others)
        scheduler.wait_until(
            lambda: sum("nodeName" in pod["spec"] for pod in client.pods(namespace)) == 56
        )
        for n in range(50):
            client.delete(f"/api/v1/namespaces/{namespace}/pods/other-{n}")
        client.create_pods(namespace, [_pod("canary", "team-2", app="web")])
        scheduler.wait_until(lambda: "nodeName" in client.pod(namespace, "canary")["spec"])
        (note,) = _failures(client, namespace, "waits")
        assert "6 node(s) rejected by policy render/per-rack" in note

        client.delete(f"/api/v1/namespaces/{namespace}/pods/pod-0")
        scheduler.wait_until(lambda: "waits" in _bound(client, namespace))
        assert RACKS[_bound(client, namespace)["waits"]] == RACKS[bound["pod-0"]]
