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
_OWN_GOALS = {
    "plain backlog": ("plain", ratios.PODS),
    "mixed backlog": ("mixed", ratios.PODS),
    "required pod affinity": ("pod-affinity", ratios.PODS),
    "required pod anti-affinity": ("pod-anti-affinity", ratios.PODS),
    "zone spread": ("zone-spread", ratios.PODS),
    "100 plain pods a second": ("plain", ratios.P99),
    "100 mixed pods a second": ("mixed", ratios.P99),
}
"""The workload and the figure by how a row of the summary begins; pods arrive where it is p99."""


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
    return not row.startswith(("| workload |", "|---"))


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
    assert _summarised(begin) == [documents.spread(found), goal.verdict(found).split()[-1]]


def test_the_summary_has_every_shape() -> None:
    """CPU, memory and the shapes without a goal of their own are told by their extremes."""
    backlogs = [
        pair
        for pair in ratios.pairs(_kept())
        if (pair.case.nodes, pair.case.arrivals_per_second, pair.case.compares)
        == (5000, 0.0, "schedulers")
    ]

    def found(figure: str, *, without: Sequence[str] = ()) -> list[list[float]]:
        shapes = [pair for pair in backlogs if pair.case.workload not in without]
        return sorted((pair.ratios(figure) for pair in shapes), key=statistics.median)

    own = [workload for workload, _ in _OWN_GOALS.values()]
    least, *_, most = found(ratios.PODS, without=own)
    told = _summarised("every other shape")[0]
    assert told.startswith(documents.spread(least))
    assert documents.spread(most) in told
    for begin, figure in (("CPU a pod", ratios.CPU), ("peak memory", ratios.MEMORY)):
        least, *_, most = found(figure)
        extremes = f"{statistics.median(least):.2f} to {statistics.median(most):.2f}"
        assert _summarised(begin)[0].startswith(extremes)


def test_the_summary_tells_what_is_missed() -> None:
    """The cost of a hundred rules stands there as it was measured."""
    name = schedulers.with_policy("rules-100")
    [pair] = [pair for pair in ratios.pairs(_kept()) if pair.scheduler == name]
    of_process, of_all = (
        documents.spread(pair.ratios(figure)) for figure in (ratios.CPU, ratios.CPU_OF_ALL)
    )
    told, verdict = _summarised("100 rules")
    assert told.startswith(f"{of_process} of the process, {of_all} of all processes")
    assert verdict.startswith("**missed**")
