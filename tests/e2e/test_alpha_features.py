"""An API server that serves what is alpha in 1.36, and does not serve resource.k8s.io/v1.

Pods of groups are left waiting.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from policysched.plugins import pod_groups
from tests.e2e.scenes import scheduler_process
from tests.realcluster import api_client, manifests
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    import pathlib

pytestmark = pytest.mark.e2e

NAMESPACE = "alpha"
FLAGS = (
    "--feature-gates=TaintTolerationComparisonOperators=true,GenericWorkload=true",
    "--runtime-config=scheduling.k8s.io/v1alpha2=true,resource.k8s.io/v1=false",
)
ALWAYS = {"key": "sla", "operator": "Exists"}
ABOVE = {"key": "sla", "operator": "Gt", "value": "950", "effect": "NoSchedule"}
BELOW = {"key": "sla", "operator": "Lt", "value": "900", "effect": "NoSchedule"}


def _pod(name: str, **spec: Any) -> dict[str, Any]:
    return manifests.pod(name, scheduler_name="policysched", requests={"cpu": "1"}, spec=spec)


def _nodes() -> list[dict[str, Any]]:
    values = {"good": "960", "exact": "950", "poor": "940", "odd": "many"}
    return [
        manifests.node(name, taints=[("sla", value, "NoSchedule")])
        for name, value in values.items()
    ]


def _told(client: api_client.ApiClient, name: str) -> str:
    conditions = client.pod(NAMESPACE, name).get("status", {}).get("conditions", [])
    return next((one["message"] for one in conditions if one["type"] == "PodScheduled"), "")


def _explain(scheduler: scheduler_process.PolicyScheduler, name: str) -> dict[str, Any]:
    pod = f"{NAMESPACE}/{name}"
    words = ["explain", "pod", pod, "--kubeconfig", str(scheduler.kubeconfig), "-o", "json"]
    answer = subprocess.run([*scheduler_process.PROGRAM, *words], capture_output=True, check=True)
    [found] = json.loads(answer.stdout)
    return dict(found)


def test_alpha_features_and_what_waits(tmp_path: pathlib.Path) -> None:
    """Numbers in tolerations are compared; pods of groups wait and say why.

    There are no objects of a kind that the API server does not serve, for commands, too.
    """
    waiting = {
        "poor-enough": "4 node(s) had untolerated taint(s)",
        "grouped": pod_groups.REASON,
    }
    pods = [
        _pod("well-served", tolerations=[ABOVE]),
        _pod("poor-enough", tolerations=[BELOW]),
        _pod("grouped", tolerations=[ALWAYS], schedulingGroup={"podGroupName": "team"}),
    ]
    with control_planes.ControlPlane(tmp_path / "control-plane", flags=FLAGS) as plane:
        client = plane.client
        client.create_namespace(NAMESPACE)
        client.create_nodes(_nodes())
        client.create_pods(NAMESPACE, pods)
        with scheduler_process.PolicyScheduler(plane, tmp_path) as scheduler:
            scheduler.wait_until(
                lambda: client.pod(NAMESPACE, "well-served")["spec"].get("nodeName") == "good"
            )
            scheduler.wait_until(lambda: all(_told(client, name) for name in waiting))
            for name, reason in waiting.items():
                assert _told(client, name).startswith(f"0/4 nodes are available: {reason}."), name
                assert "nodeName" not in client.pod(NAMESPACE, name)["spec"]
            with pytest.raises(api_client.ApiError, match="404"):
                client.get("/apis/resource.k8s.io/v1/resourceclaims")
            assert _explain(scheduler, "poor-enough")["feasible"] == 0
