"""`python -m tests.proof [PART ...]`: run the parts, and print one table at the end.

A part that passed on the same files does not run again, unless `--fresh` is given.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import sys
from collections.abc import Callable, Iterator, Sequence

from policysched import clock as clocks
from tests.proof import goals, parts, results

_EXIT_ERROR = 2
_EXIT_INTERRUPTED = 130

Command = Callable[[parts.Part], int]
"""Runs a part and returns its exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen parts; return 0 if all of them passed, 1 if not, 2 for errors."""
    args = _parse(arguments)
    chosen = [part for part in parts.PARTS if not args.parts or part.name in args.parts]
    folder = args.checkout / ".proof"
    try:
        with results.hold_lock(folder / "lock"):
            kept = results.ResultFile(folder / "results.json")
            if args.fresh:
                kept.forget(part.name for part in chosen)
            return _run(chosen, kept, args.checkout)
    except (results.ProofError, OSError) as error:
        print(f"make proof: {error}", file=sys.stderr)
        return _EXIT_ERROR
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__)
    names = [part.name for part in parts.PARTS]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"default: {' '.join(names)}")
    parser.add_argument("--fresh", action="store_true", help="run what passed, too")
    parser.add_argument(
        "--checkout",
        type=pathlib.Path,
        default=pathlib.Path(__file__).resolve().parents[2],
        help="default: this one; its folder .proof gets the results and the output of each part",
    )
    args = parser.parse_args(arguments)
    if unknown := [name for name in args.parts if name not in names]:
        parser.error(f"no part is called `{unknown[0]}`; the parts are {', '.join(names)}")
    return args


def _run(chosen: Sequence[parts.Part], kept: results.ResultFile, checkout: pathlib.Path) -> int:
    read_version = functools.partial(results.read_version, checkout)

    def run_part(part: parts.Part) -> int:
        log = pathlib.Path(".proof", f"{part.name}.log")
        print(f"{part.name}: make {' '.join(part.goals)} > {log}", flush=True)
        return goals.run_part(part, checkout, checkout / log)

    try:
        run_parts(chosen, kept, read_version, run_part)
    finally:
        version = read_version()
        print("\n".join(format_table(chosen, kept, version)))
    return 0 if all(kept.is_passed(part.name, version) for part in chosen) else 1


def run_parts(
    chosen: Sequence[parts.Part],
    kept: results.ResultFile,
    read_version: Callable[[], str],
    command: Command,
) -> None:
    """Run each part that has not passed on the version of its start, and keep its result at once.

    The result of a part belongs to no version if the version is another one at its end.
    """
    clock = clocks.SystemClock()
    for part in chosen:
        version = read_version()
        if kept.is_passed(part.name, version):
            continue
        start_seconds = clock.monotonic_seconds()
        exit_code = command(part)
        duration_seconds = round(clock.monotonic_seconds() - start_seconds, 1)
        if read_version() == version:
            kept.add(part.name, results.Result(version, exit_code, duration_seconds))
        else:
            print(
                f"{part.name}: files changed while it ran, so its result does not count", flush=True
            )


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
    goals.end_on_signals()
    sys.exit(main())
