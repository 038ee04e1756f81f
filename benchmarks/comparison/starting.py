"""Seconds from the start of a scheduler's process to its first binding, and to the last event.

python -m benchmarks start --nodes 500,5000 --repeat 10 --base ../before

The pods are waiting when the process starts. The schedulers take turns on one API server, in
alternating order. Before a turn with a cold page cache, the kernel drops the pages of the files
that the scheduler can read at its start; pages that another process has mapped remain.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import pathlib
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence

from benchmarks import options, workload_files
from benchmarks.comparison import comparison, plans, schedulers, turns
from benchmarks.process import orphans
from benchmarks.records import measurements
from tests.realcluster import components

_CACHES = ["warm", "cold"]
_PRINT_FOLDERS = """\
import json, sys, sysconfig
paths = sysconfig.get_paths()
print(json.dumps([sys.executable, paths["stdlib"], paths["purelib"]]))
"""

_Figure = Callable[[measurements.Measurement], float]


def evict_pages(files: Iterable[pathlib.Path]) -> None:
    """Drop files from the page cache, without privileges (posix_fadvise(2))."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def list_files(name: str, settings: schedulers.Options) -> list[pathlib.Path]:
    """Return the files that a scheduler can read at its start, except its configuration."""
    if name == schedulers.KUBE_SCHEDULER:
        return [components.binary("kube-scheduler")]
    command = [schedulers.find_python(name, settings), "-P", "-c", _PRINT_FOLDERS]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    executable, *libraries = (pathlib.Path(each) for each in json.loads(done.stdout))
    checkout = schedulers.checkout(name, settings)
    folders = [*libraries, *(checkout / each for each in ("policysched", "grammar", "schemas"))]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return [executable, *files]


def _compile_modules(name: str, settings: schedulers.Options) -> None:
    """Compile the modules of a checkout, as pip does for an installed package."""
    if name != schedulers.KUBE_SCHEDULER:
        folder = schedulers.checkout(name, settings) / "policysched"
        compileall.compile_dir(folder, quiet=1)


class Starts:
    """The starts of schedulers on one case.

    Attributes:
        runs: all runs, by state of the page cache and by scheduler.
    """

    def __init__(
        self, case: measurements.Case, names: Sequence[str], settings: schedulers.Options
    ) -> None:
        """Compile the modules that the schedulers import."""
        self.runs: dict[tuple[str, str], list[measurements.Measurement]] = {}
        self._case = case
        self._names = names
        self._settings = settings
        for name in names:
            _compile_modules(name, settings)

    def measure(self, folder: pathlib.Path, caches: Sequence[str], repeats: int) -> None:
        """Run all schedulers in turn, `repeats` times for each state of the page cache.

        Raises:
            turns.BenchmarkError: a scheduler has not bound all pods.
            workload_files.FileError: files of policysched have changed meanwhile.
        """
        files = {name: list_files(name, self._settings) for name in self._names}
        with comparison.start_scene(self._case, folder / "case") as scene:
            for name in self._names:  # fills the page cache
                turns.run_turn(scene, name, 0, folder / f"first-{name}", self._settings)
            for repeat, name in plans.Comparison(self._case, self._names, repeats).turns():
                for cache in caches:
                    if cache == "cold":
                        evict_pages(files[name])
                    own = folder / f"{cache}-{name}-{repeat}"
                    run = turns.run_turn(scene, name, repeat, own, self._settings)
                    self.runs.setdefault((cache, name), []).append(run)


def _compute_total_seconds(run: measurements.Measurement) -> float:
    """Return the seconds from the start of the process to the last event."""
    return run.start_seconds + run.bind_seconds + max(0.0, run.events_behind_seconds)


def _compute_cpu_seconds(run: measurements.Measurement) -> float:
    """Return the CPU seconds of the scheduler until its first binding."""
    return run.total_cpu_seconds - run.cpu_seconds


_COLUMNS: dict[str, Callable[[measurements.Measurement], float]] = {
    "first binding": lambda run: run.start_seconds,
    "CPU until then": _compute_cpu_seconds,
    "last event": _compute_total_seconds,
}
"""Figures of a run in seconds, by title of their column."""


def format_header() -> str:
    """Return the header of `format_rows`."""
    titles = "".join(f"{title:>22}" for title in _COLUMNS)
    return f"{'nodes':>6}{'pods':>7}  {'cache':<6}{'scheduler':<17}{titles}"


def format_rows(starts: Starts) -> list[str]:
    """Return a row for each scheduler: medians, with the smallest and the largest figure."""
    rows = []
    for (cache, name), runs in sorted(starts.runs.items()):
        case = runs[0].case
        cells = [_format_spread([compute(run) for run in runs]) for compute in _COLUMNS.values()]
        figures = "".join(f"{cell:>22}" for cell in cells)
        rows.append(f"{case.nodes:>6,}{case.pods:>7,}  {cache:<6}{name:<17}{figures}")
    return rows


def _format_spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main(argv: Sequence[str]) -> int:
    """Measure all sizes, and print a table of seconds."""
    args = _parse(argv)
    base = None if args.base is None else pathlib.Path(args.base).resolve()
    settings = schedulers.Options(base=base)
    names = [
        schedulers.KUBE_SCHEDULER,
        *([schedulers.BASE] if base else []),
        schedulers.POLICYSCHED,
    ]
    try:
        with orphans.folder_without_orphans() as folder:
            print(format_header(), flush=True)
            for nodes in args.nodes:
                case = measurements.Case(args.shape, nodes, args.pods)
                starts = Starts(case, names, settings)
                starts.measure(folder / str(nodes), args.caches, args.repeat)
                print("\n".join(format_rows(starts)), flush=True)
    except (workload_files.FileError, components.ComponentError, turns.BenchmarkError) as error:
        print(error, file=sys.stderr)
        return options.EXIT_WRONG_INPUT
    return 0


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = options.Parser(
        prog="python -m benchmarks start",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--shape", default="plain", metavar="NAME", help="the workload")
    parser.add_argument("--nodes", type=options.numbers, default=[500, 5000], metavar="N,N")
    parser.add_argument("--pods", type=options.at_least(2), default=1000)
    parser.add_argument("--repeat", type=options.at_least(1, 100), default=10)
    parser.add_argument("--caches", type=options.some_of(_CACHES), default=_CACHES, metavar="A,B")
    parser.add_argument(
        "--base", metavar="FOLDER", help="also run policysched of another checkout, in its .venv"
    )
    return parser.parse_args(argv)
