"""`python -m tests.conformance`: generated cases, decided by policysched and by kube-scheduler.

python -m tests.conformance --cases 20000 --seed 7
python -m tests.conformance --families spread,volumes --cases 500 --keep-going
python -m tests.conformance --replay tests/conformance/failures/spread-7-12.json
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from tests import command_parser, whole_numbers
from tests.conformance import oracle_process, product, run
from tests.conformance.generate import families

FAILURES = pathlib.Path(__file__).parent / "failures"
"""Where failing cases are kept; not part of the repository."""

_PIECE = 50
"""Cases that a process takes at once."""
_LINE_END = "\r" if sys.stdout.isatty() else "\n"
_SHRUNK_EACH = 2
"""Failures of one kind that are shrunk; the rest is counted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; return 0 without disagreements, else 1; 2 for unreadable input, 3 for usage."""
    args = _parse(arguments)
    if args.replay:
        return _replay(args.replay, is_shrunk=args.shrink)
    names = args.families or list(families.FAMILIES)
    print(f"seed {args.seed}", flush=True)
    tallies = _compare_all(list(run.shares(names, args.cases)), args)
    _print_table(tallies)
    failures = [failure for tally in tallies.values() for failure in tally.failures]
    if failures:
        _tell(failures)
    return 1 if failures else 0


def _families(text: str) -> list[str]:
    known = [*families.FAMILIES, *families.BESIDE]
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(
                f"there is no family `{name}`; choose from {', '.join(known)}"
            )
    if not names:
        raise argparse.ArgumentTypeError("name a family, or leave `--families` out for all")
    return list(dict.fromkeys(names))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = command_parser.CommandParser(prog="python -m tests.conformance")
    positive = whole_numbers.at_least(1)
    parser.add_argument("--cases", type=positive, default=2000, help="how many clusters")
    parser.add_seed()
    parser.add_argument("--families", type=_families, help="separated by commas; default: all")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first few")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--replay", type=pathlib.Path, help="compare one case from a file")
    parser.add_argument("--shrink", action="store_true", help="with --replay: make it smaller")
    return parser.parse_args(arguments)


# --- comparing -----------------------------------------------------------------------------------


def _compare_all(wanted: list[tuple[str, int]], args: argparse.Namespace) -> dict[str, run.Tally]:
    """Return what comes of all cases, by family."""
    tallies = {name: run.Tally() for name, _ in wanted}
    total = sum(count for _, count in wanted)
    done = 0
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        pieces = [
            pool.submit(_compare_piece, name, args.seed, numbers)
            for name, numbers in _pieces(wanted)
        ]
        for piece in concurrent.futures.as_completed(pieces):
            name, tally = piece.result()
            tallies[name].add(tally)
            done += tally.counts.clusters
            found = sum(len(each.failures) for each in tallies.values())
            print(f"{done:,} of {total:,} clusters, {found} disagree", end=_LINE_END, flush=True)
            if found and not args.keep_going:
                pool.shutdown(cancel_futures=True)
                break
    print(end="\n" if _LINE_END == "\r" else "")
    return tallies


def _pieces(wanted: list[tuple[str, int]]) -> Iterator[tuple[str, range]]:
    for name, count in wanted:
        for start in range(0, count, _PIECE):
            yield name, range(start, min(start + _PIECE, count))


def _compare_piece(family: str, seed: int, numbers: range) -> tuple[str, run.Tally]:
    with oracle_process.Oracle() as oracle, product.opened() as ours:
        return family, run.run(run.Judge(oracle, ours), family, seed, numbers)


# --- telling -------------------------------------------------------------------------------------


def _print_table(tallies: dict[str, run.Tally]) -> None:
    print(
        f"{'family':14}{'clusters':>9}{'pods':>8}{'nodes':>9}{'scores':>10}"
        f"{'placed':>8}{'preempt':>8}{'disagree':>9}{'seconds':>8}"
    )
    total = run.Tally()
    for name, tally in tallies.items():
        _print_row(name, tally)
        total.add(tally)
    _print_row("all", total)


def _print_row(name: str, tally: run.Tally) -> None:
    counts = tally.counts
    print(
        f"{name:14}{counts.clusters:>9,}{counts.pods:>8,}{counts.nodes:>9,}{counts.scores:>10,}"
        f"{counts.placements:>8,}{counts.preemptions:>8,}{len(tally.failures):>9,}"
        f"{tally.seconds:>8.1f}"
    )


def _tell(failures: list[run.Failure]) -> None:
    """Print how often each kind occurs, then the first of each kind, made small and kept."""
    kinds = Counter(failure.differences[0].aspect for failure in failures)
    for aspect, count in kinds.most_common():
        print(f"{count:6} {aspect}")
    shrunk: Counter[str] = Counter()
    with oracle_process.Oracle() as oracle, product.opened() as ours:
        judge = run.Judge(oracle, ours)
        for failure in failures:
            aspect = failure.differences[0].aspect
            shrunk[aspect] += 1
            if shrunk[aspect] <= _SHRUNK_EACH:
                small = judge.shrink(failure)
                print(f"\n{small}\nkept in {run.save(small, FAILURES)}", flush=True)


def _replay(path: pathlib.Path, *, is_shrunk: bool) -> int:
    try:
        case = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        print(f"`{path}` is no case: {error}", file=sys.stderr)
        return 2
    with oracle_process.Oracle() as oracle, product.opened() as ours:
        judge = run.Judge(oracle, ours)
        failure = run.Failure(case, judge.compare(case)[1])
        if not failure.differences:
            print(f"{case['name']}: no disagreement")
            return 0
        if is_shrunk:
            failure = judge.shrink(failure)
            print(f"kept in {run.save(failure, FAILURES)}")
        print(failure)
    return 1


if __name__ == "__main__":
    sys.exit(main())
