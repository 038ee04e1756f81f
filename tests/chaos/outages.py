"""Take away, damage and slow down what the scheduler stands on, one thing after the other.

    python -m tests.chaos.outages --rounds 24 --seed 1

Each round fills a cluster to its last place while something is wrong for a while. Afterwards every
pod has to have a node, no node more than it can take, and no pod may have been bound twice. What is
printed is how long after the end of the trouble the next pod was bound, and by when all were.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING

from tests import whole_numbers
from tests.chaos import patient_client, troubles
from tests.e2e.scenes import failover_scene, jumping_clock, scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import faulty_proxy, manifests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.realcluster import api_client

NODES, PODS_PER_NODE = 15, 20
PODS = NODES * PODS_PER_NODE
PER_SECOND = 20
NAMESPACE = "chaos"
_BATCH = 5


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a round took.

    Attributes:
        next_seconds: from the end of the trouble to the next binding, 0 where none was left.
        all_seconds: from there until all pods were bound.
    """

    next_seconds: float
    all_seconds: float


class Outages:
    """One cluster, one scheduler, many rounds.

    Attributes:
        outcomes: by trouble.
        violations: what must not have happened.
    """

    def __init__(self, scene: troubles.Scene, client: api_client.ApiClient, seconds: float) -> None:
        self.outcomes: dict[str, list[Outcome]] = collections.defaultdict(list)
        self.violations: list[str] = []
        self._scene = scene
        self._client = client
        self._seconds = seconds

    def round(self, number: int, name: str) -> None:
        """Fill the cluster during a trouble, look, and empty it again."""
        scene, bound = self._scene, self._scene.proxy.bound
        bound.clear()
        load = threading.Thread(target=self._create_pods, args=(number,), daemon=True)
        load.start()
        failover_scene.wait_until(lambda: len(bound) >= PODS // 10)
        trouble_seconds = min(self._seconds, troubles.LONGEST_SECONDS.get(name, self._seconds))
        with troubles.TROUBLES[name](scene):
            threading.Event().wait(trouble_seconds)
        ended_at = time.monotonic()
        load.join()
        scene.scheduler.wait_until(self._all_are_bound, time_limit_seconds=300.0)
        times = [at for at, _ in list(bound) if at > ended_at]
        outcome = Outcome(
            min(times, default=ended_at) - ended_at, max(times, default=ended_at) - ended_at
        )
        self._judge(number, name, outcome)
        for kind in ("pods", "events"):
            self._client.delete(f"/api/v1/namespaces/{NAMESPACE}/{kind}")

    def _create_pods(self, number: int) -> None:
        pause = threading.Event()
        for first in range(0, PODS, _BATCH):
            names = [f"round-{number}-{each}" for each in range(first, first + _BATCH)]
            pods = [manifests.pod(name, scheduler_name="policysched") for name in names]
            self._client.create_pods(NAMESPACE, pods)
            pause.wait(_BATCH / PER_SECOND)

    def _all_are_bound(self) -> bool:
        return not self._client.items("/api/v1/pods", fieldSelector="spec.nodeName=")

    def _judge(self, number: int, name: str, outcome: Outcome) -> None:
        found = failover_scene.violations(self._client)
        twice = collections.Counter(path for _, path in list(self._scene.proxy.bound))
        found += [f"{path} was accepted twice" for path, count in twice.items() if count > 1]
        self.violations += [f"round {number}, {name}: {line}" for line in found]
        self.outcomes[name].append(outcome)
        print(
            f"{number:3}  {name:16}  next {outcome.next_seconds:6.2f} s"
            f"  all {outcome.all_seconds:6.2f} s  {len(found)} violations",
            flush=True,
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rounds; 1 where something happened that must not."""
    args = _parser().parse_args(argv)
    print(f"{args.seconds:g} s of trouble a round; seed {args.seed}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with (
            control_planes.ControlPlane(
                folder / "control-plane", flags=control_planes.THROUGHPUT_FLAGS
            ) as plane,
            faulty_proxy.FaultyProxy(plane) as proxy,
        ):
            outages = _run(plane, proxy, folder, args)
    _report(outages.outcomes)
    print(*outages.violations, sep="\n")
    return 1 if outages.violations else 0


def _run(
    plane: control_planes.ControlPlane,
    proxy: faulty_proxy.FaultyProxy,
    folder: pathlib.Path,
    args: argparse.Namespace,
) -> Outages:
    client = patient_client.PatientClient.of(plane)
    client.create_namespace(NAMESPACE)
    failover_scene.make_nodes(client, NODES, PODS_PER_NODE)
    clock = jumping_clock.JumpingClock(folder / "clock")
    names = args.only or list(troubles.TROUBLES)
    with scheduler_process.PolicyScheduler(
        plane, folder, server=proxy.server, program=clock.program
    ) as scheduler:
        scheduler.wait_until(lambda: "synced" in scheduler.log)
        scene = troubles.Scene(plane, proxy, scheduler, clock, random.Random(args.seed))
        outages = Outages(scene, client, args.seconds)
        for number in range(args.rounds):
            outages.round(number, names[number % len(names)])
        scheduler.process.signal(signal.SIGTERM)
        code = scheduler.process.wait(failover_scene.LIMIT_SECONDS)
        if code != 0:
            outages.violations.append(f"the scheduler ended with {code}")
    return outages


def _report(outcomes: Mapping[str, Sequence[Outcome]]) -> None:
    print("\nseconds after the end of it  rounds  next: median   worst  all: median   worst")
    for name, some in outcomes.items():
        nexts = [each.next_seconds for each in some]
        ends = [each.all_seconds for each in some]
        print(
            f"{name:27}  {len(some):6}  {statistics.median(nexts):12.2f}  {max(nexts):6.2f}"
            f"  {statistics.median(ends):11.2f}  {max(ends):6.2f}"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests.chaos.outages")
    parser.add_argument("--rounds", type=whole_numbers.at_least(1), default=len(troubles.TROUBLES))
    parser.add_argument("--seed", type=whole_numbers.at_least(0), default=1)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each trouble lasts")
    parser.add_argument("--only", nargs="*", choices=troubles.TROUBLES, metavar="TROUBLE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
