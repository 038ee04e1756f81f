"""docs/performance.md tells what has been measured: it is held to the results that are kept."""

from __future__ import annotations

import pathlib
import statistics
from typing import TYPE_CHECKING

import pytest

from benchmarks import documents, goals, measurements, ratios, results, schedulers

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results"
_PAGE = (_ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
_TOLD_BY_A_PLOT = "-plot.jsonl"
_REPORT_COLUMNS = 10
"""The fewest columns of a table that a report prints."""
_OWN_GOALS = {
    "plain backlog,": ("plain", ratios.PODS),
    "mixed backlog,": ("mixed", ratios.PODS),
    "required pod affinity,": ("pod-affinity", ratios.PODS),
    "required pod anti-affinity,": ("pod-anti-affinity", ratios.PODS),
    "zone spread,": ("zone-spread", ratios.PODS),
    "100 plain pods per second arrive at": ("plain", ratios.P99),
    "100 mixed pods per second": ("mixed", ratios.P99),
}
"""The workload and the figure by how a row of the summary begins; pods arrive where it is p99."""


def _pods_per_second_of_process(one: measurements.Measurement) -> float:
    """Return the pods per second from the start of the process to the last event."""
    return one.bound / (one.start_seconds + one.bind_seconds + one.events_behind_seconds)


_ALL_SHAPES: Sequence[tuple[str, int, ratios.Value, bool]] = (
    ("15,000 nodes, every shape", 15000, ratios.FIGURES[ratios.PODS], True),
    ("500 nodes, every shape", 500, ratios.FIGURES[ratios.PODS], True),
    ("5,000 nodes, from the start", 5000, _pods_per_second_of_process, True),
    ("500 nodes, from the start", 500, _pods_per_second_of_process, True),
    ("CPU per pod of a backlog", 5000, ratios.FIGURES[ratios.CPU], False),
    ("with the start of the process", 5000, ratios.FIGURES[ratios.CPU_WITH_START], False),
    ("500 nodes, CPU per pod", 500, ratios.FIGURES[ratios.CPU_WITH_START], False),
    ("peak memory", 5000, ratios.FIGURES[ratios.MEMORY], False),
    ("500 nodes, peak memory", 500, ratios.FIGURES[ratios.MEMORY], False),
    ("15,000 nodes, peak memory", 15000, ratios.FIGURES[ratios.MEMORY], False),
)
"""How a row about all shapes begins, its nodes, its figure, and whether more of it is better."""


def _rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def _summary() -> dict[str, list[str]]:
    """Return the other cells of each row of the first table, by the first cell."""
    section = _PAGE.partition("## In short")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in _rows(section)]
    return {first: others for first, *others in cells[2:]}


def _summarised(begin: str) -> list[str]:
    [found] = [others for first, others in _summary().items() if first.startswith(begin)]
    return found


def _kept() -> Sequence[measurements.Measurement]:
    [file] = [one for one in _RESULTS.iterdir() if one.stem.count("-") == 2]  # a date alone
    return results.read(file)


def test_tables_are_of_the_results() -> None:
    """Rows about workloads are those that a report prints today, neither more nor fewer."""
    files = [one for one in _RESULTS.iterdir() if not one.name.endswith(_TOLD_BY_A_PLOT)]
    printed = {row for file in files for row in _rows(documents.markdown(results.read(file)))}
    section = _PAGE.partition("## Beside kube-scheduler")[2].partition("\n## The cycle alone")[0]
    told = {*_rows(section), *(row for row in _rows(_PAGE) if row.startswith("| labelled, "))}
    assert printed - set(_rows(_PAGE)) == set()
    assert {row for row in told if _is_of_a_workload(row)} == {
        row for row in printed if _is_of_a_workload(row)
    }


def _is_of_a_workload(row: str) -> bool:
    is_report = row.count("|") > _REPORT_COLUMNS
    return is_report and not row.startswith(("| workload |", "|---"))


@pytest.mark.parametrize("begin", _OWN_GOALS)
def test_the_summary_is_of_the_results(begin: str) -> None:
    """A row has the ratio of its goal, and whether that is met."""
    workload, figure = _OWN_GOALS[begin]
    [[pair, goal]] = [
        (pair, goal)
        for pair in ratios.pairs(_kept())
        for goal in goals.of(pair)
        if (goal.workload, goal.figure) == (workload, figure) == (pair.case.workload, goal.figure)
    ]
    found = pair.ratios(figure)
    assert _summarised(begin) == [documents.spread(found), "policysched", goal.verdict(found)]


def _backlogs(nodes: int) -> list[ratios.Pair]:
    """Return the backlogs of a size that both schedulers have bound, one for each shape."""
    return [
        pair
        for pair in ratios.pairs(_kept())
        if (pair.case.nodes, pair.case.arrivals_per_second, pair.case.compares)
        == (nodes, 0.0, "schedulers")
    ]


def test_the_summary_has_the_shapes_without_a_goal_of_their_own() -> None:
    """They are summarised by their extremes, with the pods per second until the last binding."""
    own = [workload for workload, _ in _OWN_GOALS.values()]
    least, *_, most = sorted(
        (pair.ratios(ratios.PODS) for pair in _backlogs(5000) if pair.case.workload not in own),
        key=statistics.median,
    )
    told = _summarised("every other shape")[0]
    assert told.startswith(documents.spread(least))
    assert documents.spread(most) in told


@pytest.mark.parametrize(
    "begin, nodes, value, is_more_better",
    [pytest.param(*row, id=row[0]) for row in _ALL_SHAPES],
)
def test_the_summary_names_the_extremes_and_the_better_scheduler(
    begin: str, nodes: int, value: ratios.Value, *, is_more_better: bool
) -> None:
    """A row about all shapes counts those in which kube-scheduler is better."""
    medians = sorted(statistics.median(pair.divide(value)) for pair in _backlogs(nodes))
    lost = sum(one < 1 if is_more_better else one > 1 for one in medians)
    better = f"**kube-scheduler** in {lost} of {len(medians)} shapes" if lost else "policysched"
    ratio, named, _ = _summarised(begin)
    assert (ratio, named) == (f"{medians[0]:.2f} to {medians[-1]:.2f}", better)


@pytest.mark.parametrize("workload", ["plain", "mixed"])
def test_the_summary_has_the_lead_until_the_last_event(workload: str) -> None:
    """It is smaller than until the last binding."""
    [pair] = [pair for pair in _backlogs(5000) if pair.case.workload == workload]
    found = pair.ratios(ratios.TOLD)
    assert _summarised(f"{workload} backlog until")[0] == documents.spread(found)


@pytest.mark.parametrize("nodes", [500, 5000, 15000])
def test_the_page_has_the_seconds_of_the_start(nodes: int) -> None:
    """The table has median, smallest and largest for both schedulers."""
    cells = [f"{nodes:,}"]
    for name in (schedulers.POLICYSCHED, "kube-scheduler"):
        seconds = [
            one.start_seconds
            for pair in _backlogs(nodes)
            for one in pair.runs
            if one.scheduler == name
        ]
        cells += [f"{statistics.median(seconds):.1f}", f"{min(seconds):.1f} to {max(seconds):.1f}"]
    assert f"| {' | '.join(cells)} |" in _rows(_PAGE)


def test_the_summary_tells_what_is_missed() -> None:
    """The cost of a hundred rules stands there as it was measured."""
    name = schedulers.with_policy("rules-100")
    [pair] = [pair for pair in ratios.pairs(_kept()) if pair.scheduler == name]
    of_process, of_all = (
        documents.spread(pair.ratios(figure)) for figure in (ratios.CPU, ratios.CPU_OF_ALL)
    )
    ratio, _, verdict = _summarised("100 rules, CPU per pod of the process")
    assert (ratio, verdict) == (of_process, "≤ 1.3 **missed**")
    assert _summarised("100 rules, CPU per pod of all processes")[0] == of_all
