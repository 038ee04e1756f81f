"""`python -m tests.conformance.extenders`: generated extenders, asked by both schedulers.

python -m tests.conformance.extenders --cases 2000 --seed 7
python -m tests.conformance.extenders --seed 7 --only 1234
"""

from __future__ import annotations

import concurrent.futures
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Sequence

from tests import command_parser, whole_numbers
from tests.conformance import oracle_process
from tests.conformance.extenders import generate, product, rows, run, server

_PIECE = 50
"""Cases that a process takes at once."""
_SHOWN_EACH = 2
"""Failing cases of each kind that are shown."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; return 0 without disagreements, else 1; 3 for usage."""
    parser = command_parser.CommandParser(prog="python -m tests.conformance.extenders")
    parser.add_argument("--cases", type=whole_numbers.at_least(1), default=2000)
    parser.add_seed()
    parser.add_argument("--only", type=whole_numbers.at_least(0), help="one case, and print it")
    jobs = whole_numbers.at_least(1)
    parser.add_argument("--jobs", type=jobs, default=os.cpu_count() or 1, help="processes")
    args = parser.parse_args(arguments)
    print(f"seed {args.seed}", flush=True)
    if args.only is not None:
        print(json.dumps(generate.case(args.seed, args.only)))
        tally = _compare_piece(args.seed, range(args.only, args.only + 1))
    else:
        tally = _compare_all(args.seed, args.cases, args.jobs)
    print(f"{tally.cases:,} cases, {tally.pods:,} pods, {tally.requests:,} requests")
    print(f"{len(tally.rows)} of {len(rows.ROWS)} rows reached")
    _print_failures(tally)
    return 1 if tally.failures else 0


def _compare_all(seed: int, cases: int, jobs: int) -> run.Tally:
    total = run.Tally()
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        pieces = [
            pool.submit(_compare_piece, seed, range(start, min(start + _PIECE, cases)))
            for start in range(0, cases, _PIECE)
        ]
        for piece in concurrent.futures.as_completed(pieces):
            total.add(piece.result())
    return total


def _compare_piece(seed: int, numbers: range) -> run.Tally:
    logging.disable(logging.CRITICAL)  # extenders fail on purpose
    with oracle_process.Oracle() as oracle, server.ExtenderServer() as extenders:
        return run.Judge(oracle, extenders, product.extend).compare_cases(seed, numbers)


def _print_failures(tally: run.Tally) -> None:
    """Print how often each kind occurs, and the first cases of each."""
    kinds = Counter(found[0].aspect for found in tally.failures.values())
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}")
        cases = [name for name, found in tally.failures.items() if found[0].aspect == kind]
        for name in cases[:_SHOWN_EACH]:
            print(name, *tally.failures[name], sep="\n")


if __name__ == "__main__":
    sys.exit(main())
