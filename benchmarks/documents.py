"""Measurements as tables of Markdown, as docs/performance.md has them."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from benchmarks import goals, measurements, ratios, report, schedulers


@dataclasses.dataclass(frozen=True)
class _Row:
    """A line of a table."""

    pair: ratios.Pair

    @property
    def case(self) -> measurements.Case:
        """The case of the pair."""
        return self.pair.case

    def both(self, value: ratios.Value, form: str) -> str:
        """Return the medians of the baseline and of the scheduler."""
        by_scheduler = ratios.by_scheduler(self.case, self.pair.runs)
        sides = (by_scheduler[self.pair.baseline], by_scheduler[self.pair.scheduler])
        return " / ".join(f"{ratios.median(side, value):{form}}" for side in sides)

    def ratio(self, figure: str) -> str:
        """Return the median of the ratios, and the smallest and the largest of several."""
        found = self.pair.ratios(figure)
        return spread(found) if found else "-"

    def goals(self, main: str) -> str:
        """Return whether the goal of the main figure is met, and which others are missed."""
        told: list[str] = []
        for goal in goals.of(self.pair):
            found = self.pair.ratios(goal.figure)
            if found and goal.figure == main:
                told.insert(0, goal.verdict(found))
            elif found and not goal.is_met(statistics.median(found)):
                told.append(f"{goal.figure} {goal.verdict(found)}")
        return "; ".join(told)

    @property
    def workload(self) -> str:
        """Its name, and that of the policy."""
        policy = schedulers.policy_of(self.pair.scheduler)
        return f"{self.case.workload}, {policy}" if policy else self.case.workload

    @property
    def repeats(self) -> int:
        """Of how many runs the ratios are."""
        return self.pair.repeats

    def cost(self, figure: str) -> str:
        """Return milliseconds of CPU per pod and their ratio."""
        value = ratios.FIGURES[figure]
        return f"{self.both(lambda one: 1000 * value(one), '.2f')}: {self.ratio(figure)}"


_Column: TypeAlias = tuple[str, Callable[[_Row], str]]
_COSTS: Sequence[_Column] = (
    ("CPU ms per pod", lambda row: row.cost(ratios.CPU)),
    ("with the start", lambda row: row.cost(ratios.CPU_WITH_START)),
    ("MiB", lambda row: row.both(ratios.FIGURES[ratios.MEMORY], ".0f")),
)
_BACKLOGS: Sequence[_Column] = (
    ("workload", lambda row: row.workload),
    ("pods", lambda row: f"{row.case.pods:,}"),
    ("runs", lambda row: str(row.repeats)),
    ("pods/s", lambda row: row.both(ratios.FIGURES[ratios.PODS], ",.0f")),
    ("ratio", lambda row: f"**{row.ratio(ratios.PODS)}**"),
    ("until the last event", lambda row: row.ratio(ratios.TOLD)),
    ("goal", lambda row: row.goals(ratios.PODS)),
    *_COSTS,
)
_ARRIVALS: Sequence[_Column] = (
    ("workload", lambda row: row.workload),
    ("nodes", lambda row: f"{row.case.nodes:,}"),
    ("pods", lambda row: f"{row.case.pods:,} at {row.case.arrivals_per_second:g}/s"),
    ("runs", lambda row: str(row.repeats)),
    ("p50 ms", lambda row: row.both(ratios.FIGURES["p50"], ",.0f")),
    ("p99 ms", lambda row: row.both(ratios.FIGURES[ratios.P99], ",.0f")),
    ("sent late, p99 ms", lambda row: row.both(lambda one: one.sent_late_p99_ms, ",.0f")),
    ("ratio of p99", lambda row: f"**{row.ratio(ratios.P99)}**"),
    ("goal", lambda row: row.goals(ratios.P99)),
    *_COSTS,
)
_POLICIES: Sequence[_Column] = (
    *((head, cell) for head, cell in _BACKLOGS if head != "goal"),
    ("CPU of all processes", lambda row: row.ratio(ratios.CPU_OF_ALL)),
    ("goal", lambda row: row.goals(ratios.CPU)),
)


def markdown(made: ratios.Runs, left_out: Mapping[str, int] | None = None) -> str:
    """Return a table for all backlogs of a size, one for arrivals and one for policies.

    Args:
        made: the runs; the figure of the baseline is the first of two.
        left_out: how many runs are not, by the reason.
    """
    order = list(dict.fromkeys(one.case.workload for one in made))
    rows = [_Row(pair) for pair in ratios.pairs(made)]
    rows.sort(key=lambda row: (_place(row), order.index(row.case.workload)))
    if not rows:
        what = "can be compared" if made else "has been measured"
        return "\n".join([f"nothing {what}", *report.left_out_notes(left_out or {})])
    lines: list[str] = []
    for place, group in itertools.groupby(rows, _place):
        lines += [*_table(place, list(group)), ""]
    broken = ratios.broken_rules(made)
    lines.append(f"**RULES BROKEN: {broken}**" if broken else "No run broke a rule.")
    return "\n".join([*lines, *report.left_out_notes(left_out or {})])


def spread(found: Sequence[float]) -> str:
    """Return the median of ratios, and the smallest and the largest of several."""
    ends = f" ({min(found):.2f} to {max(found):.2f})" if len(found) > 1 else ""
    return f"{statistics.median(found):.2f}{ends}"


def _place(row: _Row) -> tuple[int, int, str]:
    """Return the table of a row, the number of nodes, and the baseline."""
    if row.case.arrivals_per_second:
        return 2, 0, _beside(row)
    return int(row.case.compares == "policies"), row.case.nodes, _beside(row)


def _beside(row: _Row) -> str:
    """Return the part that a base has in a row, for the title of a table; "" without one."""
    if row.pair.is_beside_base:
        return ", beside the base"
    is_of_base = schedulers.without_policy(row.pair.scheduler) == schedulers.BASE
    return ", of the base" if is_of_base else ""


def _table(place: tuple[int, int, str], rows: Sequence[_Row]) -> Iterator[str]:
    columns = (_BACKLOGS, _POLICIES, _ARRIVALS)[place[0]]
    what = ("backlogs at {:,} nodes", "policies at {:,} nodes", "pods that arrive")[place[0]]
    yield f"{what.format(place[1])}{place[2]}:"
    yield ""
    yield f"| {' | '.join(head for head, _ in columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(cell(row) for _, cell in columns)} |"
    notes = dict.fromkeys(
        f"- {row.case.workload}: {note}"
        for row in rows
        for note in report.notes(row.case, row.pair.runs)
    )
    yield from ["", *notes] if notes else ()
