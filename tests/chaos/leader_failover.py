"""Kill, freeze and end the leader again and again, under load.

    python -m tests.chaos.leader_failover --rounds 50 --lease 15s 10s 2s

Each round fills a cluster to its last place while something happens to the leader, at a random
moment. Afterwards every pod has to have a node, no node more than it can take, and both replicas
have to be ready for the next round: the same processes, except for those that were killed or ended.
What is printed is how long nothing was bound.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import random
import signal
import statistics
import sys
import tempfile
from typing import TYPE_CHECKING

from policysched.config import election_config, election_faults
from tests import whole_numbers
from tests.e2e.scenes import failover_scene
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.scenes import scheduler_process

NODES, PODS_PER_NODE = 20, 20
PODS = NODES * PODS_PER_NODE
PER_SECOND = 100
HARMS = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)
NAMESPACE = "chaos"


class Chaos:
    """One cluster, two replicas, many rounds.

    Attributes:
        pauses: seconds without a binding, by what happened.
        violations: what must not have happened.
    """

    def __init__(
        self,
        plane: control_planes.ControlPlane,
        replicas: failover_scene.Replicas,
        rng: random.Random,
    ) -> None:
        self.pauses: dict[str, list[float]] = collections.defaultdict(list)
        self.violations: list[str] = []
        self._client = plane.client
        self._replicas = replicas
        self._rng = rng

    def round(self, number: int, harm: signal.Signals) -> None:
        """Fill the cluster while something happens to the leader."""
        former, leader = self._replicas.holder(), self._replicas.leader()
        load = failover_scene.Load(
            self._client, NAMESPACE, f"round-{number}", PODS, per_second=PER_SECOND
        )
        with failover_scene.BindingTimes(self._client) as bound, load:
            moment = self._rng.randint(PODS // 10, PODS * 6 // 10)
            failover_scene.wait_until(lambda: len(bound) >= moment)
            leader.process.signal(harm)
            self._replicas.wait_until_led_by_another(former)
            if harm is signal.SIGSTOP:
                moment = self._rng.randint(moment, PODS)
                failover_scene.wait_until(lambda: len(bound) >= moment)
                leader.process.signal(signal.SIGCONT)
            failover_scene.wait_until(lambda: len(bound) >= PODS)
            pause_seconds = bound.longest_pause_seconds()
        found = failover_scene.violations(self._client)
        self.violations += [f"round {number}, {harm.name}: {line}" for line in found]
        self.pauses[harm.name].append(pause_seconds)
        print(
            f"{number:3}  {harm.name}  {pause_seconds:5.2f} s  {len(found)} violations", flush=True
        )
        self._put_in_order(leader, harm)

    def _put_in_order(
        self, harmed: scheduler_process.PolicyScheduler, harm: signal.Signals
    ) -> None:
        """Let the one that was harmed stand by, and empty the cluster."""
        if harm is signal.SIGSTOP:
            harmed.wait_until(lambda: "standing by" in harmed.process.log_tail())
        else:
            harmed.process.wait(failover_scene.LIMIT_SECONDS)
            self._replicas.start(harmed)
        for kind in ("pods", "events"):
            self._client.delete(f"/api/v1/namespaces/{NAMESPACE}/{kind}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rounds; 1 where something happened that must not."""
    args = _parse(argv)
    times = failover_scene.LeaseTimes(*args.lease)
    print(
        f"lease duration, renew deadline, retry period: {', '.join(args.lease)}; seed {args.seed}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with control_planes.ControlPlane(
            folder / "control-plane", flags=control_planes.THROUGHPUT_FLAGS
        ) as plane:
            plane.client.create_namespace(NAMESPACE)
            failover_scene.make_nodes(plane.client, NODES, PODS_PER_NODE)
            with failover_scene.Replicas(plane, folder, times=times) as replicas:
                chaos = Chaos(plane, replicas, random.Random(args.seed))
                for number in range(args.rounds):
                    chaos.round(number, HARMS[number % len(HARMS)])
    _report(chaos.pauses)
    print(*chaos.violations, sep="\n")
    return 1 if chaos.violations else 0


def _report(pauses: Mapping[str, Sequence[float]]) -> None:
    print("\ntime without scheduling, seconds   rounds  median   worst")
    every = [seconds for some in pauses.values() for seconds in some]
    for name, seconds in [*pauses.items(), ("all", every)]:
        median = statistics.median(seconds)
        print(f"{name:33}  {len(seconds):6}  {median:6.2f}  {max(seconds):6.2f}")


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the options; a lease that `run` would refuse is an error of usage."""
    parser = argparse.ArgumentParser(prog="tests.chaos.leader_failover")
    parser.add_argument("--rounds", type=whole_numbers.at_least(1), default=50)
    parser.add_argument("--seed", type=whole_numbers.at_least(0), default=1)
    parser.add_argument(
        "--lease",
        nargs=3,
        default=["3s", "2s", "500ms"],
        metavar=("DURATION", "DEADLINE", "PERIOD"),
        help="lease duration, renew deadline, retry period; kube-scheduler's are 15s 10s 2s",
    )
    args = parser.parse_args(argv)
    lease = election_config.LeaderElectionConfig(True, *args.lease)
    for _, problem in election_faults.find_election_problems(lease):
        parser.error(f"argument --lease: {problem}")
    return args


if __name__ == "__main__":
    sys.exit(main())
