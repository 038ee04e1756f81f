"""`python -m tests.devices`: generated claims, by policysched and by kube-scheduler's allocator.

python -m tests.devices --cases 20000 --seed 7
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from typing import NoReturn

from tests import line_process, whole_numbers
from tests.devices import compare

_SHOWN = 3
"""Differences that are printed; the rest is counted."""


class _Parser(argparse.ArgumentParser):
    """Tells wrong usage with exit code 3, as the commands of policysched do."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end."""
        self.exit(3, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; return 0 without differences, else 1; 3 for wrong usage."""
    parser = _Parser(prog="python -m tests.devices")
    parser.add_argument(
        "--cases", type=whole_numbers.at_least(1), default=20_000, help="nodes with claims"
    )
    parser.add_argument(
        "--seed",
        type=whole_numbers.at_least(0),
        default=random.SystemRandom().randrange(10**6),
        help="default: any",
    )
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
