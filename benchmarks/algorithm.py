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
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from benchmarks import goals, in_process, options, real_framework, workload_files
from policysched import errors
from policysched.profiles import policies
from tests.realcluster import components

_OURS = "policysched"
_SAMPLING = "kube-scheduler"
_ALL_NODES = "kube-scheduler 100%"
_PERCENTAGES = {
    _SAMPLING: real_framework.SAMPLING,
    _ALL_NODES: real_framework.ALL_NODES,
}

_TIMES_AS_FAST = {"plain": 5.0, "mixed": 15.0}
"""Goals beside kube-scheduler's algorithm with its sampling, at _GOAL_NODES, by workload."""
_GOAL_NODES = 5000
_GROWTH_SIZES, _GROWTH_AT_MOST = (1000, 15_000), 2.0
"""The goal of what more nodes cost a pod."""

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
    parser = _parser()
    args = parser.parse_args(argv)
    try:
        settings = list(_settings(args))
        _check_profile(parser, args)
        print(_HEADER)
        costs = _show_all(settings, args)
    except (
        components.ComponentError,
        errors.PolicySchedError,
        workload_files.FileError,
    ) as error:
        print(error, file=sys.stderr)
        return options.EXIT_WRONG_INPUT
    show_growth(costs, args.repeat)
    return 0


def _check_profile(parser: options.Parser, args: argparse.Namespace) -> None:
    """End with an error where policies have no such profile.

    Raises:
        errors.PolicySchedError: they cannot be read.
    """
    made = policies.load_policy_set(args.policies, {}, in_process.NAME)
    names = [spec.name for spec in made.specs]
    if args.scheduler_name not in names:
        known = ", ".join(names)
        parser.error(f"argument --scheduler-name: `{args.scheduler_name}` is none of {known}")


def _show_all(
    settings: Sequence[in_process.Setting], args: argparse.Namespace
) -> dict[tuple[str, int], float]:
    """Print a row for each setting and algorithm; return our CPU µs a pod."""
    names = [_OURS]
    if args.beside or args.all_nodes:
        names = [_SAMPLING, *names]
    if args.all_nodes:
        names = [_ALL_NODES, *names]
    costs = {}
    for setting in settings:
        measured = _measure(setting, names, args.repeat)
        _show(setting, measured)
        costs[setting.workload, setting.nodes] = measured[-1].cpu_us_per_pod
        if args.profile:
            _profile(setting, args.profile)
    return costs


def show_growth(costs: Mapping[tuple[str, int], float], runs: int) -> None:
    """Print whether the goal of what more nodes cost is met, where both sizes were measured.

    Args:
        costs: µs of CPU a pod, by workload and number of nodes.
        runs: of how many the costs are medians.
    """
    small, big = _GROWTH_SIZES
    for workload in dict.fromkeys(workload for workload, _ in costs):
        if (workload, small) in costs and (workload, big) in costs:
            growth = costs[workload, big] / costs[workload, small]
            verdict = goals.told(runs, is_met=growth <= _GROWTH_AT_MOST)
            print(
                f"{workload}: a pod at {big:,} nodes costs {growth:.2f} times that at {small:,}; "
                f"≤ {_GROWTH_AT_MOST:g} {verdict}"
            )


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
    f"{'pods/s':>8}{'CPU µs/pod':>12}{'times as fast':>15}  goal"
)


def _show(setting: in_process.Setting, measured: Sequence[Measured]) -> None:
    ours = measured[-1]
    for one in measured:
        ratio, verdict = "", ""
        if one is not ours:
            times = ours.pods_per_second / one.pods_per_second
            ratio, verdict = f"{times:>15.1f}", goal(setting, one, times)
        print(
            f"{setting.workload:<29}{setting.nodes:>6}{setting.pods:>6}{one.placed:>7}"
            f"  {one.name:<20}{one.pods_per_second:>8.0f}{one.cpu_us_per_pod:>12.0f}"
            f"{ratio}{verdict}",
            flush=True,
        )


def goal(setting: in_process.Setting, theirs: Measured, times: float) -> str:
    """Return whether the goal is met, where there is one: for plain pods and mixed ones."""
    wanted = _TIMES_AS_FAST.get(setting.workload)
    is_usual = not setting.policies and not setting.is_different
    if wanted is None or theirs.name != _SAMPLING or setting.nodes != _GOAL_NODES or not is_usual:
        return ""
    return f"  ≥ {wanted:g} {goals.told(len(theirs.runs), is_met=times >= wanted)}"


def _profile(setting: in_process.Setting, lines: int) -> None:
    run = in_process.Run(setting)
    profiler = cProfile.Profile()
    profiler.runcall(run.schedule)
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(lines)


def _parser() -> options.Parser:
    parser = options.Parser(
        prog="python -m benchmarks algorithm", description="Time the scheduling cycle alone."
    )
    parser.add_argument("--nodes", type=options.numbers, default=[1000, 5000], metavar="N,N")
    parser.add_argument("--shapes", type=options.words, default=["plain", "mixed"], metavar="A,B")
    parser.add_argument(
        "--pods", type=options.at_least(1), help="how many, whatever the workload says"
    )
    parser.add_argument("--repeat", type=options.at_least(1), default=3)
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
