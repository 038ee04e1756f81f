"""What the ratios are to reach: `benchmarks/goals.yaml`."""

from __future__ import annotations

import functools
import pathlib
import statistics
from collections.abc import Sequence

import msgspec

from benchmarks import measurements, ratios, schedulers, workload_files

FILE = pathlib.Path(__file__).resolve().parent / "goals.yaml"
RUNS = 3
"""A goal is about the median of so many."""


class Goal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bound for a ratio.

    Attributes:
        figure: a name of `ratios.FIGURES`.
        at_least, at_most: the bound; one of them.
        workload: that it is about; "" for all.
        nodes: the size that it is about.
        arrivals_per_second: the rate that it is about; 0 for backlogs.
        scheduler: whose figure is divided by the baseline's.
    """

    figure: str
    nodes: int
    at_least: float | None = None
    at_most: float | None = None
    workload: str = ""
    arrivals_per_second: float = 0.0
    scheduler: str = schedulers.POLICYSCHED

    def __post_init__(self) -> None:
        """Refuse what nobody measures, and what no ratio meets or misses."""
        if self.figure not in ratios.FIGURES:
            known = ", ".join(ratios.FIGURES)
            raise ValueError(f"there is no figure `{self.figure}`; there are {known}")
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("a goal needs one bound, `at_least` or `at_most`")

    def means(self, case: measurements.Case, scheduler: str) -> bool:
        """Return whether a scheduler is to reach it in a case."""
        same = (case.nodes, case.arrivals_per_second) == (self.nodes, self.arrivals_per_second)
        return same and scheduler == self.scheduler and self.workload in ("", case.workload)

    def is_met(self, ratio: float) -> bool:
        """Return whether a ratio reaches it."""
        if self.at_least is not None:
            return ratio >= self.at_least
        return self.at_most is None or ratio <= self.at_most

    def verdict(self, found: Sequence[float]) -> str:
        """Return the bound and whether the median of these ratios reaches it."""
        return f"{self.bound} {told(len(found), is_met=self.is_met(statistics.median(found)))}"

    @property
    def bound(self) -> str:
        """The bound for people."""
        return f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"


def told(runs: int, *, is_met: bool) -> str:
    """Return whether a goal is met, and by how many runs where they are too few to say so."""
    too_few = f" ({runs} of {RUNS} runs)" if runs < RUNS else ""
    return f"{'met' if is_met else 'MISSED'}{too_few}"


@functools.cache
def load() -> Sequence[Goal]:
    """Return all goals.

    Raises:
        workload_files.FileError: one of them is wrong.
    """
    return workload_files.read(FILE, list[Goal])


def of(pair: ratios.Pair) -> list[Goal]:
    """Return the goals of a pair, one a figure; there are none beside a base."""
    found: dict[str, Goal] = {}
    for goal in load():
        if not pair.is_beside_base and goal.means(pair.case, pair.scheduler):
            found.setdefault(goal.figure, goal)
    return list(found.values())
