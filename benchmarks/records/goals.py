"""The goals of `benchmarks/goals.yaml`, which are bounds for ratios."""

from __future__ import annotations

import functools
import pathlib
import statistics
from collections.abc import Sequence

import msgspec

from benchmarks import workload_files
from benchmarks.comparison import schedulers
from benchmarks.records import measurements, ratios

FILE = pathlib.Path(__file__).resolve().parents[1] / "goals.yaml"
RUNS = 3
"""Number of runs whose median decides whether a goal is met."""


class Goal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bound for a ratio.

    Attributes:
        figure: a name of `ratios.FIGURES`.
        at_least, at_most: the bound; exactly one is set.
        workload: the workload to which the goal applies; "" for all.
        nodes: the size to which it applies.
        arrivals_per_second: the rate to which it applies; 0 for backlogs.
        scheduler: the scheduler whose figure is divided by the baseline's.
    """

    figure: str
    nodes: int
    at_least: float | None = None
    at_most: float | None = None
    workload: str = ""
    arrivals_per_second: float = 0.0
    scheduler: str = schedulers.POLICYSCHED

    def __post_init__(self) -> None:
        """Reject unknown figures, and goals without exactly one bound."""
        if self.figure not in ratios.FIGURES:
            known = ", ".join(ratios.FIGURES)
            raise ValueError(f"unknown figure `{self.figure}`; known figures are {known}")
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("a goal needs one bound, `at_least` or `at_most`")

    def applies_to(self, case: measurements.Case, scheduler: str) -> bool:
        """Return whether the goal applies to a scheduler in a case."""
        is_same = (case.nodes, case.arrivals_per_second) == (self.nodes, self.arrivals_per_second)
        return is_same and scheduler == self.scheduler and self.workload in ("", case.workload)

    def is_met(self, ratio: float) -> bool:
        """Return whether a ratio meets the goal."""
        if self.at_least is not None:
            return ratio >= self.at_least
        return self.at_most is None or ratio <= self.at_most

    def verdict(self, values: Sequence[float]) -> str:
        """Return the bound, and whether the median of the ratios meets it."""
        is_met = self.is_met(statistics.median(values))
        return f"{self.bound} {format_verdict(len(values), is_met=is_met)}"

    @property
    def bound(self) -> str:
        """The bound as text."""
        return f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"


def format_verdict(runs: int, *, is_met: bool) -> str:
    """Return whether a goal is met, and the number of runs if they are too few."""
    too_few = f" ({runs} of {RUNS} runs)" if runs < RUNS else ""
    return f"{'met' if is_met else 'MISSED'}{too_few}"


@functools.cache
def load() -> Sequence[Goal]:
    """Return all goals.

    Raises:
        workload_files.FileError: a goal is invalid.
    """
    return workload_files.read(FILE, list[Goal])


def of(pair: ratios.Pair) -> list[Goal]:
    """Return the goals of a pair, one per figure; a comparison with the base has none."""
    by_figure: dict[str, Goal] = {}
    for goal in load():
        if not pair.is_beside_base and goal.applies_to(pair.case, pair.scheduler):
            by_figure.setdefault(goal.figure, goal)
    return list(by_figure.values())
