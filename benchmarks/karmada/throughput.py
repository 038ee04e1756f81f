"""Bindings per second of `karmada run` and of the real karmada-scheduler, one after the other.

python -m benchmarks karmada [--clusters 100] [--bindings 10000] [--bindings-real 2000] [--repeat 1]

Each starts with its backlog on a separate API server, without client limits. karmada-scheduler is
slower and gets only the first of the same bindings; the bindings per second are compared.
policysched is killed midway, with SIGKILL, and started again; its times include this.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from typing import TYPE_CHECKING

from benchmarks import options
from benchmarks.karmada import karmada_runs
from benchmarks.process import orphans
from tests.karmada import twins

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Sequence

_HEADER = (
    f"{'scheduler':<18}{'bindings':>9}{'placed/s':>10}{'settled/s':>10}{'CPU-ms':>8}{'servers':>9}"
    f"{'MiB':>6}{'start-s':>9}{'events':>8}{'half':>6}{'lost':>6}{'twice':>7}{'others':>8}"
)
_LEGEND = """
placed/s   bindings per second, from the first one with clusters until all have clusters and the
           condition Scheduled
settled/s  the same, until every status confirms the newest generation, for which other controllers
           wait
CPU-ms     of the scheduler per binding, from its start to its last event; servers: of
           kube-apiserver and etcd
start-s    from the start of the process to the first binding; no rate includes it
half       bindings with clusters but without the condition when policysched was killed
events     two per binding, for the binding and for its resource; a kill loses waiting events
lost       bindings that at the end lack clusters for all replicas, the condition or the generation
twice      bindings whose clusters were written again
others     share of the machine's CPU time that other processes used meanwhile
"""


def _format_line(run: karmada_runs.Measurement) -> str:
    count = run.case.bindings
    name = "karmada-scheduler" if run.scheduler == twins.THEIRS else run.scheduler
    half = str(run.half_written) if run.case.kill_at else "-"
    return (
        f"{name:<18}{count:>9}{run.placed_per_second:>10.0f}{run.settled_per_second:>10.0f}"
        f"{1000 * run.cpu_seconds / count:>8.2f}{1000 * run.server_cpu_seconds / count:>9.2f}"
        f"{run.peak_memory_mib:>6.0f}{run.start_seconds:>9.1f}{run.events:>8}{half:>6}"
        f"{run.unfinished:>6}{run.written_twice:>7}{run.others_share:>8.0%}"
    )


def _format_ratios(pairs: Sequence[dict[str, karmada_runs.Measurement]]) -> str:
    """Return the ratios of policysched to karmada-scheduler, as medians of all repeats."""
    values: dict[str, Callable[[karmada_runs.Measurement], float]] = {
        "placed/s": lambda run: run.placed_per_second,
        "settled/s": lambda run: run.settled_per_second,
        "CPU": lambda run: run.cpu_seconds / run.case.bindings,
        "servers": lambda run: run.server_cpu_seconds / run.case.bindings,
    }
    texts = []
    for figure, value in values.items():
        ratios = [value(pair[twins.OURS]) / value(pair[twins.THEIRS]) for pair in pairs]
        texts.append(f"{figure} {statistics.median(ratios):.2f}")
    return f"policysched / karmada-scheduler: {', '.join(texts)}"


def main(argv: list[str]) -> int:
    """Run both in turn and print a table; exit with 1 if a binding was lost or written twice."""
    parser = options.Parser(prog="python -m benchmarks karmada")
    parser.add_argument("--clusters", type=options.at_least(1), default=100)
    parser.add_argument("--bindings", type=options.at_least(1), default=10_000)
    parser.add_argument(
        "--bindings-real",
        type=options.at_least(1),
        default=2_000,
        help="number of these for karmada-scheduler",
    )
    parser.add_argument(
        "--kill-at",
        type=options.share,
        default=0.5,
        help="share of settled bindings; 0 for no kill",
    )
    parser.add_argument("--repeat", type=options.at_least(1), default=1)
    args = parser.parse_args(argv)
    cases = {
        twins.THEIRS: karmada_runs.Case(args.clusters, min(args.bindings_real, args.bindings)),
        twins.OURS: karmada_runs.Case(args.clusters, args.bindings, args.kill_at),
    }
    with orphans.folder_without_orphans() as folder:
        pairs = _run_pairs(cases, args.repeat, folder)
    sys.stdout.write(f"{_format_ratios(pairs)}\n{_LEGEND}")
    is_correct = all(run.unfinished == run.written_twice == 0 for run in _select_ours(pairs))
    return 0 if is_correct else 1


def _run_pairs(
    cases: dict[str, karmada_runs.Case], repeats: int, folder: pathlib.Path
) -> list[dict[str, karmada_runs.Measurement]]:
    """Run both in turn for each repeat, and print a line for each run."""
    pairs = []
    sys.stdout.write(f"{_HEADER}\n")
    for repeat in range(repeats):
        pair = {}
        for name in karmada_runs.NAMES if repeat % 2 == 0 else karmada_runs.NAMES[::-1]:
            own = folder / f"{repeat}-{name}"
            own.mkdir()
            pair[name] = karmada_runs.run(name, cases[name], own)
            shutil.rmtree(own, ignore_errors=True)
            sys.stdout.write(f"{_format_line(pair[name])}\n")
            sys.stdout.flush()
        pairs.append(pair)
    return pairs


def _select_ours(
    pairs: Sequence[dict[str, karmada_runs.Measurement]],
) -> list[karmada_runs.Measurement]:
    return [pair[twins.OURS] for pair in pairs]
