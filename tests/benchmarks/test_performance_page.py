"""The tables and the summary of docs/performance.md match the stored results."""

from __future__ import annotations

import pathlib
import statistics
from typing import TYPE_CHECKING

import pytest

from benchmarks.comparison import schedulers
from benchmarks.records import documents, goals, measurements, ratios, results

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results"
_PAGE = (_ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
_PLOT_RESULTS = "-plot.jsonl"
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
"""Workload and figure by the beginning of a row of the summary; with p99, pods arrive."""


def _compute_pods_per_second(run: measurements.Measurement) -> float:
    """Return the pods per second from the start of the process to the last event."""
    return run.bound / (run.start_seconds + run.bind_seconds + run.events_behind_seconds)


_ALL_SHAPES: Sequence[tuple[str, int, ratios.Value, bool]] = (
    ("15,000 nodes, every shape", 15000, ratios.FIGURES[ratios.PODS], True),
    ("500 nodes, every shape", 500, ratios.FIGURES[ratios.PODS], True),
    ("5,000 nodes, from the start", 5000, _compute_pods_per_second, True),
    ("500 nodes, from the start", 500, _compute_pods_per_second, True),
    ("CPU per pod of a backlog", 5000, ratios.FIGURES[ratios.CPU], False),
    ("with the start of the process", 5000, ratios.FIGURES[ratios.CPU_WITH_START], False),
    ("500 nodes, CPU per pod", 500, ratios.FIGURES[ratios.CPU_WITH_START], False),
    ("peak memory", 5000, ratios.FIGURES[ratios.MEMORY], False),
    ("500 nodes, peak memory", 500, ratios.FIGURES[ratios.MEMORY], False),
    ("15,000 nodes, peak memory", 15000, ratios.FIGURES[ratios.MEMORY], False),
)
"""Rows about all shapes: beginning, nodes, figure, and whether more of it is better."""


def _list_rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def _read_summary() -> dict[str, list[str]]:
    """Return the other cells of each row of the first table, by the first cell."""
    section = _PAGE.partition("## In short")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in _list_rows(section)]
    return {first: others for first, *others in cells[2:]}


def _find_summary(begin: str) -> list[str]:
    [found] = [others for first, others in _read_summary().items() if first.startswith(begin)]
    return found


def _load_results() -> Sequence[measurements.Measurement]:
    [file] = [file for file in _RESULTS.iterdir() if file.stem.count("-") == 2]  # only a date
    return results.read(file)


def test_tables_are_of_the_results() -> None:
    """The rows about workloads are exactly those that a report prints."""
    files = [file for file in _RESULTS.iterdir() if not file.name.endswith(_PLOT_RESULTS)]
    printed = {row for file in files for row in _list_rows(documents.markdown(results.read(file)))}
    section = _PAGE.partition("## Beside kube-scheduler")[2].partition("\n## The cycle alone")[0]
    copied = {
        *_list_rows(section),
        *(row for row in _list_rows(_PAGE) if row.startswith("| labelled, ")),
    }
    assert printed - set(_list_rows(_PAGE)) == set()
    assert {row for row in copied if _is_of_a_workload(row)} == {
        row for row in printed if _is_of_a_workload(row)
    }


def _is_of_a_workload(row: str) -> bool:
    is_report = row.count("|") > _REPORT_COLUMNS
    return is_report and not row.startswith(("| workload |", "|---"))


@pytest.mark.parametrize("begin", _OWN_GOALS)
def test_the_summary_is_of_the_results(begin: str) -> None:
    """A row has the ratio of its goal, and whether the goal is met."""
    workload, figure = _OWN_GOALS[begin]
    [[pair, goal]] = [
        (pair, goal)
        for pair in ratios.pairs(_load_results())
        for goal in goals.of(pair)
        if (goal.workload, goal.figure) == (workload, figure) == (pair.case.workload, goal.figure)
    ]
    found = pair.ratios(figure)
    assert _find_summary(begin) == [
        documents.format_spread(found),
        "policysched",
        goal.verdict(found),
    ]


def _select_backlogs(nodes: int) -> list[ratios.Pair]:
    """Return the backlogs of a size that both schedulers have bound, one for each shape."""
    return [
        pair
        for pair in ratios.pairs(_load_results())
        if (pair.case.nodes, pair.case.arrivals_per_second, pair.case.compares)
        == (nodes, 0.0, "schedulers")
    ]


def test_the_summary_has_the_shapes_without_a_separate_goal() -> None:
    """They are summarised by their extremes, with the pods per second until the last binding."""
    own = [workload for workload, _ in _OWN_GOALS.values()]
    least, *_, most = sorted(
        (
            pair.ratios(ratios.PODS)
            for pair in _select_backlogs(5000)
            if pair.case.workload not in own
        ),
        key=statistics.median,
    )
    text = _find_summary("every other shape")[0]
    assert text.startswith(documents.format_spread(least))
    assert documents.format_spread(most) in text


@pytest.mark.parametrize(
    "begin, nodes, value, is_more_better",
    [pytest.param(*row, id=row[0]) for row in _ALL_SHAPES],
)
def test_the_summary_names_the_extremes_and_the_better_scheduler(
    begin: str, nodes: int, value: ratios.Value, *, is_more_better: bool
) -> None:
    """A row about all shapes counts those in which kube-scheduler is better."""
    medians = sorted(statistics.median(pair.divide(value)) for pair in _select_backlogs(nodes))
    lost = sum(ratio < 1 if is_more_better else ratio > 1 for ratio in medians)
    better = f"**kube-scheduler** in {lost} of {len(medians)} shapes" if lost else "policysched"
    ratio, named, _ = _find_summary(begin)
    assert (ratio, named) == (f"{medians[0]:.2f} to {medians[-1]:.2f}", better)


@pytest.mark.parametrize("workload", ["plain", "mixed"])
def test_the_summary_has_the_lead_until_the_last_event(workload: str) -> None:
    """It is smaller than until the last binding."""
    [pair] = [pair for pair in _select_backlogs(5000) if pair.case.workload == workload]
    found = pair.ratios(ratios.TOLD)
    assert _find_summary(f"{workload} backlog until")[0] == documents.format_spread(found)


@pytest.mark.parametrize("nodes", [500, 5000, 15000])
def test_the_page_has_the_seconds_of_the_start(nodes: int) -> None:
    """The table has median, smallest and largest for both schedulers."""
    cells = [f"{nodes:,}"]
    for name in (schedulers.POLICYSCHED, "kube-scheduler"):
        seconds = [
            run.start_seconds
            for pair in _select_backlogs(nodes)
            for run in pair.runs
            if run.scheduler == name
        ]
        cells += [f"{statistics.median(seconds):.1f}", f"{min(seconds):.1f} to {max(seconds):.1f}"]
    assert f"| {' | '.join(cells)} |" in _list_rows(_PAGE)


def test_the_summary_has_the_missed_goal() -> None:
    """The row about a hundred rules has the measured costs."""
    name = schedulers.with_policy("rules-100")
    [pair] = [pair for pair in ratios.pairs(_load_results()) if pair.scheduler == name]
    of_process, of_all = (
        documents.format_spread(pair.ratios(figure)) for figure in (ratios.CPU, ratios.CPU_OF_ALL)
    )
    ratio, _, verdict = _find_summary("100 rules, CPU per pod of the process")
    assert (ratio, verdict) == (of_process, "≤ 1.3 **missed**")
    assert _find_summary("100 rules, CPU per pod of all processes")[0] == of_all
