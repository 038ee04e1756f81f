"""What a pod may not do to the scheduler that places it, and to what the scheduler asks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.scenes import scheduler_process
from tests.promapi import fake_prometheus
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

POLICY = """\
version 1
param job: string = "node"
metric cpu_busy: ratio = `node_cpu{job="$job"}` node instance refresh 1s maxAge 1h
policy cool {
  for pods where app Exists and annotation("example.com/wish") NotIn (none)
  reject when cpu_busy > 90% missing allow as too-hot
}
profile policysched { policies cool }
"""
_FORGED = 'x"} or vector(0) #\n2026-01-01T00:00:00.000Z INFO policysched: stopped\x1b[2J'
_ANNOTATIONS = {"example.com/wish": "9" * 5_000, "example.com/other": _FORGED * 500}


def hostile_pods() -> list[dict[str, Any]]:
    """Return pods that the API server takes."""
    terms = [
        {"matchExpressions": [{"key": f"k{n}", "operator": "In", "values": [f"v{v}"]}]}
        for n in range(400)
        for v in range(3)
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spread = {
        "topologyKey": "nowhere.example.com/at-all",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
    specs: dict[str, dict[str, Any]] = {
        "annotated": {},
        "many-terms": {"affinity": {"nodeAffinity": required}},
        "nowhere": {"topologySpreadConstraints": [spread]},
        "tolerant": {"tolerations": [{"operator": "Exists"}] * 1_000},
        "many-volumes": {
            "volumes": [{"name": f"v{n}", "emptyDir": {}} for n in range(1_000)],
        },
        "greedy": {},
    }
    pods = []
    for name, spec in specs.items():
        requests = {"cpu": "9223372036854775807", "memory": "8Ei"} if name == "greedy" else {}
        pod = manifests.pod(
            name,
            scheduler_name="policysched",
            labels={"app": "x", "job": "a-or-b"},
            requests=requests,
            spec=spec,
        )
        pod["metadata"]["annotations"] = _ANNOTATIONS
        pods.append(pod)
    return pods


def test_hostile_pods_hold_up_nobody_and_leave_no_trace(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """A plain pod after them is placed; queries and log hold nothing that they brought."""
    (tmp_path / "p.policy").write_text(POLICY, encoding="utf-8")
    client = control_plane.client
    client.create_nodes([manifests.node("node-1")])
    client.create_pods(namespace, hostile_pods())

    def is_placed(name: str) -> bool:
        return bool(client.pod(namespace, name)["spec"].get("nodeName") == "node-1")

    def is_rejected(name: str) -> bool:
        conditions = client.pod(namespace, name)["status"].get("conditions") or []
        return any(one["reason"] == "Unschedulable" for one in conditions)

    with fake_prometheus.FakePrometheus() as server:
        flags = ("--policies", str(tmp_path), "--prometheus", server.url, "--log-level", "debug")
        with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
            client.create_pods(namespace, [manifests.pod("plain", scheduler_name="policysched")])
            for name in ("plain", "annotated", "tolerant", "many-volumes"):
                scheduler.wait_until(functools.partial(is_placed, name))
            for name in ("many-terms", "nowhere", "greedy"):
                scheduler.wait_until(functools.partial(is_rejected, name))
        queries = {request.query for request in server.requests}
    assert queries
    assert all('node_cpu{job="node"}' in query and "vector(0)" not in query for query in queries)
    log = scheduler.process.log.read_text(encoding="utf-8")
    assert "Traceback" not in log
    assert all(" policysched" in line for line in log.splitlines())
    assert "\x1b" not in log
    assert "stopped" not in log
