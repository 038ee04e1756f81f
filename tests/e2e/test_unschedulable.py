"""A pod that fits nowhere: everybody is told why, and it waits for what helps and nothing else."""

from __future__ import annotations

import collections
import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.scenes import scheduler_process, shipped_policies
from tests.realcluster import components, manifests, warm_start
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator, Mapping

    from tests.realcluster import api_client

pytestmark = pytest.mark.e2e

POLICIES = ("--policies", str(scheduler_process.SHIPPED_POLICIES / "gpu-pool.policy"))
POD, CANARY = "waits", "canary"
GPU = shipped_policies.GPU_RESOURCE

REASONS = {
    ("NodeUnschedulable", "node(s) were unschedulable"): 2,
    ("TaintToleration", "node(s) had untolerated taint(s)"): 3,
    ("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"): 4,
    ("NodeResourcesFit", "Insufficient cpu"): 5,
    ("Policy", "node is kept for GPU pods"): 6,
}
"""How many nodes each rule excludes; each node is excluded by one rule."""

HELPFUL_CHANGES: Mapping[str, tuple[str, str, Any]] = {
    "uncordon": ("cordoned-1", "", {"spec": {"unschedulable": None}}),
    "taint-removed": ("tainted-2", "", {"spec": {"taints": None}}),
    "label": ("elsewhere-3", "", {"metadata": {"labels": {manifests.ZONE: "zone-a"}}}),
    "allocatable": ("small-4", "/status", {"status": {"allocatable": {"cpu": "4"}}}),
    "policy": ("gpu-5", "/status", {"status": {"allocatable": {GPU: None}}}),
}
"""The node, the subresource and the patch after which the pod fits there."""


def _nodes() -> list[dict[str, Any]]:
    """Return nodes on each of which one rule excludes the pod."""
    here, there = {manifests.ZONE: "zone-a"}, {manifests.ZONE: "zone-b"}
    cordoned = [manifests.node(f"cordoned-{n}", labels=here) for n in range(2)]
    for node in cordoned:
        node["spec"]["unschedulable"] = True
    taint = ("team", "other", "NoSchedule")
    return [
        *cordoned,
        *(manifests.node(f"tainted-{n}", labels=here, taints=[taint]) for n in range(3)),
        *(manifests.node(f"elsewhere-{n}", labels=there) for n in range(4)),
        *(manifests.node(f"small-{n}", labels=here, resources={"cpu": "2"}) for n in range(5)),
        *(manifests.node(f"gpu-{n}", labels=here, resources={GPU: "1"}) for n in range(6)),
    ]


def _pod(name: str, cpu: str, node_selector: Mapping[str, str]) -> dict[str, Any]:
    return manifests.pod(
        name,
        scheduler_name=shipped_policies.GPU,
        requests={"cpu": cpu},
        spec={"nodeSelector": node_selector},
    )


def _scheduled_condition(client: api_client.ApiClient, namespace: str, name: str) -> dict[str, Any]:
    conditions = client.pod(namespace, name)["status"].get("conditions", [])
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


def _events(client: api_client.ApiClient, namespace: str, name: str) -> list[dict[str, Any]]:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    return [one for one in client.items(path) if one["regarding"]["name"] == name]


def _unhelpful_changes() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Give a hundred changes of nodes, of which none lets the pod fit anywhere."""
    for number in range(20):
        taints = [{"key": "team", "value": f"other-{number}", "effect": "NoSchedule"}]
        ready = {
            "type": "Ready",
            "status": "True",
            "lastHeartbeatTime": f"2026-01-01T00:00:{number:02}Z",
        }
        labels = {"metadata": {"labels": {"change": str(number)}}}
        yield f"tainted-{number % 3}", "", {"spec": {"taints": taints}}
        yield f"elsewhere-{number % 4}", "", labels
        yield (
            f"small-{number % 5}",
            "/status",
            {"status": {"allocatable": {"cpu": f"{2000 + number}m"}}},
        )
        yield f"gpu-{number % 6}", "", labels
        yield f"cordoned-{number % 2}", "/status", {"status": {"conditions": [ready]}}


@pytest.fixture
def stuck(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> Iterator[scheduler_process.PolicyScheduler]:
    """A scheduler at work, and a pod that it has found no node for."""
    client = control_plane.client
    client.create_nodes(_nodes())
    client.create_pods(namespace, [_pod(POD, "3", {manifests.ZONE: "zone-a"})])
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=POLICIES) as scheduler:
        scheduler.wait_until(lambda: bool(_events(client, namespace, POD)))
        scheduler.wait_until(lambda: bool(_scheduled_condition(client, namespace, POD)))
        yield scheduler


@pytest.mark.usefixtures("stuck")
def test_condition_and_event_name_every_rule_and_its_nodes(
    control_plane: control_planes.ControlPlane, namespace: str
) -> None:
    """The condition, and the event with the policies, say how many nodes each rule excludes."""
    counted = sorted(f"{count} {reason}" for (_, reason), count in REASONS.items())
    message = f"0/20 nodes are available: {', '.join(counted)}."
    condition = _scheduled_condition(control_plane.client, namespace, POD)
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert condition["message"].startswith(message)
    [event] = _events(control_plane.client, namespace, POD)
    assert (event["type"], event["reason"]) == ("Warning", "FailedScheduling")
    assert event["reportingController"] == shipped_policies.GPU
    assert event["note"].startswith(message)
    assert "gpu: gpu-pods, no-gpu-pods;" in event["note"]


@pytest.mark.usefixtures("stuck")
def test_explain_names_every_rule_and_its_nodes(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """`explain pod`, on what kubectl prints of that cluster, tells the same, by node and in sum."""
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "admin.kubeconfig")
    dump = tmp_path / "cluster.json"
    kubectl = [str(components.binary("kubectl")), f"--kubeconfig={kubeconfig}"]
    with dump.open("wb") as file:
        words = [f"--cache-dir={tmp_path}", "get", "nodes,pods,namespaces", "-A", "-o", "json"]
        subprocess.run([*kubectl, *words], stdout=file, check=True)
    explain = ["explain", "pod", f"{namespace}/{POD}"]
    explain += ["--cluster", str(dump), *POLICIES]
    as_json = warm_start.run(*explain, "-o", "json")
    as_json.check_returncode()
    report = json.loads(as_json.stdout)
    [report] = report if isinstance(report, list) else [report]
    found = collections.Counter(
        (verdict["plugin"], reason)
        for verdict in report["nodes"].values()
        for reason in verdict["reasons"]
    )
    assert found == REASONS
    as_text = warm_start.run(*explain)
    as_text.check_returncode()
    rows = [line.split() for line in as_text.stdout.splitlines()]
    for (plugin, reason), count in REASONS.items():
        who = "no-gpu-pods/keep-out" if plugin == "Policy" else plugin
        assert [row for row in rows if row[:2] == [str(count), who] and reason in " ".join(row)]


@pytest.mark.parametrize("change", HELPFUL_CHANGES)
def test_only_the_change_that_helps_leads_to_an_attempt(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    stuck: scheduler_process.PolicyScheduler,
    change: str,
) -> None:
    """After 100 changes that cannot help there was no attempt; after the one that helps, one.

    A canary that fails after the hundred changes and is bound a second later, when its backoff is
    over, shows that the waiting pod's would have been over, too.
    """
    client = control_plane.client
    for node, subresource, patch in _unhelpful_changes():
        client.patch(f"/api/v1/nodes/{node}{subresource}", patch)
    client.create_pods(namespace, [_pod(CANARY, "1", {CANARY: "yes"})])
    stuck.wait_until(lambda: bool(_events(client, namespace, CANARY)))
    client.patch("/api/v1/nodes/elsewhere-0", {"metadata": {"labels": {CANARY: "yes"}}})
    stuck.wait_until(lambda: "nodeName" in client.pod(namespace, CANARY)["spec"])
    assert "nodeName" not in client.pod(namespace, POD)["spec"]

    node, subresource, patch = HELPFUL_CHANGES[change]
    client.patch(f"/api/v1/nodes/{node}{subresource}", patch)
    # This waits for less than the five minutes after which every waiting pod is tried again.
    stuck.wait_until(lambda: len(_events(client, namespace, POD)) > 1)
    assert client.pod(namespace, POD)["spec"]["nodeName"] == node
    # All events of a pod are written in order, so a second failure would be here by now.
    failed, bound = sorted(_events(client, namespace, POD), key=lambda event: str(event["reason"]))
    assert (failed["reason"], bound["reason"]) == ("FailedScheduling", "Scheduled")
    assert failed.get("series") is None
