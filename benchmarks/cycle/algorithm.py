"""Times the scheduling cycle alone, and kube-scheduler's own on the same pods and nodes.

`tests/conformance` compares the placements; here every pod only needs to find a node.
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

from benchmarks import options, workload_files
from benchmarks.cycle import in_process, real_framework
from benchmarks.records import goals
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
"""Goals for the ratio to kube-scheduler with its sampling, at _GOAL_NODES, by workload."""
_GOAL_NODES = 5000
_GROWTH_SIZES, _GROWTH_AT_MOST = (1000, 15_000), 2.0
"""Numbers of nodes, and the goal for the growth of the cost of a pod between them."""

Timed: TypeAlias = "in_process.Timed | real_framework.Timed"


@dataclasses.dataclass(frozen=True)
class Measured:
    """All repeats of one algorithm on one setting."""

    name: str
    pods: int
    runs: Sequence[Timed]

    @property
    def pods_per_second(self) -> float:
        """The median over the runs."""
        return statistics.median(self.pods / run.seconds for run in self.runs)

    @property
    def cpu_us_per_pod(self) -> float:
        """The median over the runs."""
        return statistics.median(1e6 * run.cpu_seconds / self.pods for run in self.runs)

    @property
    def placed(self) -> int:
        """Number of pods that found a node in the last run."""
        return self.runs[-1].placed


def main(argv: Sequence[str]) -> int:
    """Time the selected cases, and print a table."""
    parser = _make_parser()
    args = parser.parse_args(argv)
    try:
        settings = list(_make_settings(args))
        _check_profile(parser, args)
        print(_HEADER)
        costs = _print_all(settings, args)
    except (
        components.ComponentError,
        errors.PolicySchedError,
        workload_files.FileError,
    ) as error:
        print(error, file=sys.stderr)
        return options.EXIT_WRONG_INPUT
    print_growth(costs, args.repeat)
    return 0


def _check_profile(parser: options.Parser, args: argparse.Namespace) -> None:
    """Exit with an error if the policies do not define the selected profile.

    Raises:
        errors.PolicySchedError: the policies cannot be read.
    """
    policy_set = policies.load_policy_set(args.policies, {}, in_process.NAME)
    names = [spec.name for spec in policy_set.specs]
    if args.scheduler_name not in names:
        known = ", ".join(names)
        parser.error(f"argument --scheduler-name: `{args.scheduler_name}` is not one of {known}")


def _print_all(
    settings: Sequence[in_process.Setting], args: argparse.Namespace
) -> dict[tuple[str, int], float]:
    """Print a row for each setting and algorithm; return policysched's CPU µs per pod."""
    names = [_OURS]
    if args.beside or args.all_nodes:
        names = [_SAMPLING, *names]
    if args.all_nodes:
        names = [_ALL_NODES, *names]
    costs = {}
    for setting in settings:
        measured = _measure(setting, names, args.repeat)
        _print_rows(setting, measured)
        costs[setting.workload, setting.nodes] = measured[-1].cpu_us_per_pod
        if args.profile:
            _profile(setting, args.profile)
    return costs


def print_growth(costs: Mapping[tuple[str, int], float], runs: int) -> None:
    """Print for each workload with both sizes whether the goal for growth is met.

    Args:
        costs: CPU µs per pod, by workload and number of nodes.
        runs: number of runs behind each median.
    """
    small, big = _GROWTH_SIZES
    for workload in dict.fromkeys(workload for workload, _ in costs):
        if (workload, small) in costs and (workload, big) in costs:
            growth = costs[workload, big] / costs[workload, small]
            verdict = goals.format_verdict(runs, is_met=growth <= _GROWTH_AT_MOST)
            print(
                f"{workload}: a pod at {big:,} nodes costs {growth:.2f} times as much as at "
                f"{small:,}; ≤ {_GROWTH_AT_MOST:g} {verdict}"
            )


def _make_settings(args: argparse.Namespace) -> Iterator[in_process.Setting]:
    for shape in args.shapes:
        for nodes in args.nodes:
            pods = args.pods or workload_files.load(shape).pod_count(nodes)
            yield in_process.Setting(
                shape, nodes, pods, args.policies, args.scheduler_name, args.different
            )


def _measure(setting: in_process.Setting, names: Sequence[str], repeats: int) -> list[Measured]:
    """Return the times of each algorithm; the algorithms take turns."""
    manifests = in_process.make_manifests(setting)
    runs: dict[str, list[Timed]] = {name: [] for name in names}
    for repeat in range(repeats):
        for name in names if repeat % 2 == 0 else names[::-1]:
            runs[name].append(_make_timer(name, setting, manifests)())
    return [Measured(name, setting.pods, runs[name]) for name in names]


def _make_timer(
    name: str, setting: in_process.Setting, manifests: in_process.Manifests
) -> Callable[[], Timed]:
    if name == _OURS:
        return in_process.Run(setting, manifests).measure
    pods = manifests.initial_pods + manifests.pods
    return lambda: real_framework.place(manifests.nodes, pods, _PERCENTAGES[name])


_HEADER = (
    f"{'workload':<29}{'nodes':>6}{'pods':>6}{'placed':>7}  {'algorithm':<20}"
    f"{'pods/s':>8}{'CPU µs/pod':>12}{'times as fast':>15}  goal"
)


def _print_rows(setting: in_process.Setting, measured: Sequence[Measured]) -> None:
    ours = measured[-1]
    for each in measured:
        ratio, verdict = "", ""
        if each is not ours:
            times = ours.pods_per_second / each.pods_per_second
            ratio, verdict = f"{times:>15.1f}", format_goal(setting, each, times)
        print(
            f"{setting.workload:<29}{setting.nodes:>6}{setting.pods:>6}{each.placed:>7}"
            f"  {each.name:<20}{each.pods_per_second:>8.0f}{each.cpu_us_per_pod:>12.0f}"
            f"{ratio}{verdict}",
            flush=True,
        )


def format_goal(setting: in_process.Setting, theirs: Measured, times: float) -> str:
    """Return the goal and whether it is met; "" if the setting has none."""
    wanted = _TIMES_AS_FAST.get(setting.workload)
    is_usual = not setting.policies and not setting.is_different
    if wanted is None or theirs.name != _SAMPLING or setting.nodes != _GOAL_NODES or not is_usual:
        return ""
    return f"  ≥ {wanted:g} {goals.format_verdict(len(theirs.runs), is_met=times >= wanted)}"


def _profile(setting: in_process.Setting, lines: int) -> None:
    run = in_process.Run(setting)
    profiler = cProfile.Profile()
    profiler.runcall(run.schedule)
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(lines)


def _make_parser() -> options.Parser:
    parser = options.Parser(
        prog="python -m benchmarks algorithm", description="Time the scheduling cycle alone."
    )
    parser.add_argument("--nodes", type=options.numbers, default=[1000, 5000], metavar="N,N")
    parser.add_argument("--shapes", type=options.words, default=["plain", "mixed"], metavar="A,B")
    parser.add_argument(
        "--pods", type=options.at_least(1), help="default: depends on workload and size"
    )
    parser.add_argument("--repeat", type=options.at_least(1), default=3)
    parser.add_argument(
        "--beside",
        action="store_true",
        help="also time kube-scheduler's own algorithm on the same pods and nodes, in turn",
    )
    parser.add_argument(
        "--all-nodes",
        action="store_true",
        help="as --beside, and also with percentageOfNodesToScore 100",
    )
    parser.add_argument("--different", action="store_true", help="give every pod a unique label")
    parser.add_argument("--policies", action="append", default=[], metavar="PATH")
    parser.add_argument("--scheduler-name", default=in_process.NAME, metavar="PROFILE")
    options.add_profile(parser)
    return parser
