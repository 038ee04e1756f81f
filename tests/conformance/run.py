"""Cases one after the other: generated, given to both schedulers, compared, and made small."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import time
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

from tests import line_process
from tests.conformance import compare, oracle_process, product, shrink
from tests.conformance.generate import families

Manifest = dict[str, Any]


@dataclasses.dataclass(slots=True)
class Failure:
    """A case on which the two disagree."""

    case: Manifest
    differences: list[compare.Difference]

    @property
    def family(self) -> str:
        """The family of the case."""
        return str(self.case["name"]).split("-", maxsplit=1)[0]

    def __str__(self) -> str:
        shown = "\n".join(str(each) for each in self.differences[:5])
        more = len(self.differences) - 5
        return f"{self.case['name']}\n{shown}" + (f"\n… and {more} more" if more > 0 else "")


@dataclasses.dataclass(slots=True)
class Tally:
    """What has been compared of one family."""

    counts: compare.Counts = dataclasses.field(default_factory=compare.Counts)
    failures: list[Failure] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Tally) -> None:
        """Add what another process has compared."""
        self.counts.add(other.counts)
        self.failures += other.failures
        self.seconds += other.seconds


class Judge:
    """Both schedulers, ready to be asked."""

    def __init__(self, oracle: oracle_process.Oracle, ours: product.Product) -> None:
        self._oracle = oracle
        self._ours = ours

    def compare(self, case: Manifest) -> tuple[compare.Counts, list[compare.Difference]]:
        """Return how much was compared, and what differs."""
        try:
            theirs = self._oracle.ask(case["cluster"], *case["ask"], config=case.get("config"))
        except line_process.OracleError as error:
            refused = compare.Difference("the oracle refuses the case", "", "", str(error))
            return compare.Counts(clusters=1), [refused]
        try:
            answer = self._ours.answer(case)
        except Exception as error:  # noqa: BLE001 - a crash is what tests look for
            what = f"policysched raises {type(error).__name__}"
            trace = "".join(traceback.format_exception(error))
            return compare.counts(theirs), [compare.Difference(what, "", trace, "")]
        return compare.counts(theirs), list(compare.differences(answer, theirs))

    def shrink(self, failure: Failure) -> Failure:
        """Return a small case with the same disagreement as the first one of `failure`."""
        aspect = failure.differences[0].aspect

        def still_fails(case: Manifest) -> bool:
            return any(each.aspect == aspect for each in self.compare(case)[1])

        small = shrink.shrink(failure.case, still_fails)
        return Failure(small, self.compare(small)[1])


def run(judge: Judge, family: str, seed: int, numbers: Sequence[int]) -> Tally:
    """Return what comes of the cases of a family with these numbers."""
    tally = Tally()
    began = time.perf_counter()
    for number in numbers:
        case = families.case(family, seed, number)
        counts, differences = judge.compare(case)
        tally.counts.add(counts)
        if differences:
            tally.failures.append(Failure(case, differences))
    tally.seconds = time.perf_counter() - began
    return tally


def shares(names: Sequence[str], cases: int) -> Iterator[tuple[str, int]]:
    """Yield how many of the cases are of each family, each by its share, at least one.

    Together they are `cases`, where there are that many families: what rounding leaves over goes to
    the next one.
    """
    total = sum(families.family(name).share for name in names)
    begun = given = 0
    for name in names:
        begun += families.family(name).share
        count = max(1, cases * begun // total - given)
        given += count
        yield name, count


def save(failure: Failure, folder: pathlib.Path) -> pathlib.Path:
    """Write a failing case, with what differs beside it; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{failure.case['name']}.json"
    path.write_text(json.dumps(failure.case, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".txt").write_text(f"{failure}\n", encoding="utf-8")
    return path
