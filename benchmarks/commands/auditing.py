"""Durations of `audit` from a cold start, on a dump in the format of kubectl.

python -m benchmarks audit --nodes 5000 --pods 10

Every run is a separate process. The pods of a node belong to different workloads. The cases: rules
of all kinds, of which few pods violate one; rules that each pod violates.
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
from benchmarks.commands import explaining
from benchmarks.process import orphans

_WORKLOADS = 500
_POLICY = """version 1
metric cpu_busy: ratio = `cpu` node instance
policy all {{
  for pods
  nodeAffinity required kubernetes.io/arch NotIn (arm64) as amd64
  podAntiAffinity required pods where app = guarded topologyKey kubernetes.io/hostname as alone
  topologySpread sameWorkload topologyKey topology.kubernetes.io/zone maxSkew {skew} as even
  reject when cpu_busy > {busy} missing allow as too-hot
  reject when count(pods where app = app-1) >= {count} as too-many
  reject when requested(cpu) > 80% * allocatable(cpu) as full
}}
"""
_CASES = {
    "few violations": {"skew": 30, "busy": "98%", "count": 3},
    "each pod violates a rule": {"skew": 30, "busy": "0%", "count": 3},
}


def _make_dump(nodes: int, pods_per_node: int) -> dict[str, Any]:
    """Return a cluster with running pods, of different workloads on a node."""
    dumped = explaining.dump(nodes, 0)
    for number in range(nodes * pods_per_node):
        workload = (number + number // nodes) % _WORKLOADS
        name, node = f"app-{workload}-{number}", f"node-{number % nodes}"
        dumped["items"].append(explaining.running_pod(name, node, workload))
    return dumped


def main(argv: list[str]) -> int:
    """Print the durations of `audit` by the size of the cluster and the case."""
    parser = options.Parser(prog="python -m benchmarks audit", description=__doc__)
    parser.add_argument("--nodes", type=options.numbers, default=[5000], metavar="N,N")
    parser.add_argument("--pods", type=options.at_least(1), default=10, help="pods per node")
    parser.add_argument("--repeat", type=options.at_least(1), default=3)
    args = parser.parse_args(argv)
    with orphans.folder_without_orphans() as folder:
        for nodes in args.nodes:
            _measure(folder, nodes, args.pods, args.repeat)
    return 0


def _measure(folder: pathlib.Path, nodes: int, pods_per_node: int, repeat: int) -> None:
    cluster, metrics = folder / "cluster.json", folder / "metrics.json"
    cluster.write_text(json.dumps(_make_dump(nodes, pods_per_node), indent=4))
    busy = {f"node-{number}": (1 + number % 99) / 100 for number in range(nodes)}
    metrics.write_text(json.dumps({"cpu_busy": busy}))
    print(f"{nodes} nodes, {nodes * pods_per_node} running pods")
    for case, values in _CASES.items():
        policy = folder / "all.policy"
        policy.write_text(_POLICY.format(**values))
        inputs = ["--cluster", str(cluster), "--metrics", str(metrics), str(policy)]
        inputs += ["--scheduler-name", "policysched"]
        runs = [_run(inputs) for _ in range(repeat)]
        seconds = [run[0] for run in runs]
        median, most = statistics.median(seconds), max(seconds)
        print(f"  {case}: median {median:.2f} s, most {most:.2f} s; {runs[0][1]}")


def _run(argv: list[str]) -> tuple[float, str]:
    """Return the wall seconds of an audit, and its first line."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "policysched", "audit", *argv],
        check=False,  # 1 if there are violations
        stdout=subprocess.PIPE,
        text=True,
    )
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 1):
        raise SystemExit(done.returncode)
    return seconds, done.stdout.split("\n", 1)[0]
