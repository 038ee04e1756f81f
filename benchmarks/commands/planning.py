"""Durations of `plan` from a cold start, on a dump in the format of kubectl.

python -m benchmarks plan --nodes 1000 --pods 5 --pending 500

Every run is a separate process. The cases: a new rule and a changed weight, by which all pods lose
nodes; edits by which all pods move, with a search for the cause of each move; one edit of a policy
that selects few pods.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks import options
from benchmarks.commands import explaining
from benchmarks.process import orphans
from tests.realcluster import manifests

_METRIC = "version 1\nmetric cpu_busy: ratio = `cpu` node instance\n"
_LOW_CPU = (
    "score cpu_busy prefer low normalize linear(0%, 100%) missing score 0 weight {} as low-cpu\n"
)
_HOT = "reject when cpu_busy > 50% missing allow as too-hot\n"
_CASES = {
    "all pods lose nodes": (
        "policy all { for pods\n" + _LOW_CPU.format(2) + "}",
        "policy all { for pods\n" + _LOW_CPU.format(3) + _HOT + "}",
    ),
    "all pods move": (
        "policy all { for pods\n" + _LOW_CPU.format(2) + "}",
        "policy all { for pods\n"
        + "".join(rule.replace("prefer low", "prefer high") for rule in (_LOW_CPU.format(40), _HOT))
        + "score free(memory) prefer low weight 30 as full\n}",
    ),
    "few pods concerned": (
        "policy few { for pods where app = app-1\n" + _LOW_CPU.format(2) + "}",
        "policy few { for pods where app = app-1\n" + _LOW_CPU.format(40) + "}",
    ),
}


_WORKLOADS = 100


def _make_dump(nodes: int, pods_per_node: int, pending: int) -> dict[str, Any]:
    """Return a cluster with running pods, of different workloads on a node, and pending pods."""
    dumped = explaining.dump(nodes, 0)
    for number in range(nodes * pods_per_node):
        workload = (number + number // nodes) % _WORKLOADS
        name, node = f"app-{workload}-{number}", f"node-{number % nodes}"
        dumped["items"].append(explaining.running_pod(name, node, workload))
    for number in range(pending):
        size = {"cpu": f"{100 + number % 10}m", "memory": "128Mi"}
        pod: dict[str, Any] = manifests.pod(f"waiting-{number}", requests=size)
        pod["metadata"] |= {"namespace": "default", "labels": {"app": f"app-{number % 10}"}}
        dumped["items"].append(pod)
    return dumped


def main(argv: list[str]) -> int:
    """Print the durations of `plan` by the size of the cluster and the case."""
    parser = options.Parser(prog="python -m benchmarks plan", description=__doc__)
    parser.add_argument("--nodes", type=options.numbers, default=[1000], metavar="N,N")
    parser.add_argument("--pods", type=options.at_least(0), default=5, help="running pods per node")
    parser.add_argument("--pending", type=options.at_least(0), default=500, help="pending pods")
    parser.add_argument("--repeat", type=options.at_least(1), default=3)
    args = parser.parse_args(argv)
    with orphans.folder_without_orphans() as folder:
        for nodes in args.nodes:
            _measure(folder, nodes, args)
    return 0


def _measure(folder: pathlib.Path, nodes: int, args: argparse.Namespace) -> None:
    cluster, metrics = folder / "cluster.json", folder / "metrics.json"
    cluster.write_text(json.dumps(_make_dump(nodes, args.pods, args.pending), indent=4))
    busy = {f"node-{number}": number % 90 / 100 for number in range(nodes)}
    metrics.write_text(json.dumps({"cpu_busy": busy}))
    print(f"{nodes} nodes, {nodes * args.pods} running pods, {args.pending + 2} pending")
    for case, texts in _CASES.items():
        paths = [folder / "old.policy", folder / "new.policy"]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(_METRIC + text)
        arguments = ["--from", str(paths[0]), "--to", str(paths[1]), "--metrics", str(metrics)]
        runs = [_run(["--cluster", str(cluster), *arguments]) for _ in range(args.repeat)]
        wall_seconds, cpu_seconds = [run[0] for run in runs], [run[1] for run in runs]
        print(
            f"  {case}: median {statistics.median(wall_seconds):.2f} s, "
            f"most {max(wall_seconds):.2f} s; CPU median {statistics.median(cpu_seconds):.2f} s"
        )
        print(f"    {runs[0][2]}")


def _run(argv: list[str]) -> tuple[float, float, str]:
    """Return the wall and CPU seconds of a plan, and the summary in its first line."""
    started, cpu_before = time.perf_counter(), _read_children_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "policysched", "plan", "--fail-on", "never", *argv],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    wall_seconds = time.perf_counter() - started
    summary = done.stdout.split("\n", 1)[0].partition(", ")[2]
    return wall_seconds, _read_children_seconds() - cpu_before, summary


def _read_children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
