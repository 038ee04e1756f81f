"""`policysched run` against a real API server: samples that grow old, and windows after a start."""

from __future__ import annotations

import pathlib
import re
import threading
import urllib.request

import pytest

from tests.app import aged_nodes
from tests.e2e.scenes import scheduler_process
from tests.promapi import fake_prometheus
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests
from tests.realcluster import process as processes

POLICY = """\
version 1
metric cpu_busy: ratio = `cpu` node instance refresh 15s maxAge 1h
policy cool { for pods reject when cpu_busy > 80% missing allow as too-hot }
profile cool { policies cool }
"""


def _node_of(plane: control_planes.ControlPlane, namespace: str, pod: str) -> str:
    node: str = plane.client.pod(namespace, pod)["spec"].get("nodeName", "")
    return node


def _message_of(plane: control_planes.ControlPlane, namespace: str, pod: str) -> str:
    conditions = plane.client.pod(namespace, pod)["status"].get("conditions", [])
    return next((c["message"] for c in conditions if c["type"] == "PodScheduled"), "")


@pytest.mark.e2e
def test_a_waiting_pod_is_tried_again_when_a_sample_grows_old(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Without a refresh and without a change in the cluster: the hot sample ceases to count.

    Prometheus answers once, and fails from then on; the next look at all waiting pods is far off.
    """
    policy = POLICY.replace("refresh 15s maxAge 1h", "refresh 15s maxAge 15s")
    (tmp_path / "p.policy").write_text(policy)
    client = control_plane.client
    aged_nodes.create(control_plane, manifests.node("node-1"))
    client.create_pods(namespace, [manifests.pod("cool", scheduler_name="cool")])
    only = fake_prometheus.success(
        [
            fake_prometheus.series("0.95", 9000.0, instance="node-1"),
            fake_prometheus.measured(9000.0, 9000.0, instance="node-1"),
        ]
    )
    failure = fake_prometheus.failure(503, "unavailable", "starting up")
    with fake_prometheus.FakePrometheus() as server:
        server.answer = lambda _: only if len(server.requests) == 1 else failure
        flags = ("--policies", str(tmp_path), "--prometheus", server.url)
        with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
            scheduler.wait_until(lambda: "too-hot" in _message_of(control_plane, namespace, "cool"))
            scheduler.wait_until(lambda: _node_of(control_plane, namespace, "cool") == "node-1")


@pytest.mark.e2e
def test_windows_are_whole_from_the_first_pod_on(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """A node that was hot a moment ago takes no pod after a restart, though it is cool now."""
    policy = POLICY.replace("maxAge 1h", "maxAge 1h over 10m max")
    (tmp_path / "p.policy").write_text(policy)
    client = control_plane.client
    aged_nodes.create(control_plane, manifests.node("node-1"))
    client.create_pods(namespace, [manifests.pod("cool", scheduler_name="cool")])

    def answer(request: fake_prometheus.Request) -> fake_prometheus.Answer:
        if request.path.endswith("query"):
            value = fake_prometheus.series("0.05", 9000.0, instance="node-1")
            time = fake_prometheus.measured(9000.0, 9000.0, instance="node-1")
            return fake_prometheus.success([value, time])
        at = float(request.form["end"])
        labels = {"instance": "node-1"}
        hot = {"metric": labels, "values": [[at, "0.95"]]}
        measured = {"metric": labels | {"policysched": "measured_at"}, "values": [[at, "8999.0"]]}
        return fake_prometheus.success([hot, measured], "matrix")

    with fake_prometheus.FakePrometheus() as server:
        server.answer = answer
        flags = ("--policies", str(tmp_path), "--prometheus", server.url)
        with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
            scheduler.wait_until(lambda: "too-hot" in _message_of(control_plane, namespace, "cool"))
            assert _node_of(control_plane, namespace, "cool") == ""
        paths = [request.path for request in server.requests]
        assert paths.count("/api/v1/query_range") == 1


@pytest.mark.e2e
def test_another_query_lets_no_pod_go_blind(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Pods that a hot node rejects stay where they are until a changed query has its answer."""
    file = tmp_path / "p.policy"
    file.write_text(POLICY)
    client = control_plane.client
    aged_nodes.create(control_plane, manifests.node("node-1"))
    client.create_pods(namespace, [manifests.pod("first", scheduler_name="cool")])
    released = threading.Event()
    hot = fake_prometheus.success(
        [
            fake_prometheus.series("0.95", 9000.0, instance="node-1"),
            fake_prometheus.measured(9000.0, 9000.0, instance="node-1"),
        ]
    )

    def answer(request: fake_prometheus.Request) -> fake_prometheus.Answer:
        if "cpu + 0" in request.query:
            released.wait()
        return hot

    address = f"127.0.0.1:{processes.free_port()}"

    def active_pods() -> float:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as page:
            found = re.search(r'pending_pods{queue="active"} (\S+)', page.read().decode())
        return float(found[1]) if found else 0.0

    with fake_prometheus.FakePrometheus() as server:
        server.answer = answer
        flags = ("--policies", str(file), "--prometheus", server.url, "--metrics-address", address)
        with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
            scheduler.wait_until(
                lambda: "too-hot" in _message_of(control_plane, namespace, "first")
            )
            file.write_text(POLICY.replace("`cpu`", "`cpu + 0`"))
            scheduler.wait_until(lambda: "cpu + 0" in server.requests[-1].query)
            client.create_pods(namespace, [manifests.pod("second", scheduler_name="cool")])
            scheduler.wait_until(lambda: active_pods() > 0)
            released.set()
            scheduler.wait_until(
                lambda: "too-hot" in _message_of(control_plane, namespace, "second")
            )
            assert _node_of(control_plane, namespace, "first") == ""
