"""CPU time of a shadow policy: of a scheduling cycle, and of the additional shadow decision.

python -m benchmarks shadow --nodes 1000,5000

Pods of fifty workloads arrive one by one and are placed. kube-scheduler's plugins decide each pod
with an enforced policy, and again with an additional policy in shadow mode.
"""

from __future__ import annotations

import random
import statistics
import time
from typing import Any

import msgspec

from benchmarks import options
from policysched import clock as clocks
from policysched import process
from policysched.cluster import cache as caches
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, runtime
from policysched.lang import source
from policysched.profiles import policies
from tests.realcluster import manifests

_TEXT = """
policy now {
  for pods
  nodeAffinity preferred topology.kubernetes.io/zone Exists weight 10
  topologySpread self topologyKey topology.kubernetes.io/zone maxSkew 50
    whenUnsatisfiable ScheduleAnyway
}
policy next {
  mode shadow
  for pods
  reject when free(cpu) < 500m
  score MostAllocated(cpu: 1, memory: 1) weight 5
}
"""
_WORKLOADS = 50


def _make_pod(number: int) -> dict[str, Any]:
    kind = number % _WORKLOADS
    requests = {"cpu": f"{50 + 10 * (kind % 5)}m", "memory": f"{64 + kind % 7}Mi"}
    pod: dict[str, Any] = manifests.pod(f"p{number}", requests=requests)
    pod["metadata"] |= {"uid": f"u{number}", "namespace": "default", "labels": {"app": f"w{kind}"}}
    return pod


def measure(nodes: int, pods: int) -> tuple[list[float], list[float]]:
    """Return CPU seconds of each real cycle, and of each shadow decision."""
    cache = caches.Cache(clocks.SystemClock())
    profiles = policies.require_profiles(
        policies.make_profiles(
            policies.make_policy_set_from_texts([source.SourceText("shadow.policy", _TEXT)], {}),
            handles.Handle(handles.NoBinder(), cache.owners),
        )
    )
    ((name, prof),) = profiles.by_name.items()
    framework = runtime.Framework(prof, random.Random(1))
    (candidate,) = profiles.shadows[name]
    shapes = pod_shape.PodShapeCache(profiles.annotation_keys)
    for node in manifests.fleet(nodes):
        cache.set_node(msgspec.convert(node, objects.Node))
    real_seconds: list[float] = []
    shadow_seconds: list[float] = []
    for number in range(pods):
        info = shapes.make_pod_info(msgspec.convert(_make_pod(number), objects.Pod))
        started = time.thread_time()
        snap = cache.snapshot()
        result = framework.schedule_pod(info, snap)
        real_seconds.append(time.thread_time() - started)
        started = time.thread_time()
        candidate.decide(info, snap, result)
        shadow_seconds.append(time.thread_time() - started)
        if result.node_name is None:
            raise SystemExit(f"pod {number} found no node: {result.message}")
        cache.assume_pod(info, result.node_name)
    return real_seconds[_WORKLOADS:], shadow_seconds[_WORKLOADS:]


def main(argv: list[str]) -> int:
    """Print milliseconds of CPU time: mean, median, 99th percentile."""
    parser = options.Parser(prog="python -m benchmarks shadow")
    parser.add_argument("--nodes", type=options.numbers, default=[1000, 5000], metavar="N,N")
    parser.add_argument("--pods", type=options.at_least(2 * _WORKLOADS), default=2000)
    args = parser.parse_args(argv)
    print(f"{'nodes':>6}  {'decision':8}  {'mean':>7}  {'median':>7}  {'p99':>7}  ms of CPU time")
    for nodes in args.nodes:
        with process.pause_garbage_collection():
            measured = measure(nodes, args.pods)
        for decision, seconds in zip(("real", "shadow"), measured, strict=True):
            ms = sorted(1000 * each for each in seconds)
            p99 = ms[int(0.99 * len(ms))]
            middle = f"{statistics.fmean(ms):7.3f}  {statistics.median(ms):7.3f}  {p99:7.3f}"
            print(f"{nodes:>6}  {decision:8}  {middle}")
    return 0
