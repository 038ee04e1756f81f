"""Durations of `explain pod` from a cold start, with a dump in the format of kubectl and a policy.

python -m benchmarks explain --nodes 1000,5000 --pods 5

Every run is a separate process. It explains a pod that fits, and searches changes by which another
node would win; or it explains a pod that fits nowhere, and searches edits by which it would fit.
"""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks import options
from benchmarks.process import orphans
from tests.realcluster import manifests

_POLICY = """
version 1
metric cpu_busy: ratio = `cpu` node instance
policy all {
  for pods
  reject when cpu_busy > 95% missing allow as too-hot
  score cpu_busy prefer low normalize linear(0%, 100%) missing score 0 weight 2 as low-cpu
}
"""
_FITS, _PENDING = "default/fits", "default/pending"
_IMAGES_PER_NODE = 15


def dump(nodes: int, pods_per_node: int) -> dict[str, Any]:
    """Return a cluster: nodes with images and conditions, placed pods, and the two pods."""
    items = [_add_kubelet_fields(node) for node in manifests.fleet(nodes)]
    items += [
        running_pod(f"app-{number % 100}-{number}", f"node-{number % nodes}", number % 100)
        for number in range(nodes * pods_per_node)
    ]
    fits = manifests.pod("fits", requests={"cpu": "500m", "memory": "1Gi"})
    pending = manifests.pod("pending", requests={"cpu": "500m", "memory": "1Gi"})
    pending["spec"]["nodeSelector"] = {"topology.kubernetes.io/zon": "zone-a"}
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [*items, _add_namespace(fits), _add_namespace(pending)],
    }


def _add_namespace(pod: dict[str, Any]) -> dict[str, Any]:
    pod["metadata"]["namespace"] = "default"
    return pod


def _add_kubelet_fields(node: dict[str, Any]) -> dict[str, Any]:
    """Return a node with fields that its kubelet reports and that scheduling hardly reads."""
    name = node["metadata"]["name"]
    node["metadata"] |= {
        "uid": f"uid-{name}",
        "resourceVersion": "123456789",
        "annotations": {
            "csi.volume.kubernetes.io/nodeid": json.dumps({"ebs.csi.aws.com": f"i-{name}"}),
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        },
    }
    image = "registry.example.com/team/service-{}@sha256:" + 64 * "0"
    node["status"] |= {
        "addresses": [{"type": "Hostname", "address": name}],
        "conditions": [
            {
                "type": kind,
                "status": "True" if kind == "Ready" else "False",
                "reason": f"KubeletHas{kind}",
                "message": f"kubelet has {kind}",
                "lastHeartbeatTime": "2026-01-05T12:00:00Z",
                "lastTransitionTime": "2026-01-05T12:00:00Z",
            }
            for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
        ],
        "images": [
            {"names": [image.format(n), f"registry.example.com/service-{n}:1"], "sizeBytes": 10**8}
            for n in range(_IMAGES_PER_NODE)
        ],
        "nodeInfo": {"kernelVersion": "6.8", "kubeletVersion": "v1.36.3", "machineID": name},
    }
    return node


def running_pod(name: str, node: str, workload: int) -> dict[str, Any]:
    """Return a running pod as stored by the API server: with defaults, volumes and a status."""
    pod: dict[str, Any] = manifests.pod(name, requests={"cpu": "50m", "memory": "64Mi"})
    pod["metadata"] |= {
        "namespace": "default",
        "uid": f"uid-{name}",
        "labels": {"app": f"app-{workload}", "pod-template-hash": f"{workload:010}"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": f"app-{workload}",
                "uid": f"uid-app-{workload}",
                "controller": True,
            }
        ],
    }
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    pod["spec"] |= {
        "nodeName": node,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "volumes": [{"name": f"kube-api-access-{name}", "projected": {"sources": [token]}}],
        "tolerations": [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute"}
            for key in ("not-ready", "unreachable")
        ],
    }
    times = {"lastProbeTime": None, "lastTransitionTime": "2026-01-05T12:00:00Z"}
    pod["status"] = {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "startTime": "2026-01-05T12:00:00Z",
        "conditions": [
            {"type": kind, "status": "True", **times}
            for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "name": "c",
                "image": "app:1",
                "imageID": "sha256:" + 64 * "0",
                "ready": True,
                "state": {"running": {"startedAt": "2026-01-05T12:00:00Z"}},
            }
        ],
    }
    return pod


def measure_seconds(argv: list[str]) -> float:
    """Return the duration of a command of policysched, which must succeed."""
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "policysched", *argv], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - started


def main(argv: list[str]) -> int:
    """Print the durations of `explain pod` by the size of the cluster."""
    parser = options.Parser(prog="python -m benchmarks explain", description=__doc__)
    parser.add_argument("--nodes", type=options.numbers, default=[1000, 5000], metavar="N,N")
    parser.add_argument("--pods", type=options.at_least(1), default=5, help="placed pods per node")
    parser.add_argument("--repeat", type=options.at_least(1), default=5)
    parser.add_argument(
        "--keep", type=pathlib.Path, metavar="FOLDER", help="keep the dumps in this folder"
    )
    args = parser.parse_args(argv)
    with orphans.folder_without_orphans() as temporary:
        folder = args.keep or temporary
        for nodes in args.nodes:
            _measure(folder, nodes, args.pods, args.repeat)
    return 0


def _measure(folder: pathlib.Path, nodes: int, pods_per_node: int, repeat: int) -> None:
    cluster = folder / f"cluster-{nodes}.json"
    cluster.write_text(json.dumps(dump(nodes, pods_per_node), indent=4))
    policy, metrics = folder / "all.policy", folder / f"metrics-{nodes}.json"
    policy.write_text(_POLICY)
    busy = {f"node-{number}": number % 90 / 100 for number in range(nodes)}
    metrics.write_text(json.dumps({"cpu_busy": busy}))
    arguments = ["--cluster", str(cluster), "--policies", str(policy), "--metrics", str(metrics)]
    megabytes = cluster.stat().st_size / 1e6
    print(f"{nodes} nodes, {nodes * pods_per_node} placed pods, {megabytes:.0f} MB")
    for pod in (_FITS, _PENDING):
        seconds = [measure_seconds(["explain", *arguments, "pod", pod]) for _ in range(repeat)]
        print(f"  {pod}: median {statistics.median(seconds):.2f} s, most {max(seconds):.2f} s")
