"""A shadow policy that comes with an edit of the ConfigMap is tried, and changes nothing."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
import urllib3
from prometheus_client import parser

from tests.e2e.scenes import scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests, process

if TYPE_CHECKING:
    import pathlib

pytestmark = pytest.mark.e2e

SCHEDULER = "policysched"
LIMIT_SECONDS = 120.0
NOW = """
policy now { for pods nodeAffinity required kubernetes.io/hostname In (n0, n1) as two }
"""
NEXT = """
policy next {
  mode shadow
  for pods where app = web
  disable now.two
  nodeAffinity required kubernetes.io/hostname In (n2) as elsewhere
}
policy none {
  mode shadow
  for pods where app = web
  nodeAffinity required kubernetes.io/hostname In (n9) as nowhere
}
"""


def _counts(url: str) -> dict[tuple[str, str], float]:
    """Return (shadow policy, outcome) → decisions, as far as there are any."""
    try:
        answer = urllib3.request("GET", f"{url}/metrics", retries=False, timeout=60)
    except urllib3.exceptions.HTTPError:
        return {}
    return {
        (sample.labels["policy"], sample.labels["outcome"]): sample.value
        for family in parser.text_string_to_metric_families(answer.data.decode())
        for sample in family.samples
        if sample.name == "policysched_shadow_decisions_total" and sample.value
    }


def _has_shadows(url: str) -> bool:
    try:
        answer = urllib3.request("GET", f"{url}/metrics", retries=False, timeout=60)
    except urllib3.exceptions.HTTPError:
        return False
    return b'policysched_shadow_decisions_total{outcome="sameNode",policy="next"' in answer.data


def _pods(first: int) -> list[dict[str, Any]]:
    return [
        manifests.pod(f"p{number}", labels={"app": "web"}, scheduler_name=SCHEDULER)
        for number in range(first, first + 5)
    ]


def _bound(plane: control_planes.ControlPlane, namespace: str) -> list[str]:
    pods = plane.client.items(f"/api/v1/namespaces/{namespace}/pods")
    return [pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")]


def test_a_shadow_policy_is_tried_on_live_pods(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Pods go where the policy in force says; what the others would do is counted and told."""
    client = control_plane.client
    client.create_nodes([manifests.node(f"n{number}") for number in range(3)])
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    text = {"metadata": {"name": "policies"}, "data": {"web.policy": NOW}}
    client.create(maps, text)
    address = f"127.0.0.1:{process.free_port()}"
    url = f"http://{address}"
    flags = ("--policy-configmap", f"{namespace}/policies", "--metrics-address", address)
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        client.create_pods(namespace, _pods(0))
        scheduler.wait_until(
            lambda: len(_bound(control_plane, namespace)) == 5, time_limit_seconds=LIMIT_SECONDS
        )
        assert _counts(url) == {}
        client.patch(f"{maps}/policies", {"data": {"web.policy": NOW + NEXT}})
        scheduler.wait_until(lambda: _has_shadows(url), time_limit_seconds=LIMIT_SECONDS)
        client.create_pods(namespace, _pods(5))
        scheduler.wait_until(
            lambda: len(_bound(control_plane, namespace)) == 10, time_limit_seconds=LIMIT_SECONDS
        )
        counts = _counts(url)
        scheduler.process.signal(signal.SIGTERM)
        assert scheduler.process.wait(30.0) == 0
    # On a slow machine some are left out for lack of time.
    assert counts.keys() == {("next", "otherNode"), ("none", "newlyUnschedulable")}
    assert set(_bound(control_plane, namespace)) <= {"n0", "n1"}
    log = (tmp_path / "policysched.log").read_text(encoding="utf-8")
    tried = int(counts["none", "newlyUnschedulable"])
    assert f"shadow policy none of profile policysched: {tried} of {tried} decisions" in log
