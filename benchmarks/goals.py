"""What the ratios are to reach: `benchmarks/goals.yaml`."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Sequence

import msgspec

from benchmarks import measurements, schedulers, workload_files

_FILE = pathlib.Path(__file__).resolve().parent / "goals.yaml"


class Goal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bound for a ratio.

    Attributes:
        figure: a name of `report.RATIOS`.
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

    def means(self, case: measurements.Case, scheduler: str) -> bool:
        """Return whether a scheduler is to reach it in a case."""
        same = (case.nodes, case.arrivals_per_second) == (self.nodes, self.arrivals_per_second)
        return same and scheduler == self.scheduler and self.workload in ("", case.workload)

    def is_met(self, ratio: float) -> bool:
        """Return whether a ratio reaches it."""
        if self.at_least is not None:
            return ratio >= self.at_least
        return self.at_most is None or ratio <= self.at_most

    def __str__(self) -> str:
        """Return the figure and its bound."""
        bound = f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"
        return f"{self.figure} {bound}"


@functools.cache
def load() -> Sequence[Goal]:
    """Return all goals."""
    return workload_files.read(_FILE, list[Goal])


def of(case: measurements.Case, scheduler: str) -> list[Goal]:
    """Return the goals of a scheduler in a case, one a figure."""
    found: dict[str, Goal] = {}
    for goal in load():
        if goal.means(case, scheduler):
            found.setdefault(goal.figure, goal)
    return list(found.values())
