"""CPU time of a scheduling cycle in the share stage of a rollout, compared with one version.

python -m benchmarks rollout --nodes 1000,5000

Pods of two hundred workloads arrive one by one and are placed. In turn, one version decides about
all of them, or a new version decides about a share of the workloads. A new version differs in one
number.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
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
from policysched.rollout import pod_choice, settings
from tests.realcluster import manifests

TEXT = """
policy web {
  for pods
  reject when free(cpu) < 500m
  nodeAffinity preferred topology.kubernetes.io/zone Exists weight 10
  topologySpread self topologyKey topology.kubernetes.io/zone maxSkew 50
    whenUnsatisfiable ScheduleAnyway
}
"""
_WORKLOADS = 200
_PERCENTS = (0, 10, 50, 100)
Choose = Callable[[objects.Pod], bool]


def make_pod(number: int) -> dict[str, Any]:
    """Return a pod of one of the workloads, in turn."""
    kind = number % _WORKLOADS
    requests = {"cpu": f"{50 + 10 * (kind % 5)}m", "memory": f"{64 + kind % 7}Mi"}
    pod: dict[str, Any] = manifests.pod(f"p{number}", requests=requests)
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"w{kind}",
        "uid": f"o{kind}",
        "controller": True,
    }
    pod["metadata"] |= {
        "uid": f"u{number}",
        "namespace": "default",
        "labels": {"app": f"w{kind}"},
        "ownerReferences": [owner],
    }
    return pod


def _make_framework(cache: caches.Cache, text: str) -> runtime.Framework:
    made = policies.require_profiles(
        policies.make_profiles(
            policies.make_policy_set_from_texts([source.SourceText("web.policy", text)], {}),
            handles.Handle(handles.NoBinder(), cache.owners),
        )
    )
    ((_, prof),) = made.by_name.items()
    return runtime.Framework(prof, random.Random(1))


def measure(nodes: int, pods: int, percent: int) -> float:
    """Return the median CPU milliseconds of a cycle, while a new version has a share.

    With 0, there is one version and no choice.
    """
    cache = caches.Cache(clocks.SystemClock())
    old = _make_framework(cache, TEXT)
    new = _make_framework(cache, TEXT.replace("500m", "400m"))
    stage = settings.Stage(percent=float(percent))
    choice = pod_choice.PodChoice([stage], new.profile.policy_hash) if percent else None
    shapes = pod_shape.PodShapeCache(frozenset())
    for node in manifests.fleet(nodes):
        cache.set_node(msgspec.convert(node, objects.Node))
    arriving = [
        shapes.make_pod_info(msgspec.convert(make_pod(number), objects.Pod))
        for number in range(pods)
    ]
    seconds: list[float] = []
    for number, info in enumerate(arriving):
        started = time.thread_time()
        framework = new if choice is not None and choice(info.pod) else old
        result = framework.schedule_pod(info, cache.snapshot())
        if number >= _WORKLOADS:
            seconds.append(time.thread_time() - started)
        if result.node_name is None:
            raise SystemExit(f"pod {number} found no node: {result.message}")
        cache.assume_pod(info, result.node_name)
    return 1000 * statistics.median(seconds)


def _measure_in_turn(nodes: int, pods: int, repeat: int) -> Mapping[int, list[float]]:
    found: dict[int, list[float]] = {percent: [] for percent in _PERCENTS}
    for _ in range(repeat):
        for percent in _PERCENTS:
            with process.pause_garbage_collection():
                found[percent].append(measure(nodes, pods, percent))
    return found


def main(argv: list[str]) -> int:
    """Print milliseconds of CPU time for each share, and their ratio to one version."""
    parser = options.Parser(prog="python -m benchmarks rollout")
    parser.add_argument("--nodes", type=options.numbers, default=[1000, 5000], metavar="N,N")
    parser.add_argument("--pods", type=options.at_least(2 * _WORKLOADS), default=4000)
    parser.add_argument("--repeat", type=options.at_least(1), default=5)
    args = parser.parse_args(argv)
    print(f"{'nodes':>6}  {'new version':>11}  {'ms of CPU':>9}  {'ratio':>5}  (medians)")
    for nodes in args.nodes:
        found = _measure_in_turn(nodes, args.pods, args.repeat)
        for percent, values in found.items():
            ratios = [a / b for a, b in zip(values, found[0], strict=True)]
            ratio = f"{statistics.median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            print(f"{nodes:>6}  {percent:>10} %  {statistics.median(values):9.3f}  {ratio}")
    return 0
