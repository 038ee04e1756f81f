"""Bindings a second of `karmada run` and of the real karmada-scheduler, one after the other.

python -m benchmarks karmada [--clusters 100] [--bindings 10000] [--bindings-real 2000] [--repeat 1]

Each finds its backlog when it starts, on an API server of its own, without client limits.
karmada-scheduler is slower and gets the first of the same bindings; what is compared is how many
they place a second. policysched is killed midway, with SIGKILL, and started again, which counts.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from typing import TYPE_CHECKING

from benchmarks import karmada_runs, options, orphans
from tests.karmada import twins

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Sequence

_HEADER = (
    f"{'scheduler':<18}{'bindings':>9}{'placed/s':>10}{'settled/s':>10}{'CPU-ms':>8}{'servers':>9}"
    f"{'MiB':>6}{'start-s':>9}{'events':>8}{'half':>6}{'lost':>6}{'twice':>7}{'others':>8}"
)
_LEGEND = """
placed/s   bindings a second, from the first one with clusters to the last one whose condition
           says so
settled/s  the same until every status confirmed the newest generation, which other controllers
           wait for
CPU-ms     of the scheduler for each binding, from its start to its last event; servers: of
           kube-apiserver and etcd
start-s    from the start of the process to the first binding, which no rate counts
half       bindings with clusters and without a condition when policysched was killed
events     two a binding, for the binding and what it is of; a kill loses those that wait
lost       bindings without a cluster for every replica, or whose status does not say so, in the end
twice      bindings whose clusters were written once more after they had been written
others     what other processes took of the machine's CPU time meanwhile
"""


def _line(one: karmada_runs.Measurement) -> str:
    count = one.case.bindings
    name = "karmada-scheduler" if one.scheduler == twins.THEIRS else one.scheduler
    half = str(one.half_written) if one.case.kill_at else "-"
    return (
        f"{name:<18}{count:>9}{one.placed_per_second:>10.0f}{one.settled_per_second:>10.0f}"
        f"{1000 * one.cpu_seconds / count:>8.2f}{1000 * one.server_cpu_seconds / count:>9.2f}"
        f"{one.peak_memory_mib:>6.0f}{one.start_seconds:>9.1f}{one.events:>8}{half:>6}"
        f"{one.unfinished:>6}{one.written_twice:>7}{one.others_share:>8.0%}"
    )


def _ratios(pairs: Sequence[dict[str, karmada_runs.Measurement]]) -> str:
    """Return policysched's values over karmada-scheduler's, the median of all turns."""
    values: dict[str, Callable[[karmada_runs.Measurement], float]] = {
        "placed/s": lambda one: one.placed_per_second,
        "settled/s": lambda one: one.settled_per_second,
        "CPU": lambda one: one.cpu_seconds / one.case.bindings,
        "servers": lambda one: one.server_cpu_seconds / one.case.bindings,
    }
    said = []
    for what, value in values.items():
        ratios = [value(pair[twins.OURS]) / value(pair[twins.THEIRS]) for pair in pairs]
        said.append(f"{what} {statistics.median(ratios):.2f}")
    return f"policysched / karmada-scheduler: {', '.join(said)}"


def main(argv: list[str]) -> int:
    """Run both in turn, and print a table."""
    parser = options.Parser(prog="python -m benchmarks karmada")
    parser.add_argument("--clusters", type=options.at_least(1), default=100)
    parser.add_argument("--bindings", type=options.at_least(1), default=10_000)
    parser.add_argument(
        "--bindings-real",
        type=options.at_least(1),
        default=2_000,
        help="how many karmada-scheduler gets of them",
    )
    parser.add_argument(
        "--kill-at", type=options.share, default=0.5, help="share of bindings; 0 for no kill"
    )
    parser.add_argument("--repeat", type=options.at_least(1), default=1)
    args = parser.parse_args(argv)
    cases = {
        twins.THEIRS: karmada_runs.Case(args.clusters, min(args.bindings_real, args.bindings)),
        twins.OURS: karmada_runs.Case(args.clusters, args.bindings, args.kill_at),
    }
    with orphans.folder_without_orphans() as folder:
        pairs = _pairs(cases, args.repeat, folder)
    sys.stdout.write(f"{_ratios(pairs)}\n{_LEGEND}")
    is_right = all(one.unfinished == one.written_twice == 0 for one in _ours(pairs))
    return 0 if is_right else 1


def _pairs(
    cases: dict[str, karmada_runs.Case], repeats: int, folder: pathlib.Path
) -> list[dict[str, karmada_runs.Measurement]]:
    """Run both in turn, as often as asked for, and tell of each run."""
    pairs = []
    sys.stdout.write(f"{_HEADER}\n")
    for repeat in range(repeats):
        pair = {}
        for name in karmada_runs.NAMES if repeat % 2 == 0 else karmada_runs.NAMES[::-1]:
            own = folder / f"{repeat}-{name}"
            own.mkdir()
            pair[name] = karmada_runs.run(name, cases[name], own)
            shutil.rmtree(own, ignore_errors=True)
            sys.stdout.write(f"{_line(pair[name])}\n")
            sys.stdout.flush()
        pairs.append(pair)
    return pairs


def _ours(
    pairs: Sequence[dict[str, karmada_runs.Measurement]],
) -> list[karmada_runs.Measurement]:
    return [pair[twins.OURS] for pair in pairs]
