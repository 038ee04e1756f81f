"""A pod that kube-scheduler meets an error with: it waits, is told so, and is tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.scenes import scheduler_process
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

MESSAGE = (
    'running PreScore plugin "NodeAffinity": [0].matchExpressions[0].values[0]: Invalid value: '
    "\"many\": for 'Gt', 'Lt' operators, the value must be an integer"
)


def _pod() -> dict[str, Any]:
    """Return a pod with a preference that the API server lets through and nobody can read."""
    wrong = {"key": "generation", "operator": "Gt", "values": ["many"]}
    term = {"weight": 1, "preference": {"matchExpressions": [wrong]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    return manifests.pod("unreadable", scheduler_name="policysched", spec={"affinity": affinity})


def test_an_error_is_told_and_ends_with_its_cause(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Condition and event have kube-scheduler's text; where nothing is scored the pod is placed."""
    client = control_plane.client
    client.create_nodes([manifests.node("first"), manifests.node("second")])
    client.create_pods(namespace, [_pod()])

    def condition() -> dict[str, Any]:
        status = client.pod(namespace, "unreadable").get("status", {})
        found = (one for one in status.get("conditions", []) if one["type"] == "PodScheduled")
        return next(found, {})

    with scheduler_process.PolicyScheduler(control_plane, tmp_path) as scheduler:
        scheduler.wait_until(lambda: bool(condition()))
        told = condition()
        assert (told["status"], told["reason"]) == ("False", "SchedulerError")
        assert told["message"] == MESSAGE
        client.patch("/api/v1/nodes/second", {"spec": {"unschedulable": True}})
        scheduler.wait_until(
            lambda: client.pod(namespace, "unreadable")["spec"].get("nodeName") == "first"
        )
