"""Results that are kept run by run, and what becomes of them: tables, estimates, a plot."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

import msgspec
import pytest

from benchmarks import (
    comparison,
    estimates,
    goals,
    measurements,
    plans,
    plot,
    report,
    schedulers,
)
from tests.benchmarks import runs

if TYPE_CHECKING:
    import pathlib

KUBE, OURS = schedulers.KUBE_SCHEDULER, schedulers.POLICYSCHED


def test_results_come_back(tmp_path: pathlib.Path) -> None:
    """What was added to a file is there when it is opened again, in the same order."""
    file = tmp_path / "new" / "results.jsonl"
    made = [runs.run(KUBE, 0, 1.0), runs.run(OURS, 0, 0.5)]
    first = measurements.Results(file)
    for one in made:
        first.add(one)
    assert measurements.Results(file).measurements == made


def test_half_a_line_is_taken_away(tmp_path: pathlib.Path) -> None:
    """A benchmark that was killed while it wrote loses that run and no other one."""
    file = tmp_path / "results.jsonl"
    measurements.Results(file).add(runs.run(KUBE, 0, 1.0))
    with file.open("ab") as out:
        out.write(b'{"case":{"work')
    again = measurements.Results(file)
    assert [one.scheduler for one in again.measurements] == [KUBE]
    again.add(runs.run(OURS, 0, 1.0))
    assert len(measurements.Results(file).measurements) == 2


def test_another_file_is_left_alone(tmp_path: pathlib.Path) -> None:
    """A file of something else gets an error that names the line."""
    file = tmp_path / "results.jsonl"
    file.write_text('{"some": "thing"}\n', encoding="utf-8")
    with pytest.raises(measurements.ResultsError, match=r"results\.jsonl:1: this is no measure"):
        measurements.Results(file)
    assert file.read_text(encoding="utf-8") == '{"some": "thing"}\n'


def test_a_fresh_start_keeps_what_there_was(tmp_path: pathlib.Path) -> None:
    """Former results get another name; a plan without any can begin as well."""
    file = tmp_path / "results.jsonl"
    measurements.put_aside(file)
    measurements.Results(file).add(runs.run(KUBE, 0, 1.0))
    measurements.put_aside(file)
    assert measurements.Results(file).measurements == []
    old = measurements.read(tmp_path / "results.jsonl.old")
    assert [one.scheduler for one in old] == [KUBE]


def test_only_what_is_missing_is_left(tmp_path: pathlib.Path) -> None:
    """Turns that are in the file already are not taken again, the others in their order."""
    results = measurements.Results(None)
    comparing = comparison.Comparing(results, tmp_path, schedulers.Options())
    wanted = plans.Comparison(runs.CASE, (KUBE, OURS), 2)
    assert list(wanted.turns()) == [(0, KUBE), (0, OURS), (1, OURS), (1, KUBE)]
    results.add(runs.run(OURS, 0, 1.0))
    results.add(runs.run(KUBE, 1, 1.0))
    results.add(runs.run(OURS, 1, 1.0, runs.at(20)))
    assert list(comparing.missing_turns(wanted)) == [(0, KUBE), (1, OURS)]


def test_ratios_are_of_the_same_repeat() -> None:
    """Each repeat gives one ratio; the table shows their median, smallest and largest."""
    seconds = {KUBE: (2.0, 4.0, 8.0), OURS: (1.0, 1.0, 1.0, 1.0)}
    made = [
        runs.run(name, repeat, one)
        for name, all_seconds in seconds.items()
        for repeat, one in enumerate(all_seconds)
    ]
    shown = report.text(made)
    assert "pods/s 4.00 (2.00-8.00)" in shown
    assert "CPU 0.25 (0.12-0.50)" in shown
    assert "p99 0.25 (0.12-0.50)" in shown


def test_policies_are_compared_with_none() -> None:
    """Where policies are compared, the baseline is policysched itself, and there is no goal."""
    case = msgspec.structs.replace(runs.CASE, compares="policies")
    name = schedulers.with_policy("rules-100")
    shown = report.text([runs.run(name, 0, 3.0, case), runs.run(OURS, 0, 2.0, case)])
    assert "policysched+rules-100 / policysched: pods/s 0.67 (0.67-0.67)" in shown
    assert "≥" not in shown


@pytest.mark.parametrize("seconds, told", [(1.0, "met"), (1.3, "MISSED")])
def test_goals_are_of_5000_nodes(seconds: float, told: str) -> None:
    """Plain pods have goals at 5,000 nodes, and the table says whether they are met."""
    shown = report.text(
        [
            runs.run(KUBE, 0, 2.6, runs.at(5000)),
            runs.run(OURS, 0, seconds, runs.at(5000)),
            runs.run(KUBE, 0, 1.0, runs.at(500)),
            runs.run(OURS, 0, 1.0, runs.at(500)),
        ]
    )
    [line] = [line for line in shown.splitlines() if "≥" in line]
    assert line.startswith("plain, 5,000 nodes")
    assert line.endswith(f"pods/s ≥ 2.5 {told}, CPU ≤ 0.4 {told}, memory ≤ 1.2 met")


def test_goals_are_of_what_is_measured() -> None:
    """Every goal is about a figure, a workload and a size of the full plan, and has one bound."""
    compared = plans.comparisons(plans.load("full"))
    for goal in goals.load():
        assert goal.figure in report.RATIOS
        assert (goal.at_least is None) != (goal.at_most is None)
        assert any(goal.means(one.case, name) for one in compared for name in one.names), goal


def test_the_first_goal_counts() -> None:
    """A workload's own goal stands over the one of all workloads."""
    case = measurements.Case("zone-spread", 5000, 100)
    assert [str(goal) for goal in goals.of(case, OURS)] == [
        "pods/s ≥ 4",
        "CPU ≤ 0.4",
        "memory ≤ 1.2",
    ]
    assert goals.of(case, KUBE) == []


@pytest.mark.parametrize("rate, is_told", [(99.0, False), (80.0, True)])
def test_pods_that_came_late_are_told(rate: float, *, is_told: bool) -> None:
    """A rate that the benchmark itself could not keep is no rate; backlogs have none."""
    case = msgspec.structs.replace(runs.CASE, arrivals_per_second=100.0)
    one = msgspec.structs.replace(runs.run(OURS, 0, 1.0, case), arrived_per_second=rate)
    assert ("too busy for the rate: pods came at" in report.text([one])) == is_told
    assert "too busy" not in report.text([runs.run(OURS, 0, 1.0)])


def test_tables_for_documents() -> None:
    """Every row has as many cells as the head."""
    made = [runs.run(KUBE, 0, 2.0), runs.run(OURS, 0, 1.0)]
    rows = [line.split("|") for line in report.markdown(made).splitlines()]
    assert len(rows) == 4
    assert len({len(row) for row in rows}) == 1


def test_nothing_measured() -> None:
    """A report about nothing says so."""
    assert report.text([]) == "nothing has been measured"


def test_estimates_learn() -> None:
    """What was slow before is expected to be slow again; another scheduler's speed says nothing."""
    case = measurements.Case("plain", nodes=5000, pods=5000)
    guess = estimates.Estimate([]).seconds(case, [KUBE])
    slow = [runs.run(KUBE, 0, 500.0, case)]
    assert estimates.Estimate(slow).seconds(case, [KUBE]) > guess + 500
    assert estimates.Estimate(slow).seconds(case, [OURS]) == guess
    assert estimates.Estimate([]).seconds(case, [KUBE, KUBE]) > guess


@pytest.mark.parametrize(
    "seconds, told", [(1, "1 min"), (100, "2 min"), (3600, "1 h 00 min"), (9000, "2 h 30 min")]
)
def test_durations(seconds: float, told: str) -> None:
    """Durations are minutes and hours."""
    assert estimates.duration(seconds) == told


def test_the_plot_has_a_line_for_each(tmp_path: pathlib.Path) -> None:
    """A file of results becomes SVG with a point for each size and the names at the ends."""
    file, out = tmp_path / "results.jsonl", tmp_path / "plot.svg"
    results = measurements.Results(file)
    for nodes in (500, 5000, 15000):
        for name, seconds in ((KUBE, 2.0 * nodes), (OURS, 1.0 * nodes)):
            for repeat in range(3):
                results.add(runs.run(name, repeat, seconds + repeat, runs.at(nodes)))
    assert plot.main(["--results", str(file), "--out", str(out)]) == 0
    root = ElementTree.parse(out).getroot()  # noqa: S314 - made two lines above
    name_of = "{http://www.w3.org/2000/svg}"
    circles = [
        (float(one.get("cx", "")), float(one.get("cy", "")))
        for one in root.iter(f"{name_of}circle")
    ]
    assert len(circles) == 6
    assert circles[0][1] > circles[3][1]
    texts = [one.text for one in root.iter(f"{name_of}text")]
    assert {f"{KUBE}, plain", f"{OURS}, plain", "15,000"} <= set(texts)


def test_a_plot_of_one_size(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One size makes no line; that is said, and no file is written."""
    file, out = tmp_path / "results.jsonl", tmp_path / "plot.svg"
    measurements.Results(file).add(runs.run(KUBE, 0, 1.0))
    assert plot.main(["--results", str(file), "--out", str(out)]) == 2
    assert "no backlog at two numbers of nodes" in capsys.readouterr().err
    assert not out.exists()
    assert plot.main(["--results", str(tmp_path / "none"), "--out", str(out)]) == 2
