"""`python -m tests.fuzzing`: damaged input through the commands, in process and as processes.

python -m tests.fuzzing --inputs 100000 --seed 7
python -m tests.fuzzing --inputs 1000 --seed 7 --processes 1000
python -m tests.fuzzing --replay tests/fuzzing/found/a-case.json
"""

from __future__ import annotations

import argparse
import os
import pathlib
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tests import whole_numbers
from tests.fuzzing import cases, pieces, running, shrinking

FAILURES = pathlib.Path(__file__).parent / "failures"
"""Where failing cases are kept; not part of the repository."""
_TOLD_EVERY = 5000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases; return 0 without defects, else 1."""
    args = _parse(arguments)
    if args.replay:
        return _replay(args.replay, running.run_as_process if args.processes else running.run)
    print(f"seed {args.seed}", flush=True)
    tally = Tally()
    for piece in pieces.run_all(pieces.split(args.seed, args.inputs, args.processes), args.jobs):
        for run in piece:
            tally.add(run)
    tally.tell()
    return 1 if tally.failures else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing")
    positive, not_negative = whole_numbers.at_least(1), whole_numbers.at_least(0)
    parser.add_argument("--inputs", type=positive, default=1000, help="how many, in this process")
    parser.add_argument(
        "--processes", type=not_negative, default=0, help="how many as processes, too"
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        default=os.cpu_count() or 1,
        help="processes that run them (default: one for each core)",
    )
    parser.add_argument("--seed", type=not_negative, help="default: another every time")
    parser.add_argument("--replay", type=pathlib.Path, help="run one kept case")
    args = parser.parse_args(arguments)
    if args.seed is None:
        args.seed = secrets.randbelow(10**6)
    return args


def _replay(path: pathlib.Path, run: Callable[[cases.Case], running.Ending]) -> int:
    ending = run(cases.from_json(path.read_text("utf-8")))
    print(f"exit code {ending.code}\n{ending.stderr}")
    print(ending.problem or "fine")
    return 1 if ending.problem else 0


class Tally:
    """Counts endings, and keeps the first case of each defect, made small.

    Attributes:
        failures: how often each defect was met.
    """

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()
        self._codes: Counter[tuple[str, str]] = Counter()
        self._start = time.monotonic()

    @property
    def rate(self) -> float:
        """Runs a second."""
        return self._codes.total() / max(0.001, time.monotonic() - self._start)

    def add(self, run: pieces.Run) -> None:
        """Count a run; tell of the first of each defect."""
        self._codes[run.case.command, str(run.ending.code)] += 1
        if self._codes.total() % _TOLD_EVERY == 0:
            print(f"{self._codes.total()} runs, {self.rate:.0f} a second", flush=True)
        problem = run.ending.problem
        if not problem:
            return
        self.failures[problem] += 1
        if self.failures[problem] == 1:
            small = shrinking.shrink(run.case, run.fails_alike)
            print(f"{problem}: kept in {_keep(small)}", flush=True)

    def tell(self) -> None:
        """Print the table."""
        codes = sorted({code for _, code in self._codes})
        print(f"{'command':<24}" + "".join(f"{'exit ' + code:>10}" for code in codes))
        for command in sorted({command for command, _ in self._codes}):
            counts = (self._codes[command, code] for code in codes)
            print(f"{command[:23]!r:<24}" + "".join(f"{count:>10}" for count in counts))
        print(f"{self._codes.total()} runs, {self.rate:.0f} a second")
        for problem, count in self.failures.most_common():
            print(f"{count:>6} {problem}")


def _keep(case: cases.Case) -> pathlib.Path:
    FAILURES.mkdir(exist_ok=True)
    path = FAILURES / f"{len(list(FAILURES.iterdir())):03}.json"
    path.write_text(case.as_json(), "utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
