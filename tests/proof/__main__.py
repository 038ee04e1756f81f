"""`python -m tests.proof [PART ...]`: run the parts, and print one table at the end.

A part that passed on the same checkout does not run again, unless `--fresh` is given.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

from policysched import clock as clocks
from tests.proof import parts, results

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".proof"
"""Results, and the output of each part."""

_EXIT_INTERRUPTED = 130

Command = Callable[[parts.Part, pathlib.Path], int]
"""Runs a part, writes its output into a file and returns its exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen parts; return 0 if all of them passed, else 1."""
    args = _parse(arguments)
    chosen = [part for part in parts.PARTS if not args.parts or part.name in args.parts]
    kept = results.ResultFile(FOLDER / "results.json")
    version = results.read_version(ROOT)
    if args.fresh:
        kept.forget(part.name for part in chosen)
    try:
        run_parts(chosen, kept, version, run_make)
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    finally:
        print("\n".join(format_table(chosen, kept, version)))
    return 0 if all(kept.is_passed(part.name, version) for part in chosen) else 1


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__)
    names = [part.name for part in parts.PARTS]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"default: {' '.join(names)}")
    parser.add_argument("--fresh", action="store_true", help="run what passed, too")
    args = parser.parse_args(arguments)
    if unknown := [name for name in args.parts if name not in names]:
        parser.error(f"no part is called `{unknown[0]}`; the parts are {', '.join(names)}")
    return args


def run_parts(
    chosen: Sequence[parts.Part], kept: results.ResultFile, version: str, command: Command
) -> None:
    """Run each part that has not passed on this version, and keep its result at once."""
    clock = clocks.SystemClock()
    for part in chosen:
        if kept.is_passed(part.name, version):
            continue
        log = FOLDER / f"{part.name}.log"
        print(f"{part.name}: make {' '.join(part.goals)} > {log.relative_to(ROOT)}", flush=True)
        start_seconds = clock.monotonic_seconds()
        exit_code = command(part, log)
        duration_seconds = round(clock.monotonic_seconds() - start_seconds, 1)
        kept.add(part.name, results.Result(version, exit_code, duration_seconds))


def run_make(part: parts.Part, log: pathlib.Path) -> int:
    """Run a part as its goals of the Makefile."""
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as file:
        words = ("make", "--no-print-directory", *part.goals)
        return subprocess.run(
            words, cwd=ROOT, check=False, stdout=file, stderr=subprocess.STDOUT
        ).returncode


def format_table(
    chosen: Sequence[parts.Part], kept: results.ResultFile, version: str
) -> Iterator[str]:
    """Yield the lines of a table of the parts and how they ended on this version."""
    yield f"{'part':16}{'result':11}{'minutes':>8}  what a pass says"
    for part in chosen:
        result = kept.find(part.name, version)
        if result is None:
            yield f"{part.name:16}{'not run':11}{'':8}  {part.purpose}"
        else:
            verdict = "passed" if result.exit_code == 0 else f"failed ({result.exit_code})"
            minutes = result.duration_seconds / 60
            yield f"{part.name:16}{verdict:11}{minutes:8.1f}  {part.purpose}"


if __name__ == "__main__":
    sys.exit(main())
