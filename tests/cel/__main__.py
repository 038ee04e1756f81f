"""`python -m tests.cel`: generated expressions, by policysched and by kube-scheduler's CEL.

python -m tests.cel --pairs 100000 --seed 7
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

from tests import command_parser, whole_numbers
from tests.cel import compare, oracle_process

_SHOWN = 10
"""Differences that are printed; the rest is counted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; return 0 without differences, else 1; 3 for wrong usage."""
    parser = command_parser.CommandParser(prog="python -m tests.cel")
    parser.add_argument(
        "--pairs", type=whole_numbers.at_least(1), default=100_000, help="expressions with a device"
    )
    parser.add_seed()
    args = parser.parse_args(arguments)
    print(f"seed {args.seed}", flush=True)
    with oracle_process.Oracle() as oracle:
        tally = compare.compare_generated(oracle, random.Random(args.seed), args.pairs)
    for difference in tally.differences[:_SHOWN]:
        print(difference)
    print(
        f"{tally.pairs} pairs: {tally.matches} match, {tally.errors} fail;"
        f" {tally.compile_errors} expressions do not compile;"
        f" {len(tally.differences)} differences"
    )
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
