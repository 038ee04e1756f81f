"""CPU time per pod of scheduling cycles with policies, as a ratio to cycles without policies.

python -m benchmarks policies --nodes 1000,5000

Each set of rules of `benchmarks/policies` and the empty set have separate clusters. The clusters
take turns of some pods each, so that all of them meet the same noise of the machine; a ratio is the
median over turns. Without API server and queue, only the cycle and the assume of the pod are timed.
"""

from __future__ import annotations

import argparse
import cProfile
import pathlib
import pstats
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from benchmarks import options
from policysched import clock as clocks
from policysched import process
from policysched.cluster import cache as caches
from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, runtime
from policysched.profiles import policies
from tests.realcluster import manifests

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "policies"
EMPTY = "none"
EQUAL, DIFFERENT, TENANTS = "equal", "different", "tenants"
_TENANTS = 500
_PODS_PER_TURN = 50
"""Number of pods in a turn."""
_GOAL_RULES, _GOAL_NODES, _GOAL_AT_MOST = "rules-100", 5000, 1.3
"""The goal for the ratio of a hundred rules to none."""
_METRICS = ("node_cpu", "node_memory", "node_disk_io", "node_disk_space", "node_network")


class Cluster:
    """A cluster whose pods are placed under one set of rules."""

    def __init__(self, rule_set: str, nodes: int, pods: str) -> None:
        """Build everything up to the first cycle; `pods` are EQUAL, DIFFERENT or TENANTS."""
        paths = [] if rule_set == EMPTY else [str(FOLDER / f"{rule_set}.policy")]
        self._cache = caches.Cache(clocks.SystemClock())
        profiles = policies.require_profiles(
            policies.make_profiles(policies.load_policy_set(paths, {}), handles.Handle())
        )
        (prof,) = profiles.by_name.values()
        self._cache.retain_needed_metric_data(profiles.metric_needs)
        self._framework = runtime.Framework(prof, random.Random(1))
        self._shapes = pod_shape.PodShapeCache(profiles.annotation_keys)
        self._pods = pods
        for number in range(nodes):
            self._cache.set_node(msgspec.convert(node(number), objects.Node))
        self._measure(nodes)

    def _measure(self, nodes: int) -> None:
        rng, now = random.Random(1), time.time()
        for metric in _METRICS:
            samples = {
                node_name(number): metric_table.Sample(rng.uniform(0.1, 0.6), now)
                for number in range(nodes)
            }
            self._cache.metrics.refresh(metric, samples)

    def infos(self, numbers: range) -> list[pod_shape.PodInfo]:
        """Return pods as the queue returns them."""
        return [
            self._shapes.make_pod_info(msgspec.convert(_make_pod(n, self._pods), objects.Pod))
            for n in numbers
        ]

    def place(self, infos: Sequence[pod_shape.PodInfo]) -> None:
        """Schedule and assume pods."""
        for info in infos:
            result = self._framework.schedule_pod(info, self._cache.snapshot())
            if result.node_name is None:
                raise SystemExit(f"{info.key} found no node: {result.message}")
            self._cache.assume_pod(info, result.node_name)


def node_name(number: int) -> str:
    """Return the name of a node."""
    return f"node-{number:05}"


def node(number: int) -> dict[str, Any]:
    """Return a node with the labels that the policies read."""
    labels = {
        manifests.ZONE: f"zone-{number % 3}",
        "topology.kubernetes.io/region": "region-1",
        "rack": f"rack-{number % 50}",
        "pool": ("general", "batch-1", "small-2")[number % 7 % 3],
        "disk": ("ssd", "hdd")[number % 5 // 4],
        "generation": str(1 + number % 4),
        "tenant": f"tenant-{number % _TENANTS}",
    }
    resources = {"cpu": "32", "memory": "64Gi", "pods": "110"}
    name = node_name(number)
    manifest: dict[str, Any] = manifests.node(name, labels=labels, resources=resources)
    return manifest


def _make_pod(number: int, pods: str) -> dict[str, Any]:
    """Return a pod of one Deployment.

    Each of the DIFFERENT pods has a unique label; TENANTS pods are of one tenant after the other.
    """
    labels = {"app": "web", "pod-template-hash": "5f7d"}
    if pods == DIFFERENT:
        labels["job"] = f"job-{number}"
    if pods == TENANTS:
        labels["tenant"] = f"tenant-{number % _TENANTS}"
    requests = {"cpu": "100m", "memory": "128Mi"}
    manifest: dict[str, Any] = manifests.pod(f"p{number}", requests=requests, labels=labels)
    manifest["metadata"] |= {"uid": f"u{number}", "namespace": "default"}
    return manifest


def cpu_seconds(clusters: Sequence[Cluster], pods: int) -> Iterator[list[float]]:
    """Yield the seconds of each cluster for each turn but the first one, which warms up.

    Every second turn visits the clusters in reverse order.
    """
    order = list(range(len(clusters)))
    for first in range(0, pods, _PODS_PER_TURN):
        seconds = [0.0] * len(clusters)
        for index in order:
            infos = clusters[index].infos(range(first, first + _PODS_PER_TURN))
            with process.pause_garbage_collection():
                started = time.thread_time()
                clusters[index].place(infos)
                seconds[index] = time.thread_time() - started
        order.reverse()  # so that no cluster always follows the same one
        if first:
            yield seconds


def _compare(rule_sets: Sequence[str], nodes: int, kind: str, pods: int) -> None:
    clusters = [Cluster(each, nodes, kind) for each in (EMPTY, *rule_sets)]
    turns = list(cpu_seconds(clusters, pods))
    for index, name in enumerate((EMPTY, *rule_sets)):
        micros = 1e6 / _PODS_PER_TURN * statistics.median(turn[index] for turn in turns)
        ratio = statistics.median(turn[index] / turn[0] for turn in turns)
        goal = _format_goal(name, nodes, ratio, len(turns))
        print(f"{nodes:>6}  {kind:<10}{name:<16}{micros:>9.0f}{ratio:>8.2f}{goal}", flush=True)


def _format_goal(rule_set: str, nodes: int, ratio: float, turns: int) -> str:
    """Return the goal and whether it is met; "" if there is none."""
    if (rule_set, nodes) != (_GOAL_RULES, _GOAL_NODES):
        return ""
    verdict = "met" if ratio <= _GOAL_AT_MOST else "MISSED"
    return f"  ≤ {_GOAL_AT_MOST:g} {verdict} by the median of {turns} turns"


def _profile(rule_set: str, nodes: int, kind: str, lines: int) -> None:
    cluster = Cluster(rule_set, nodes, kind)
    cluster.place(cluster.infos(range(_PODS_PER_TURN)))
    infos = cluster.infos(range(_PODS_PER_TURN, 1000))
    profiler = cProfile.Profile()
    profiler.runcall(cluster.place, infos)
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(lines)


def main(argv: Sequence[str]) -> int:
    """Print a table, or a profile."""
    args = _make_parser().parse_args(argv)
    if not args.profile:
        print(f"{'nodes':>6}  {'pods':<10}{'rules':<16}{'µs/pod':>9}{'ratio':>8}  goal")
    for nodes in args.nodes:
        for kind in args.pods_are:
            if args.profile:
                for rule_set in args.rules:
                    _profile(rule_set, nodes, kind, args.profile)
            else:
                _compare(args.rules, nodes, kind, args.pods)
    return 0


def _make_parser() -> argparse.ArgumentParser:
    parser = options.Parser(
        prog="python -m benchmarks policies",
        description="Measure the CPU time of cycles with policies.",
    )
    names = sorted(path.stem for path in FOLDER.glob("*.policy"))
    parser.add_argument("--nodes", type=options.numbers, default=[1000, 5000], metavar="N,N")
    parser.add_argument("--rules", type=options.some_of(names), default=names, metavar="A,B")
    parser.add_argument(
        "--pods-are",
        type=options.some_of([EQUAL, DIFFERENT, TENANTS]),
        default=[EQUAL, DIFFERENT],
        metavar="A,B",
    )
    parser.add_argument(
        "--pods",
        type=options.at_least(2 * _PODS_PER_TURN),
        default=1000,
        help="pods of each cluster; the first ones warm up",
    )
    options.add_profile(parser)
    return parser
