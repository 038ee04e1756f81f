"""How long `explain pod` takes from a cold start: a dump as kubectl prints it, and a policy.

python -m benchmarks explain --nodes 1000,5000 --pods 5

Every run is a process of its own. Asked about are a pod that fits, where changes are tried by
which another node would win, and one that fits nowhere, for which edits are tried.
"""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks import options, orphans
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
_IMAGES_OF_A_NODE = 15


def dump(nodes: int, pods_of_a_node: int) -> dict[str, Any]:
    """Return a cluster: nodes that report images and conditions, placed pods, and the two pods."""
    items = [_reported(node) for node in manifests.fleet(nodes)]
    items += [
        running_pod(f"app-{number % 100}-{number}", f"node-{number % nodes}", number % 100)
        for number in range(nodes * pods_of_a_node)
    ]
    fits = manifests.pod("fits", requests={"cpu": "500m", "memory": "1Gi"})
    pending = manifests.pod("pending", requests={"cpu": "500m", "memory": "1Gi"})
    pending["spec"]["nodeSelector"] = {"topology.kubernetes.io/zon": "zone-a"}
    return {"apiVersion": "v1", "kind": "List", "items": [*items, _named(fits), _named(pending)]}


def _named(pod: dict[str, Any]) -> dict[str, Any]:
    pod["metadata"]["namespace"] = "default"
    return pod


def _reported(node: dict[str, Any]) -> dict[str, Any]:
    """Return a node with what its kubelet reports and scheduling does not read, or hardly."""
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
            for n in range(_IMAGES_OF_A_NODE)
        ],
        "nodeInfo": {"kernelVersion": "6.8", "kubeletVersion": "v1.36.3", "machineID": name},
    }
    return node


def running_pod(name: str, node: str, workload: int) -> dict[str, Any]:
    """Return a running pod as the API server has it: with defaults, volumes and a status."""
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


def seconds(argv: list[str]) -> float:
    """Return how long a process took that had to end well."""
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "policysched", *argv], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - started


def main(argv: list[str]) -> int:
    """Print the seconds of `explain pod` by the size of the cluster."""
    parser = options.Parser(prog="python -m benchmarks explain", description=__doc__)
    parser.add_argument("--nodes", type=options.numbers, default=[1000, 5000], metavar="N,N")
    parser.add_argument(
        "--pods", type=options.at_least(1), default=5, help="placed pods of each node"
    )
    parser.add_argument("--repeat", type=options.at_least(1), default=5)
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="leave the dumps here")
    args = parser.parse_args(argv)
    with orphans.folder_without_orphans() as temporary:
        folder = args.keep or temporary
        for nodes in args.nodes:
            _measure(folder, nodes, args.pods, args.repeat)
    return 0


def _measure(folder: pathlib.Path, nodes: int, pods_of_a_node: int, repeat: int) -> None:
    cluster = folder / f"cluster-{nodes}.json"
    cluster.write_text(json.dumps(dump(nodes, pods_of_a_node), indent=4))
    policy, metrics = folder / "all.policy", folder / f"metrics-{nodes}.json"
    policy.write_text(_POLICY)
    busy = {f"node-{number}": number % 90 / 100 for number in range(nodes)}
    metrics.write_text(json.dumps({"cpu_busy": busy}))
    given = ["--cluster", str(cluster), "--policies", str(policy), "--metrics", str(metrics)]
    megabytes = cluster.stat().st_size / 1e6
    print(f"{nodes} nodes, {nodes * pods_of_a_node} placed pods, {megabytes:.0f} MB")
    for pod in (_FITS, _PENDING):
        taken = [seconds(["explain", *given, "pod", pod]) for _ in range(repeat)]
        print(f"  {pod}: median {statistics.median(taken):.2f} s, most {max(taken):.2f} s")
