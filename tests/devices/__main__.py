"""`python -m tests.devices`: generated claims, by policysched and by kube-scheduler's allocator.

python -m tests.devices --cases 20000 --seed 7
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

from tests import command_parser, line_process, whole_numbers
from tests.devices import compare

_SHOWN = 3
"""Differences that are printed; the rest is counted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; return 0 without differences, else 1; 3 for wrong usage."""
    parser = command_parser.CommandParser(prog="python -m tests.devices")
    parser.add_argument(
        "--cases", type=whole_numbers.at_least(1), default=20_000, help="nodes with claims"
    )
    parser.add_seed()
    args = parser.parse_args(arguments)
    print(f"seed {args.seed}", flush=True)
    with line_process.LineProcess("devices-oracle") as oracle:
        tally = compare.compare_generated(oracle, random.Random(args.seed), args.cases)
    for difference in tally.differences[:_SHOWN]:
        print(difference)
    print(
        f"{tally.cases} cases: {tally.allocated} allocated ({tally.shares} with shares),"
        f" {tally.errors} errors, {tally.node_errors} errors of a node;"
        f" {tally.too_long} left out; {len(tally.differences)} differences"
    )
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
