"""The scheduling cycle alone, timed; beside it, kube-scheduler's own on the same pods and nodes.

Which pods go where is another question (`tests/conformance`); here they only have to find a place.
"""

from __future__ import annotations

import argparse
import cProfile
import dataclasses
import pstats
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from benchmarks import in_process, options, real_framework, workload_files
from tests.realcluster import components

_OURS = "policysched"
_SAMPLING = "kube-scheduler"
_ALL_NODES = "kube-scheduler 100%"
_PERCENTAGES = {
    _SAMPLING: real_framework.SAMPLING,
    _ALL_NODES: real_framework.ALL_NODES,
}

Timed: TypeAlias = "in_process.Timed | real_framework.Timed"


@dataclasses.dataclass(frozen=True)
class Measured:
    """All repeats of one algorithm on one setting."""

    name: str
    pods: int
    runs: Sequence[Timed]

    @property
    def pods_per_second(self) -> float:
        """The median."""
        return statistics.median(self.pods / run.seconds for run in self.runs)

    @property
    def cpu_us_per_pod(self) -> float:
        """The median."""
        return statistics.median(1e6 * run.cpu_seconds / self.pods for run in self.runs)

    @property
    def placed(self) -> int:
        """How many pods found a place, the last time."""
        return self.runs[-1].placed


def main(argv: Sequence[str]) -> int:
    """Time the cases that the command line names and print a table."""
    args = _parser().parse_args(argv)
    names = [_OURS]
    if args.beside or args.all_nodes:
        names = [_SAMPLING, *names]
    if args.all_nodes:
        names = [_ALL_NODES, *names]
    print(_HEADER)
    try:
        for setting in _settings(args):
            _show(setting, _measure(setting, names, args.repeat))
            if args.profile:
                _profile(setting, args.profile)
    except (components.ComponentError, workload_files.FileError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _settings(args: argparse.Namespace) -> Iterator[in_process.Setting]:
    for shape in args.shapes:
        for nodes in args.nodes:
            pods = args.pods or workload_files.load(shape).pod_count(nodes)
            yield in_process.Setting(
                shape, nodes, pods, args.policies, args.scheduler_name, args.different
            )


def _measure(setting: in_process.Setting, names: Sequence[str], repeats: int) -> list[Measured]:
    """Return the times of each algorithm, all taken in turn."""
    made = in_process.manifests_of(setting)
    runs: dict[str, list[Timed]] = {name: [] for name in names}
    for repeat in range(repeats):
        for name in names if repeat % 2 == 0 else names[::-1]:
            runs[name].append(_timing(name, setting, made)())
    return [Measured(name, setting.pods, runs[name]) for name in names]


def _timing(
    name: str, setting: in_process.Setting, made: in_process.Manifests
) -> Callable[[], Timed]:
    if name == _OURS:
        return in_process.Run(setting, made).timed
    pods = made.initial_pods + made.pods
    return lambda: real_framework.place(made.nodes, pods, _PERCENTAGES[name])


_HEADER = (
    f"{'workload':<29}{'nodes':>6}{'pods':>6}{'placed':>7}  {'algorithm':<20}"
    f"{'pods/s':>8}{'CPU µs/pod':>12}{'times as fast':>15}"
)


def _show(setting: in_process.Setting, measured: Sequence[Measured]) -> None:
    ours = measured[-1]
    for one in measured:
        ratio = f"{ours.pods_per_second / one.pods_per_second:>15.1f}" if one is not ours else ""
        print(
            f"{setting.workload:<29}{setting.nodes:>6}{setting.pods:>6}{one.placed:>7}"
            f"  {one.name:<20}{one.pods_per_second:>8.0f}{one.cpu_us_per_pod:>12.0f}{ratio}",
            flush=True,
        )


def _profile(setting: in_process.Setting, lines: int) -> None:
    run = in_process.Run(setting)
    profiler = cProfile.Profile()
    profiler.runcall(run.schedule)
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks algorithm", description="Time the scheduling cycle alone."
    )
    parser.add_argument("--nodes", type=options.numbers, default=[1000, 5000], metavar="N,N")
    parser.add_argument("--shapes", type=options.words, default=["plain", "mixed"], metavar="A,B")
    parser.add_argument("--pods", type=int, help="how many, whatever the workload says")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--beside",
        action="store_true",
        help="time kube-scheduler's own algorithm on the same pods and nodes, in turn",
    )
    parser.add_argument(
        "--all-nodes",
        action="store_true",
        help="likewise, and once more with percentageOfNodesToScore at 100",
    )
    parser.add_argument(
        "--different", action="store_true", help="give every pod a label that no other has"
    )
    parser.add_argument("--policies", action="append", default=[], metavar="PATH")
    parser.add_argument("--scheduler-name", default=in_process.NAME, metavar="PROFILE")
    options.add_profile(parser)
    return parser
