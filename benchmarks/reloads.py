"""How long a reload of the policies takes, and how long it holds up the event loop meanwhile.

python -m benchmarks reloads --nodes 5000 --rules 100 --placed 50000 --pending 1000

Versions come one after the other, as a source offers them, to a scheduler whose cluster is full of
pods. Meanwhile the loop does nothing but take turns (see `stalls`). Versions that read annotations
alternate with such that do not: then all pods are looked at anew. After each reload one pod is
decided, for which nothing is known yet.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import statistics
import time
from collections.abc import Sequence

import msgspec

from benchmarks import stalls
from policysched.app import config, live_profiles, policies, process
from policysched.app.reload import reloader, state, versions
from policysched.cluster import objects
from policysched.framework import interface
from policysched.lang import source
from tests.realcluster import manifests
from tests.scheduler import fakes


def text(rules: int, number: int, *, reads_annotations: bool) -> str:
    """Return a policy with rules of several kinds; `number` makes it another one."""
    kinds = (
        "nodeAffinity required pool-{n} NotIn (x{n}, y{n}) and zone-{n} DoesNotExist",
        "score free(cpu) / allocatable(cpu) - {n}% prefer high missing score 0 weight 5 as s{n}",
        "reject when requests(cpu) > 900 and node(disk-{n} In (ssd)) as r{n}",
        "nodeAffinity preferred rack-{n} In (a, b) weight 7 as p{n}",
    )
    lines = [kinds[n % len(kinds)].format(n=n) for n in range(rules)]
    where = "where annotation(team) != nobody" if reads_annotations else ""
    return f"policy v{number} {{\n  for pods {where}\n  " + "\n  ".join(lines) + "\n}\n"


class _NoBinder:
    """Stands where a binder must be; no pod is bound here."""

    async def bind(self, pod: object, node_name: str) -> interface.BindError | None:
        await asyncio.sleep(0)
        return interface.BindError(f"{pod} is not to be bound to {node_name}")


class Scene:
    """A scheduler whose cluster is full of pods, and what reloads its policies."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Build everything."""
        self._rules: int = args.rules
        self.world = fakes.World()
        clock = self.world.clock
        recipe = versions.Recipe(config.Config(), None)
        handle = interface.Handle(_NoBinder(), self.world.cache.owners)
        live = live_profiles.LiveProfiles(self.world.scheduler, None, clock, random.Random(1))
        known = self.offer(0)
        first = recipe.check(known)
        if isinstance(first, versions.Refusal):
            raise SystemExit(first.details)
        made = policies.require(policies.make(first.policy_set, handle, first.compiled))
        live.use(first.policy_set, made)
        in_use = state.VersionInUse(first.hash, first.texts, clock.now())
        self.state = state.PolicyState("benchmark", in_use)
        make = reloader.profiles_by(handle)
        self.reloads = reloader.Reloader(recipe, self.state, live, make, clock, known=known)
        for number in range(args.nodes):
            node = manifests.node(_node(number), resources={"pods": "110", "cpu": "64"})
            self.world.nodes.upsert(msgspec.convert(node, objects.Node))
        for number in range(args.placed):
            team = "edge" if number < args.annotated else ""
            self.world.pods.upsert(_pod(f"placed-{number}", _node(number % args.nodes), team))
        for number in range(args.pending):
            self.world.pods.upsert(_pod(f"pending-{number}"))

    def offer(self, number: int, *, reads_annotations: bool = False) -> versions.Offer:
        """Return a version."""
        made = text(self._rules, number, reads_annotations=reads_annotations)
        return versions.Offer((source.SourceText("big.policy", made),))

    async def reload(self, offer: versions.Offer) -> float:
        """Return how many seconds it takes until the version is in use."""
        began = time.perf_counter()
        done = asyncio.get_running_loop().create_future()
        listeners = self.state.listeners
        listeners[:] = [lambda _told: done.set_result(None)]
        self.reloads.take(offer)
        await done
        if self.state.refused is not None:
            raise SystemExit(self.state.refused.details)
        return time.perf_counter() - began


def _node(number: int) -> str:
    return f"node-{number}"


def _pod(name: str, node: str = "", team: str = "") -> objects.Pod:
    made = manifests.pod(
        name,
        scheduler_name="policysched",
        requests={"cpu": "100m", "memory": "100Mi"},
        labels={"app": f"app-{len(name)}"},
    )
    made["metadata"] |= {"namespace": "default", "uid": name, "resourceVersion": "1"}
    if team:
        made["metadata"]["annotations"] = {"team": team}
    if node:
        made["spec"]["nodeName"] = node
    return msgspec.convert(made, objects.Pod)


async def _run(scene: Scene, rounds: int) -> None:
    turns = stalls.Turns()
    tasks = (asyncio.create_task(turns.take()), asyncio.create_task(scene.reloads.run()))
    for changes_annotations in (False, True):
        await _measure(scene, rounds, turns, changes_annotations=changes_annotations)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _measure(
    scene: Scene, rounds: int, turns: stalls.Turns, *, changes_annotations: bool
) -> None:
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


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks reloads")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--rules", type=int, default=100)
    parser.add_argument("--placed", type=int, default=50_000)
    parser.add_argument("--pending", type=int, default=1000)
    parser.add_argument(
        "--annotated", type=int, default=0, help="pods with the annotation that policies read"
    )
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args(argv)
    scene = Scene(args)
    process.settle_memory()
    print(
        f"{args.nodes} nodes, {args.placed} pods on them, {args.pending} waiting, "
        f"{args.rules} rules, {args.rounds} reloads each"
    )
    logging.disable()
    asyncio.run(_run(scene, args.rounds))
    return 0
