"""Stored results and their uses: tables, estimates, a plot."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

import msgspec
import pytest

from benchmarks.comparison import compare, comparison, estimates, plans, schedulers
from benchmarks.records import documents, goals, measurements, plot, ratios, report, results
from tests.benchmarks import runs

if TYPE_CHECKING:
    import pathlib

KUBE, OURS = schedulers.KUBE_SCHEDULER, schedulers.POLICYSCHED


def test_only_missing_turns_remain(tmp_path: pathlib.Path) -> None:
    """Stored turns are not repeated; the others keep their order."""
    measured = results.Results(None)
    comparing = comparison.Comparing(measured, tmp_path, schedulers.Options())
    wanted = plans.Comparison(runs.CASE, (KUBE, OURS), 2)
    assert list(wanted.turns()) == [(0, KUBE), (0, OURS), (1, OURS), (1, KUBE)]
    measured.add(runs.run(OURS, 0, 1.0))
    measured.add(runs.run(KUBE, 1, 1.0))
    measured.add(runs.run(OURS, 1, 1.0, runs.at(20)))
    assert list(comparing.missing_turns(wanted)) == [(0, KUBE), (1, OURS)]


def test_ratios_are_of_the_same_repeat() -> None:
    """Each repeat gives one ratio; the table shows their median, smallest and largest."""
    seconds = {KUBE: (2.0, 4.0, 8.0), OURS: (1.0, 1.0, 1.0, 1.0)}
    measured = [
        runs.run(name, repeat, duration)
        for name, all_seconds in seconds.items()
        for repeat, duration in enumerate(all_seconds)
    ]
    shown = report.text(measured)
    assert "pods/s 4.00 (2.00-8.00)" in shown
    assert "CPU without start 0.25 (0.12-0.50)" in shown
    assert "p99 0.25 (0.12-0.50)" in shown


def test_policies_are_compared_with_none() -> None:
    """If policies are compared, the baseline is policysched itself, without a goal."""
    case = msgspec.structs.replace(runs.CASE, compares="policies")
    name = schedulers.with_policy("rules-100")
    shown = report.text([runs.run(name, 0, 3.0, case), runs.run(OURS, 0, 2.0, case)])
    assert "policysched+rules-100 / policysched: pods/s 0.67 (0.67-0.67)" in shown
    assert "≥" not in shown


def test_two_versions_are_compared_with_each_other() -> None:
    """Ratios are to kube-scheduler and to the base; goals apply only to the first."""
    case = runs.at(5000)
    measured = [
        runs.run(name, 0, seconds, case)
        for name, seconds in ((KUBE, 8.0), (schedulers.BASE, 4.0), (OURS, 1.0))
    ]
    shown = report.text(measured)
    assert "policysched / kube-scheduler: pods/s 8.00 (8.00-8.00)" in shown
    assert "policysched@base / kube-scheduler: pods/s 2.00 (2.00-2.00)" in shown
    assert "policysched / policysched@base: pods/s 4.00 (4.00-4.00)" in shown
    assert len([line for line in shown.splitlines() if "≥" in line]) == 1
    tables = documents.markdown(measured)
    titles = [line for line in tables.splitlines() if line.startswith("backlogs")]
    assert titles == [
        "backlogs at 5,000 nodes:",
        "backlogs at 5,000 nodes, beside the base:",
        "backlogs at 5,000 nodes, of the base:",
    ]


def test_policies_of_two_versions_are_compared_with_none_and_with_each_other() -> None:
    """A policy of the base is compared with the base without a policy."""
    case = msgspec.structs.replace(runs.CASE, compares="policies")
    ours, theirs = (
        schedulers.with_policy("rules-10", scheduler) for scheduler in (OURS, schedulers.BASE)
    )
    seconds = {OURS: 1.0, ours: 2.0, schedulers.BASE: 2.0, theirs: 6.0}
    measured = [runs.run(name, 0, each, case) for name, each in seconds.items()]
    pairs = {(pair.scheduler, pair.baseline): pair for pair in ratios.pairs(measured)}
    assert {key: pair.ratios(ratios.CPU) for key, pair in pairs.items()} == {
        (OURS, schedulers.BASE): [0.5],
        (ours, OURS): [2.0],
        (ours, theirs): [pytest.approx(1 / 3)],
        (theirs, schedulers.BASE): [3.0],
    }


@pytest.mark.parametrize("seconds, verdict", [(1.0, "met"), (1.3, "MISSED")])
def test_goals_are_of_5000_nodes(seconds: float, verdict: str) -> None:
    """Plain pods have goals at 5,000 nodes, and the table shows whether they are met."""
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
    few = "(1 of 3 runs)"
    assert line.endswith(
        f"pods/s ≥ 2.5 {verdict} {few}, CPU without start ≤ 0.4 {verdict} {few}, "
        f"memory ≤ 1.2 met {few}"
    )


@pytest.mark.parametrize(
    "goal, expected",
    [
        ("{figure: pods/second, at_least: 2, nodes: 5}", "unknown figure `pods/second`; known"),
        ("{figure: pods/s, nodes: 5}", "a goal needs one bound"),
        ("{figure: pods/s, nodes: 5, at_least: 2, at_most: 3}", "a goal needs one bound"),
    ],
    ids=["figure", "no bound", "two bounds"],
)
def test_a_wrong_goal_is_reported_first(
    goal: str,
    expected: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is measured before all goals are valid."""
    file = tmp_path / "goals.yaml"
    file.write_text(f"- {goal}\n", encoding="utf-8")
    monkeypatch.setattr(goals, "FILE", file)
    goals.load.cache_clear()
    try:
        assert compare.main(["--quick", "--list"], "") == 2
    finally:
        goals.load.cache_clear()
    assert f"goals.yaml: {expected}" in capsys.readouterr().err


def test_goals_apply_to_the_full_plan() -> None:
    """Every goal applies to a case of the full plan."""
    compared = plans.comparisons(plans.load("full"))
    for goal in goals.load():
        assert any(goal.applies_to(each.case, name) for each in compared for name in each.names), (
            goal
        )


def test_the_first_goal_counts() -> None:
    """A goal of one workload precedes the goal of all workloads."""
    case = measurements.Case("zone-spread", 5000, 100)
    assert [(goal.figure, goal.bound) for goal in goals.of(ratios.Pair(case, [], OURS, KUBE))] == [
        ("pods/s", "≥ 4"),
        ("CPU without start", "≤ 0.4"),
        ("memory", "≤ 1.2"),
    ]
    assert goals.of(ratios.Pair(case, [], OURS, schedulers.BASE)) == []


@pytest.mark.parametrize("rate, is_reported", [(99.0, False), (80.0, True)])
def test_pods_that_arrived_late_are_reported(rate: float, *, is_reported: bool) -> None:
    """A note reports a rate that the benchmark itself could not keep; backlogs have no rate."""
    case = msgspec.structs.replace(runs.CASE, arrivals_per_second=100.0)
    late = msgspec.structs.replace(runs.run(OURS, 0, 1.0, case), arrived_per_second=rate)
    assert ("too busy for the rate: pods arrived at" in report.text([late])) == is_reported
    assert "too busy" not in report.text([runs.run(OURS, 0, 1.0)])


@pytest.mark.parametrize(
    "ended_at, is_reported", [(1000.0, False), (2900.0, True), (-1000.0, True), (None, False)]
)
def test_distant_runs_are_reported(ended_at: float | None, *, is_reported: bool) -> None:
    """If a rerun adds a missing run hours later, the machine may have changed."""
    first = msgspec.structs.replace(runs.run(KUBE, 0, 1.0), ended_at=1000.0)
    later = msgspec.structs.replace(runs.run(OURS, 0, 1.0), ended_at=ended_at)
    shown = report.text([first, later])
    assert ("min between its run and that of kube-scheduler" in shown) == is_reported


@pytest.mark.parametrize("count, verdict", [(1, "≥ 2.5 met (1 of 3 runs)"), (3, "≥ 2.5 met")])
def test_tables_for_documents(count: int, verdict: str) -> None:
    """Every row has as many cells as the heading, with both rates, both CPU times and the goal."""
    measured = [
        runs.run(name, repeat, seconds, runs.at(5000))
        for repeat in range(count)
        for name, seconds in ((KUBE, 9.0), (OURS, 3.0))
    ]
    head, _, row = (
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in documents.markdown(measured).splitlines()
        if line.startswith("|")
    )
    cells = dict(zip(head, row, strict=True))
    spread = " (3.00 to 3.00)" if count > 1 else ""
    assert cells["pods/s"] == "11 / 33"
    assert (cells["ratio"], cells["until the last event"]) == (f"**3.00{spread}**", f"3.00{spread}")
    assert cells["goal"] == verdict
    assert cells["CPU ms per pod"].startswith("45.00 / 15.00: 0.33")
    assert cells["with the start"].startswith("90.00 / 30.00: 0.33")


def test_documents_have_a_table_for_each_kind() -> None:
    """Backlogs, policies and arrivals have different columns; notes and broken rules follow."""
    arriving = msgspec.structs.replace(runs.CASE, arrivals_per_second=100.0)
    policies = msgspec.structs.replace(runs.CASE, compares="policies")
    measured = [
        runs.run(name, 0, 1.0, case) for name in (KUBE, OURS) for case in (runs.CASE, arriving)
    ]
    measured += [
        runs.run(name, 0, 1.0, policies) for name in (OURS, schedulers.with_policy("rules-10"))
    ]
    shown = documents.markdown(measured, {"of another workload": 2})
    for text in (
        "backlogs at 10 nodes:",
        "policies at 10 nodes:",
        "pods that arrive:",
        "| plain, rules-10 |",
        "- plain: kube-scheduler was measured for only 1.0 s",
        "- plain: the machine was too busy for the rate: pods arrived at 0/s",
        "No run broke a rule.",
        "excluded: 2 runs of another workload",
    ):
        assert text in shown


def test_broken_rules_are_reported() -> None:
    """They are in the summary and in documents, and no median hides one run among three."""
    good = [runs.run(name, repeat, 3.0) for repeat in range(3) for name in (KUBE, OURS)]
    quality = msgspec.structs.replace(good[-1].quality, broken_rules=7)
    measured = [*good[:-1], msgspec.structs.replace(good[-1], quality=quality)]
    assert "RULES BROKEN: 7" in report.text(measured)
    [line] = [
        line for line in report.text(measured).splitlines() if line.startswith("  policysched  ")
    ]
    assert line.split()[-3] == "7"
    assert "**RULES BROKEN: 7**" in documents.markdown(measured)


def test_short_runs_and_churn_are_reported() -> None:
    """Notes report a backlog of less than two seconds, and the cycles of churn."""
    measured = msgspec.structs.replace(runs.run(OURS, 0, 1.5), churn_turns=2)
    assert "policysched was measured for only 1.5 s" in report.text([measured])
    assert "policysched met 2 cycles of churn" in report.text([measured])
    assert "measured for" not in report.text([runs.run(OURS, 0, 2.5)])


def test_nothing_measured() -> None:
    """An empty report contains a message."""
    assert report.text([]) == "nothing has been measured"


def test_estimates_learn() -> None:
    """A slow case is expected to be slow again; the speed of another scheduler does not count."""
    case = measurements.Case("plain", nodes=5000, pods=5000)
    guess = estimates.Estimate([]).seconds(case, [KUBE])
    slow = [runs.run(KUBE, 0, 500.0, case)]
    assert estimates.Estimate(slow).seconds(case, [KUBE]) > guess + 500
    assert estimates.Estimate(slow).seconds(case, [OURS]) == guess
    assert estimates.Estimate([]).seconds(case, [KUBE, KUBE]) > guess


@pytest.mark.parametrize(
    "seconds, expected", [(1, "1 min"), (100, "2 min"), (3600, "1 h 00 min"), (9000, "2 h 30 min")]
)
def test_durations(seconds: float, expected: str) -> None:
    """Durations are minutes and hours."""
    assert estimates.duration(seconds) == expected


def test_the_plot_has_a_line_for_each(tmp_path: pathlib.Path) -> None:
    """The SVG has a point for each size and names at the ends, for runs of one version only."""
    file, out = tmp_path / "results.jsonl", tmp_path / "plot.svg"
    runs.store(
        file,
        *(
            runs.run(name, repeat, factor * nodes + repeat, runs.at(nodes))
            for nodes in (500, 5000, 15000)
            for name, factor in ((KUBE, 2.0), (OURS, 1.0))
            for repeat in range(3)
        ),
    )
    words = ["--results", str(file), "--out", str(out)]
    assert plot.main(words) == 2
    assert not out.exists()
    assert plot.main([*words, "--all-versions"]) == 0
    root = ElementTree.parse(out).getroot()  # noqa: S314 - written two lines above
    name_of = "{http://www.w3.org/2000/svg}"
    circles = [
        (float(each.get("cx", "")), float(each.get("cy", "")))
        for each in root.iter(f"{name_of}circle")
    ]
    assert len(circles) == 6
    assert circles[0][1] > circles[3][1]
    texts = [each.text for each in root.iter(f"{name_of}text")]
    assert {f"{KUBE}, plain", f"{OURS}, plain", "15,000"} <= set(texts)


def test_a_plot_overwrites_only_plots(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If --out names a results file by mistake, the file is kept; an older plot is replaced."""
    file = runs.store(
        tmp_path / "r.jsonl", *(runs.run(OURS, 0, 1.0, runs.at(nodes)) for nodes in (10, 20))
    )
    words = ["--all-versions", "--results", str(file), "--out"]
    before = file.read_bytes()
    assert plot.main([*words, str(file)]) == 2
    assert "r.jsonl is not a plot" in capsys.readouterr().err
    assert file.read_bytes() == before
    assert plot.main([*words, str(tmp_path / "p.svg")]) == 0
    assert plot.main([*words, str(tmp_path / "p.svg")]) == 0


def test_a_plot_of_one_size(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One size makes no line; an error reports it, and no file is written."""
    file, out = tmp_path / "results.jsonl", tmp_path / "plot.svg"
    runs.store(file, runs.run(KUBE, 0, 1.0))
    assert plot.main(["--results", str(file), "--out", str(out), "--all-versions"]) == 2
    assert "no backlog at two numbers of nodes" in capsys.readouterr().err
    assert not out.exists()
    assert plot.main(["--results", str(tmp_path / "none"), "--out", str(out)]) == 2


def test_stolen_processors_are_reported() -> None:
    """If another virtual machine used many of them, ratios may depend on that."""
    calm = msgspec.structs.replace(runs.run(OURS, 0, 5.0), stolen_share=0.04)
    disturbed = msgspec.structs.replace(runs.run(OURS, 1, 5.0), stolen_share=0.15)
    assert "other machines got" not in report.text([calm])
    expected = "policysched: other machines got up to 15% of the processors in a run"
    assert expected in report.text([calm, disturbed])


def test_a_disturbed_run_is_reported() -> None:
    """One run is sufficient; a small share is usual."""
    quiet = msgspec.structs.replace(runs.run(OURS, 0, 3.0), others_share=0.05)
    loud = msgspec.structs.replace(runs.run(OURS, 1, 3.0), others_share=0.22)
    expected = f"{OURS}: other processes used up to 22% of the machine in a run"
    assert expected in report.text([quiet, loud])
    assert "other processes used up" not in report.text([quiet])
