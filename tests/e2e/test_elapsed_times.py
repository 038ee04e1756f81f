"""How long pods wait on a real API server, also after a restart of the scheduler."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from tests.e2e.scenes import scheduler_process
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib
    from typing import Any

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

WAITING_SECONDS = 25
POLICY = f"""
policy spot-first {{
  for pods where app = batch
  reject when not node(pool = spot) and waiting < {WAITING_SECONDS}s as spot-at-first
}}
policy settled {{
  for pods where app = web
  reject when nodeAge >= 1h
}}
"""


def _find_condition(pod: dict[str, Any]) -> dict[str, Any] | None:
    """Return the condition that says that the pod has been tried in vain."""
    conditions = pod["status"].get("conditions", ())
    found = (each for each in conditions if each["type"] == "PodScheduled")
    return next((each for each in found if each["status"] == "False"), None)


def _parse(time: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(time)


def _measure_seconds(bound: dict[str, Any], since: datetime.datetime) -> float:
    """Return how long after a time a pod was bound to the standard node."""
    assert bound["spec"]["nodeName"] == "standard"
    (placed,) = (c for c in bound["status"]["conditions"] if c["type"] == "PodScheduled")
    return (_parse(placed["lastTransitionTime"]) - since).total_seconds()


def test_other_nodes_open_after_some_time_despite_a_restart(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """A timer wakes the pod; the time before the restart counts, and useless events do not."""
    client = control_plane.client
    full = manifests.node("spot", labels={"pool": "spot"}, resources={"cpu": "0"})
    client.create_nodes([full, manifests.node("standard", labels={"pool": "standard"})])
    (policies := tmp_path / "policies").mkdir()
    (policies / "spot.policy").write_text(POLICY)

    def make_pod(name: str, app: str) -> dict[str, Any]:
        return manifests.pod(
            name, labels={"app": app}, requests={"cpu": "1m"}, scheduler_name="policysched"
        )

    flags = ("--policies", str(policies))
    client.create_pods(namespace, [make_pod("waits", "batch")])
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        scheduler.wait_until(lambda: _find_condition(client.pod(namespace, "waits")) is not None)
        first = _find_condition(client.pod(namespace, "waits"))
        assert first is not None
        scheduler.kill_and_start_again()
        client.create_pods(namespace, [make_pod("web", "web")])
        scheduler.wait_until(lambda: "nodeName" in client.pod(namespace, "web")["spec"])
        client.create_pods(namespace, [make_pod("late", "batch")])
        scheduler.wait_until(lambda: "nodeName" in client.pod(namespace, "waits")["spec"])

        since = _parse(first["lastTransitionTime"])
        assert _measure_seconds(client.pod(namespace, "waits"), since) >= WAITING_SECONDS
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        notes = [
            each["note"]
            for each in client.items(path)
            if each["regarding"]["name"] == "waits" and each["reason"] == "FailedScheduling"
        ]
        assert all("spot-first/spot-at-first" in note for note in notes)
        assert "decided again at" in notes[0]
        scheduler.wait_until(lambda: "nodeName" in client.pod(namespace, "late")["spec"])
        late = client.pod(namespace, "late")
        created = _parse(late["metadata"]["creationTimestamp"])
        assert _measure_seconds(late, created) >= WAITING_SECONDS
