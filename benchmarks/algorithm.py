"""The scheduling cycle alone: no API server, no queue, no I/O; one process, one thread."""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import dataclasses
import pstats
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from benchmarks import options, workload_files
from policysched import clock as clocks
from policysched.app import policies
from policysched.cluster import cache as caches
from policysched.cluster import objects, pod_shape
from policysched.framework import interface, runtime

_NAME = "policysched"


class _NoBinder:
    """Stands where a binder must be; no pod is bound here."""

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> interface.BindError | None:
        await asyncio.sleep(0)
        return interface.BindError(f"{pod.key} is not to be bound to {node_name}")


@dataclasses.dataclass(frozen=True)
class Setting:
    """What is timed: a workload at a size, under a profile of policy files."""

    workload: str
    nodes: int
    pods: int
    policies: Sequence[str] = ()
    profile: str = _NAME


class Run:
    """A cluster and its backlog, ready to be scheduled once."""

    def __init__(self, setting: Setting) -> None:
        """Build everything up to the first cycle."""
        workload = workload_files.load(setting.workload)
        self.cache = caches.Cache(clocks.SystemClock())
        policy_set = policies.load(setting.policies, {}, _NAME)
        handle = interface.Handle(_NoBinder(), self.cache.owners)
        made = policies.require(policies.make(policy_set, handle))
        self.framework = runtime.Framework(made.by_name[setting.profile], random.Random(1))
        shapes = pod_shape.PodShapes(made.annotation_keys)
        for node in workload.nodes(setting.nodes):
            self.cache.set_node(msgspec.convert(node, objects.Node))
        pods = workload.pods(setting.pods, setting.profile)
        self.infos = [shapes.info(_stored_pod(pod)) for pod in pods]

    def schedule(self) -> int:
        """Place all pods, one after the other; return how many found a place."""
        placed = 0
        for info in self.infos:
            result = self.framework.schedule_pod(info, self.cache.snapshot())
            if result.node_name is not None:
                self.cache.assume_pod(info, result.node_name)
                placed += 1
        return placed


def _stored_pod(pod: Mapping[str, Any]) -> objects.Pod:
    """Return a pod as the API server would give it out."""
    own = {"namespace": workload_files.NAMESPACE, "uid": pod["metadata"]["name"]}
    return msgspec.convert({**pod, "metadata": pod["metadata"] | own}, objects.Pod)


def main(argv: Sequence[str]) -> int:
    """Time the cases that the command line names and print a table."""
    args = _parser().parse_args(argv)
    print(f"{'workload':<10}{'nodes':>7}{'pods':>7}{'placed':>8}{'pods/s':>9}{'µs/pod':>9}")
    for shape in args.shapes:
        for nodes in args.nodes:
            setting = Setting(shape, nodes, args.pods, args.policies, args.scheduler_name)
            _time(setting, args.repeat)
            if args.profile:
                _profile(setting, args.profile)
    return 0


def _time(setting: Setting, repeats: int) -> None:
    seconds, placed = [], 0
    for _ in range(repeats):
        run = Run(setting)
        started = time.perf_counter()
        placed = run.schedule()
        seconds.append(time.perf_counter() - started)
    median = statistics.median(seconds)
    print(
        f"{setting.workload:<10}{setting.nodes:>7}{setting.pods:>7}{placed:>8}"
        f"{setting.pods / median:>9.0f}{1e6 * median / setting.pods:>9.0f}"
    )


def _profile(setting: Setting, lines: int) -> None:
    run = Run(setting)
    profiler = cProfile.Profile()
    profiler.runcall(run.schedule)
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks algorithm", description="Time the scheduling cycle alone."
    )
    parser.add_argument("--nodes", type=options.numbers, default=[1000, 5000], metavar="N,N")
    parser.add_argument("--shapes", type=options.words, default=["plain", "mixed"], metavar="A,B")
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--policies", action="append", default=[], metavar="PATH")
    parser.add_argument("--scheduler-name", default=_NAME, metavar="PROFILE")
    parser.add_argument(
        "--profile",
        type=int,
        nargs="?",
        const=30,
        metavar="LINES",
        help="say where the time goes, by functions",
    )
    return parser
