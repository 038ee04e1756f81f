"""Durations of policy reloads, and the stalls of the event loop that they cause.

python -m benchmarks reloads --nodes 5000 --rules 100 --placed 50000 --pending 1000

Two policies are measured: one of generated rules, and `benchmarks/policies/rules-100.policy`, whose
cost per pod `python -m benchmarks policies` measures. The reloader of a scheduler with a full
cluster receives one version after the other, as from a source; meanwhile, the loop only takes turns
(see `stalls`). In the second series, versions that read annotations alternate with versions that do
not, so that all pods are examined again. After each reload one pod is decided, without cached
answers. One pod arrives during each reload; at the end all waiting pods are decided, and the pods
that no version has placed are counted.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import gc
import logging
import random
import statistics
import time
from collections.abc import Sequence
from typing import Protocol

import msgspec

from benchmarks import options
from benchmarks.cycle import policy_costs
from benchmarks.records import goals
from benchmarks.running import stalls
from policysched import process
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.config import config
from policysched.framework import handles
from policysched.lang import source
from policysched.profiles import policies
from policysched.reload import live_profiles, reloader, state, versions
from tests.realcluster import manifests
from tests.scheduler import fakes


class TextMaker(Protocol):
    """Makes versions of a policy."""

    def __call__(self, number: int, *, reads_annotations: bool) -> str:
        """Return the text of a version."""


_SHIPPED = policy_costs.FOLDER / "rules-100.policy"
_SHIPPED_HEAD = "policy hundred {\n  for pods\n"
_GOAL_SECONDS, _GOAL_RULES, _GOAL_NODES = 0.2, 100, 5000
_SHIPPED_RULES = 100
_PODS_PER_NODE = 100


def make_shipped_text(number: int, *, reads_annotations: bool) -> str:
    """Return rules-100.policy; `number` makes its text unique."""
    condition = "where annotation(team) != none" if reads_annotations else ""
    head = f"policy v{number} {{\n  for pods {condition}\n"
    content = _SHIPPED.read_text(encoding="utf-8")
    return content.replace(_SHIPPED_HEAD, head)


def make_generated_text(rules: int, number: int, *, reads_annotations: bool) -> str:
    """Return a policy with rules of several kinds; `number` makes its text unique."""
    kinds = (
        "nodeAffinity required pool-{n} NotIn (x{n}, y{n}) and zone-{n} DoesNotExist",
        "score free(cpu) / allocatable(cpu) - {n}% prefer high missing score 0 weight 5 as s{n}",
        "reject when requests(cpu) > 900 and node(disk-{n} In (ssd)) as r{n}",
        "nodeAffinity preferred rack-{n} In (a, b) weight 7 as p{n}",
    )
    lines = [kinds[n % len(kinds)].format(n=n) for n in range(rules)]
    condition = "where annotation(team) != none" if reads_annotations else ""
    return f"policy v{number} {{\n  for pods {condition}\n  " + "\n  ".join(lines) + "\n}\n"


class _Binder:
    """Records the bound pods."""

    def __init__(self) -> None:
        self.bound: set[str] = set()

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> handles.BindError | None:
        del node_name
        await asyncio.sleep(0)
        self.bound.add(pod.key)
        return None


class Scene:
    """A scheduler with a full cluster, and the reloader of its policies."""

    def __init__(self, args: argparse.Namespace, make_text: TextMaker) -> None:
        """Build the cluster, the scheduler and the reloader."""
        self._make_text = make_text
        self._binder = _Binder()
        self._waiting: int = args.pending
        self.world = fakes.World()
        clock = self.world.clock
        checker = versions.VersionChecker(config.Config(), None)
        handle = handles.Handle(self._binder, self.world.cache.owners)
        live = live_profiles.LiveProfiles(self.world.scheduler, None, clock, random.Random(1))
        known = self.offer(0)
        first = checker.check_version(known)
        if isinstance(first, versions.VersionRefusal):
            raise SystemExit(first.details)
        profiles = policies.require_profiles(
            policies.make_profiles(first.policy_set, handle, first.compiled)
        )
        live.use_version(first.policy_set, profiles)
        in_use = state.VersionInUse(first.hash, first.texts, clock.now())
        self.state = state.PolicyState("benchmark", in_use)
        make = reloader.make_profiles_factory(lambda _: handle)
        self.reloads = reloader.Reloader(checker, self.state, live, make, clock, known=known)
        for number in range(args.nodes):
            node = msgspec.convert(policy_costs.node(number), objects.Node)
            self.world.nodes.upsert(node)
        for number in range(args.placed):
            team = "edge" if number < args.annotated else ""
            self.world.pods.upsert(
                _make_pod(f"placed-{number}", policy_costs.node_name(number % args.nodes), team)
            )
        for number in range(args.pending):
            self.world.pods.upsert(_make_pod(f"pending-{number}"))

    def offer(self, number: int, *, reads_annotations: bool = False) -> versions.OfferedVersion:
        """Return the version with this number."""
        text = self._make_text(number, reads_annotations=reads_annotations)
        return versions.OfferedVersion((source.SourceText("big.policy", text),))

    async def reload(self, offer: versions.OfferedVersion) -> float:
        """Reload, and return the seconds until the version is in use."""
        began = time.perf_counter()
        done = asyncio.get_running_loop().create_future()
        listeners = self.state.listeners
        listeners[:] = [lambda _version: done.set_result(None)]
        self.reloads.submit_offer(offer)
        self.world.pods.upsert(_make_pod(f"meanwhile-{self._waiting}"))
        self._waiting += 1
        await done
        if self.state.refused is not None:
            raise SystemExit(self.state.refused.details)
        return time.perf_counter() - began

    async def count_missed(self) -> int:
        """Decide all waiting pods; return how many pods no version has placed."""
        await self.world.settle()
        return self._waiting - len(self._binder.bound)


def _make_pod(name: str, node: str = "", team: str = "") -> objects.Pod:
    manifest = manifests.pod(
        name,
        scheduler_name="policysched",
        requests={"cpu": "100m", "memory": "100Mi"},
        labels={"app": f"app-{len(name)}"},
    )
    manifest["metadata"] |= {"namespace": "default", "uid": name, "resourceVersion": "1"}
    if team:
        manifest["metadata"]["annotations"] = {"team": team}
    if node:
        manifest["spec"]["nodeName"] = node
    return msgspec.convert(manifest, objects.Pod)


async def _run(scene: Scene, rounds: int, *, with_goal: bool) -> int:
    """Print the figures of a policy; return the number of missed pods."""
    turns = stalls.Turns()
    tasks = (asyncio.create_task(turns.take()), asyncio.create_task(scene.reloads.run()))
    for changes_annotations in (False, True):
        seconds = await _measure(scene, rounds, turns, changes_annotations=changes_annotations)
        if with_goal:
            print(f"  {format_goal(seconds)}")
    missed = await scene.count_missed()
    print(f"  pods that waited or arrived meanwhile and were missed: {missed}")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return missed


async def _measure(
    scene: Scene, rounds: int, turns: stalls.Turns, *, changes_annotations: bool
) -> Sequence[float]:
    """Print the durations of reloads, and return them in seconds."""
    seconds: list[float] = []
    cycles: list[float] = []
    walls: list[float] = []
    cpus: list[float] = []
    for number in range(1, rounds + 1):
        reads = changes_annotations and number % 2 == 1
        await asyncio.sleep(0.2)
        turns.begin()
        seconds.append(
            await scene.reload(scene.offer(len(seconds) + number, reads_annotations=reads))
        )
        await asyncio.sleep(0)
        walls.append(turns.wall_seconds)
        cpus.append(turns.cpu_seconds)
        began = time.perf_counter()
        scene.world.scheduler.schedule_one()
        cycles.append(time.perf_counter() - began)
    print("annotations that policies read change" if changes_annotations else "rules change")
    for name, values in (
        ("until it is in use", seconds),
        ("longest stall, wall time", walls),
        ("longest stall, CPU of the loop", cpus),
        ("first decision after it", cycles),
    ):
        median, worst = statistics.median(values), max(values)
        print(f"  {name:31} median {median * 1e3:7.1f} ms   worst {worst * 1e3:7.1f} ms")
    return seconds


def has_goal(rules: int, nodes: int) -> bool:
    """Return whether there is a goal for policies and clusters of this size."""
    return (rules, nodes) == (_GOAL_RULES, _GOAL_NODES)


def format_goal(seconds: Sequence[float]) -> str:
    """Return the goal, and whether the median of the reloads meets it."""
    verdict = goals.format_verdict(len(seconds), is_met=statistics.median(seconds) < _GOAL_SECONDS)
    limit = f"less than {1000 * _GOAL_SECONDS:.0f} ms in the median"
    return f"goal for {_GOAL_RULES} rules at {_GOAL_NODES:,} nodes: {limit}: {verdict}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; exit with 1 if a pod was missed."""
    parser = options.Parser(prog="python -m benchmarks reloads")
    parser.add_argument("--nodes", type=options.at_least(1), default=5000)
    parser.add_argument("--rules", type=options.at_least(1), default=100)
    parser.add_argument("--placed", type=options.at_least(0), default=50_000)
    parser.add_argument("--pending", type=options.at_least(0), default=1000)
    parser.add_argument(
        "--annotated",
        type=options.at_least(0),
        default=0,
        help="placed pods with the annotation that policies read",
    )
    parser.add_argument("--rounds", type=options.at_least(1), default=10)
    args = parser.parse_args(argv)
    if args.placed + args.pending + 2 * args.rounds > _PODS_PER_NODE * args.nodes:
        parser.error(f"argument --placed: there is room for {_PODS_PER_NODE} pods on each node")
    logging.disable()
    missed = 0
    make_generated = functools.partial(make_generated_text, args.rules)
    makers: dict[str, tuple[int, TextMaker]] = {
        f"{args.rules} generated rules": (args.rules, make_generated),
        _SHIPPED.name: (_SHIPPED_RULES, make_shipped_text),
    }
    for name, (rules, make_text) in makers.items():
        scene = Scene(args, make_text)
        process.exempt_objects_from_gc()
        print(
            f"{name}: {args.nodes} nodes, {args.placed} pods on them, {args.pending} waiting, "
            f"{args.rounds} reloads each"
        )
        with_goal = has_goal(rules, args.nodes)
        missed += asyncio.run(_run(scene, args.rounds, with_goal=with_goal))
        gc.unfreeze()
    return 1 if missed else 0
