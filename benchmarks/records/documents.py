"""Measurements as Markdown tables, as in docs/performance.md."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from benchmarks.comparison import schedulers
from benchmarks.records import goals, measurements, ratios, report


@dataclasses.dataclass(frozen=True)
class _Row:
    """A row of a table."""

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
        """Return the median of the ratios; of several also the smallest and the largest."""
        values = self.pair.ratios(figure)
        return format_spread(values) if values else "-"

    def goals(self, main: str) -> str:
        """Return the verdict on the goal of the main figure, and on the other goals missed."""
        verdicts: list[str] = []
        for goal in goals.of(self.pair):
            values = self.pair.ratios(goal.figure)
            if values and goal.figure == main:
                verdicts.insert(0, goal.verdict(values))
            elif values and not goal.is_met(statistics.median(values)):
                verdicts.append(f"{goal.figure} {goal.verdict(values)}")
        return "; ".join(verdicts)

    @property
    def workload(self) -> str:
        """The name of the workload, and of the policy."""
        policy = schedulers.policy_of(self.pair.scheduler)
        return f"{self.case.workload}, {policy}" if policy else self.case.workload

    @property
    def repeats(self) -> int:
        """The number of repeats behind the ratios."""
        return self.pair.repeats

    def cost(self, figure: str) -> str:
        """Return milliseconds of CPU per pod, and their ratio."""
        value = ratios.FIGURES[figure]
        return f"{self.both(lambda run: 1000 * value(run), '.2f')}: {self.ratio(figure)}"


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
    ("sent late, p99 ms", lambda row: row.both(lambda run: run.sent_late_p99_ms, ",.0f")),
    ("ratio of p99", lambda row: f"**{row.ratio(ratios.P99)}**"),
    ("goal", lambda row: row.goals(ratios.P99)),
    *_COSTS,
)
_POLICIES: Sequence[_Column] = (
    *((head, cell) for head, cell in _BACKLOGS if head != "goal"),
    ("CPU of all processes", lambda row: row.ratio(ratios.CPU_OF_ALL)),
    ("goal", lambda row: row.goals(ratios.CPU)),
)


def markdown(all_runs: ratios.Runs, excluded: Mapping[str, int] | None = None) -> str:
    """Return tables of backlogs and of policies for each cluster size, and one of arrivals.

    The first of two figures in a cell is the baseline's.

    Args:
        all_runs: the runs to show.
        excluded: number of excluded runs by reason.
    """
    order = list(dict.fromkeys(run.case.workload for run in all_runs))
    rows = [_Row(pair) for pair in ratios.pairs(all_runs)]
    rows.sort(key=lambda row: (_get_table_key(row), order.index(row.case.workload)))
    if not rows:
        problem = "can be compared" if all_runs else "has been measured"
        return "\n".join([f"nothing {problem}", *report.format_excluded(excluded or {})])
    lines: list[str] = []
    for key, group in itertools.groupby(rows, _get_table_key):
        lines += [*_format_table(key, list(group)), ""]
    broken = ratios.broken_rules(all_runs)
    lines.append(f"**RULES BROKEN: {broken}**" if broken else "No run broke a rule.")
    return "\n".join([*lines, *report.format_excluded(excluded or {})])


def format_spread(values: Sequence[float]) -> str:
    """Return the median of ratios; of several also the smallest and the largest."""
    ends = f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
    return f"{statistics.median(values):.2f}{ends}"


def _get_table_key(row: _Row) -> tuple[int, int, str]:
    """Return the kind of table, the number of nodes, and the title's suffix of a row."""
    if row.case.arrivals_per_second:
        return 2, 0, _describe_base(row)
    return int(row.case.compares == "policies"), row.case.nodes, _describe_base(row)


def _describe_base(row: _Row) -> str:
    """Return the role of the base in a row, as suffix of a title; "" without a base."""
    if row.pair.is_beside_base:
        return ", beside the base"
    is_of_base = schedulers.without_policy(row.pair.scheduler) == schedulers.BASE
    return ", of the base" if is_of_base else ""


def _format_table(key: tuple[int, int, str], rows: Sequence[_Row]) -> Iterator[str]:
    columns = (_BACKLOGS, _POLICIES, _ARRIVALS)[key[0]]
    title = ("backlogs at {:,} nodes", "policies at {:,} nodes", "pods that arrive")[key[0]]
    yield f"{title.format(key[1])}{key[2]}:"
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
