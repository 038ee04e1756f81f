"""docs/performance.md tells what has been measured: its tables are those of kept results."""

from __future__ import annotations

import pathlib

import pytest

from benchmarks import documents, goals, ratios, results

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results"
_PAGE = (_ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
_TOLD_BY_A_PLOT = "-plot.jsonl"


@pytest.mark.parametrize(
    "file",
    [file for file in sorted(_RESULTS.iterdir()) if not file.name.endswith(_TOLD_BY_A_PLOT)],
    ids=lambda file: file.name,
)
def test_tables_are_of_the_results(file: pathlib.Path) -> None:
    """Each row stands there as a report prints it today."""
    printed = documents.markdown(results.read(file)).splitlines()
    rows = [line for line in printed if line.startswith("|")]
    assert rows
    page = _PAGE.splitlines()
    assert [row for row in rows if row not in page] == []


def test_the_summary_is_of_the_results() -> None:
    """The ratio that each goal of a workload is about stands above."""
    [file] = [one for one in _RESULTS.iterdir() if one.stem.count("-") == 2]
    summary = _PAGE.partition("## In short")[2].partition("\n## ")[0]
    told: list[str] = []
    for case, runs, name in ratios.compared(results.read(file)):
        for goal in goals.of(case, name):
            if goal.workload:
                found = ratios.of(case, runs, name, ratios.FIGURES[goal.figure])
                told.append(documents.spread(found))
    assert len(told) == len([goal for goal in goals.load() if goal.workload])
    assert [ratio for ratio in told if ratio not in summary] == []
