"""Measure how much of partitionable GPUs pods get under several profiles.

python -m benchmarks partitions

Pods arrive at random, and each one ends after a random time. A pod that fits on no node waits, and
is tried again when a pod ends. All profiles get the same arrivals. Figures are of the time after
the cluster has filled up.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import random
import sys
import time
from collections.abc import Sequence
from typing import Final

from benchmarks import options
from benchmarks.openb import report
from benchmarks.partitions import gpus, simulation

POLICY: Final = pathlib.Path(__file__).with_name("whole-gpus.policy")
_PACKED: Final = "plugin DynamicResources args { deviceOrder: Packed }"
_MOST_ALLOCATED: Final = "plugin NodeResourcesFit args { scoringStrategy: { type: MostAllocated } }"
_SIZES: Final = (4, 4, 8)
_WARM_UP_HOURS: Final = 2.0


@dataclasses.dataclass(frozen=True)
class Profile:
    """A profile: its statements, and whether the policy is one of them."""

    title: str
    statements: str = ""
    has_policy: bool = False

    def make_text(self) -> str:
        """Return the policies and the profile."""
        if not self.has_policy:
            return f"profile partitions {{ {self.statements} }}"
        text = POLICY.read_text(encoding="utf-8")
        return f"{text}\nprofile partitions {{ policies whole-gpus {self.statements} }}"


PROFILES: Final = (
    Profile("default profile"),
    Profile("MostAllocated", _MOST_ALLOCATED),
    Profile("packed devices", _PACKED),
    Profile("policy", has_policy=True),
    Profile("policy, packed devices", _PACKED, has_policy=True),
)
COLUMNS: Final = (
    "demand",
    "profile",
    "memory allocated",
    "GPUs in use",
    "whole-GPU pods placed at once",
    "later",
    "pods with partitions placed at once",
    "later",
    "ms of CPU an attempt",
)


def simulate(
    profile: Profile, gpus_of_nodes: Sequence[int], load: simulation.Load, seed: int
) -> simulation.Run:
    """Return the run on nodes with these numbers of GPUs."""
    cluster = simulation.Cluster(gpus_of_nodes, profile.make_text())
    run = simulation.Run(cluster, _WARM_UP_HOURS)
    run.play(load.make_arrivals(random.Random(seed)), load.hours)
    return run


def _make_row(
    profile: Profile, gpus_of_nodes: Sequence[int], demand: float, hours: float, seed: int
) -> list[str]:
    total_gpus = sum(gpus_of_nodes)
    total_slices = gpus.MEMORY_SLICES * total_gpus
    started_seconds = time.process_time()
    run = simulate(profile, gpus_of_nodes, simulation.Load(total_slices * demand, hours), seed)
    seconds = time.process_time() - started_seconds
    measured_hours = hours - _WARM_UP_HOURS
    return [
        f"{demand:.0%}",
        profile.title,
        f"{run.slice_hours / measured_hours / total_slices:.1%}",
        f"{run.gpu_hours / measured_hours / total_gpus:.1%}",
        *_format_counts(run, is_whole=True),
        *_format_counts(run, is_whole=False),
        f"{1000 * seconds / run.attempts:.1f}",
    ]


def _format_counts(run: simulation.Run, *, is_whole: bool) -> list[str]:
    """Return the cells about pods that request whole GPUs, or for partitions."""
    requests = [request for request in simulation.MIX if request.is_whole == is_whole]
    arrived, at_once, later = (
        sum(counts[request] for request in requests)
        for counts in (run.arrived, run.at_once, run.later)
    )
    return [f"{at_once} of {arrived}", f"{later}"]


def _parse_percentages(text: str) -> list[float]:
    return [each / 100 for each in options.numbers(text)]


def _parse_hours(text: str) -> float:
    hours = float(text)
    if hours <= _WARM_UP_HOURS:
        raise argparse.ArgumentTypeError(f"must be more than {_WARM_UP_HOURS:g}")
    return hours


def main(argv: list[str]) -> int:
    """Print a table, and to stderr each row that is done."""
    parser = options.Parser(prog="python -m benchmarks partitions")
    parser.add_argument("--nodes", type=options.at_least(1), default=40)
    parser.add_argument("--demand", type=_parse_percentages, default=[0.9, 1.0, 1.1], metavar="N,N")
    parser.add_argument("--hours", type=_parse_hours, default=4.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    rng = random.Random(args.seed)
    gpus_of_nodes = [rng.choice(_SIZES) for _ in range(args.nodes)]
    rows = []
    for demand in args.demand:
        for profile in PROFILES:
            rows.append(_make_row(profile, gpus_of_nodes, demand, args.hours, args.seed))
            print(f"{demand:.0%}, {profile.title}", *rows[-1][2:], sep=", ", file=sys.stderr)
    print(*report.format_table([COLUMNS, *rows]), sep="\n")
    return 0
