"""The table of README.md matches the stored results, as docs/performance.md does."""

from __future__ import annotations

import pathlib
import statistics
from typing import TYPE_CHECKING

import pytest

from benchmarks.comparison import schedulers
from benchmarks.records import measurements, ratios, results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results"
_README = (_ROOT / "README.md").read_text(encoding="utf-8")
_BOTH = (schedulers.KUBE_SCHEDULER, schedulers.POLICYSCHED)


def _read_cells(begin: str) -> list[str]:
    """Return the cells of the row with this beginning, without the first cell."""
    [row] = [line for line in _README.splitlines() if line.startswith(f"| {begin}")]
    return [cell.strip() for cell in row.strip("|").split("|")][1:]


def _read_files() -> list[Sequence[measurements.Measurement]]:
    """Return the runs of each file; each file numbers its repeats."""
    files = [file for file in _RESULTS.iterdir() if not file.stem.endswith("-plot")]
    return [results.read(file) for file in sorted(files)]


def _find_ratio(workload: str, name: str, figure: str, arrivals: float = 0.0) -> float:
    """Return the median ratio at 5,000 nodes."""
    [ratio] = [
        statistics.median(pair.ratios(figure))
        for runs in _read_files()
        for pair in ratios.pairs(runs)
        if pair.scheduler == name
        and (pair.case.workload, pair.case.nodes) == (workload, 5000)
        and pair.case.arrivals_per_second == arrivals
    ]
    return ratio


def _select(scheduler: str, nodes: int, arrivals: float = 0.0) -> list[measurements.Measurement]:
    """Return the runs that compare schedulers, at a size and a rate of arrivals."""
    return [
        run
        for runs in _read_files()
        for run in runs
        if run.scheduler == scheduler
        and (run.case.nodes, run.case.arrivals_per_second) == (nodes, arrivals)
        and run.case.compares == "schedulers"
    ]


@pytest.mark.parametrize("begin, workload", [("plain", "plain"), ("pods with affinity", "mixed")])
def test_backlogs_are_measured(begin: str, workload: str) -> None:
    """Medians of both, the ratio until the last binding, and until the last event."""
    medians = [
        statistics.median(
            r.pods_per_second for r in _select(s, 5000) if r.case.workload == workload
        )
        for s in _BOTH
    ]
    bound, with_events = (_find_ratio(workload, _BOTH[1], f) for f in (ratios.PODS, ratios.TOLD))
    expected = [
        *(f"{m:.0f}" for m in medians),
        f"{bound:.2f} ({with_events:.2f})",
    ]
    assert _read_cells(begin) == expected


def test_the_wait_is_measured() -> None:
    """The row has the medians in milliseconds, and their ratio."""
    medians = [statistics.median(r.latency.p99_ms for r in _select(s, 5000, 100.0)) for s in _BOTH]
    ratio = _find_ratio("mixed", _BOTH[1], ratios.P99, 100.0)
    assert _read_cells("wait (p99)") == [*(f"{m:,.0f} ms" for m in medians), f"{ratio:.2f}"]


def test_the_start_is_measured() -> None:
    """The row has the medians of all backlogs."""
    medians = [statistics.median(r.start_seconds for r in _select(s, 5000)) for s in _BOTH]
    assert _read_cells("start") == [*(f"{m:.1f} s" for m in medians), ""]


@pytest.mark.parametrize(
    "begin, policy",
    [("100 rules about", "node-rules-100"), ("100 rules, including", "rules-100")],
)
def test_the_cost_of_rules_is_measured(begin: str, policy: str) -> None:
    """Ratios are to runs of policysched without rules."""
    name = schedulers.with_policy(policy)
    pods, cpu = (_find_ratio("labelled", name, f) for f in (ratios.PODS, ratios.CPU))
    assert _read_cells(begin) == ["", "", f"pods per second {pods:.2f}, CPU time {cpu:.2f}"]


def _measure_seconds(run: measurements.Measurement) -> float:
    """Return the time from the start of the process to the last event."""
    return run.start_seconds + run.bind_seconds + run.events_behind_seconds


@pytest.mark.parametrize(
    "begin, figure",
    [
        pytest.param("workloads, out of 16, that finish", _measure_seconds, id="time"),
        pytest.param("workloads, out of 16, that need", lambda r: r.peak_memory_mib, id="memory"),
    ],
)
def test_small_clusters_are_counted(
    begin: str, figure: Callable[[measurements.Measurement], float]
) -> None:
    """The row has the number of workloads in which each scheduler has the larger figure."""
    theirs, ours = (
        {run.case.workload: figure(run) for run in _select(scheduler, 500)} for scheduler in _BOTH
    )
    assert theirs.keys() == ours.keys()
    worse = sum(ours[workload] > theirs[workload] for workload in ours)
    assert _read_cells(begin) == [str(len(ours) - worse), str(worse), ""]
    assert begin.startswith(f"workloads, out of {len(ours)},")
