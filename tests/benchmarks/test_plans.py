"""Plans as data: their comparisons, and errors in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from benchmarks import workload_files
from benchmarks.comparison import compare, comparison, plans, schedulers
from benchmarks.records import measurements

if TYPE_CHECKING:
    import pathlib


@pytest.mark.parametrize("name", plans.names())
def test_shipped_plans_are_valid(name: str) -> None:
    """Every workload and policy of a plan exists, and no case occurs twice."""
    comparisons = plans.comparisons(plans.load(name))
    assert comparisons
    assert len({each.case for each in comparisons}) == len(comparisons)


def test_no_workload_is_left_out() -> None:
    """The full plan has every workload, and the plan `shapes` has the shapes of the full plan."""
    full, shapes = (plans.comparisons(plans.load(name)) for name in ("full", "shapes"))
    assert {each.case.workload for each in full} == set(workload_files.names())
    assert {each.case.workload for each in shapes} == {
        each.case.workload
        for each in full
        if each.case.compares == "schedulers" and not each.case.arrivals_per_second
    }


def test_an_entry_has_each_workload_at_each_size() -> None:
    """Workloads, sizes and rates multiply; pods come from the workload or from the rate."""
    plan = plans.Plan(
        "",
        [
            plans.Entry(["plain"], [500, 5000]),
            plans.Entry(["plain"], [500], arrivals_per_second=[10, 20], repeats=1),
            plans.Entry(["plain"], [500], policies=["rules-10"], pods=7),
            plans.Entry(["plain"], [500], repeats=9),
        ],
    )
    found = plans.comparisons(plan)
    case = measurements.Case
    assert [(each.case, each.repeats) for each in found] == [
        (case("plain", 500, 3000), 3),
        (case("plain", 5000, 5000), 3),
        (case("plain", 500, 200, 10), 1),
        (case("plain", 500, 400, 20), 1),
        (case("plain", 500, 7, compares="policies"), 3),
    ]
    assert found[0].names == [schedulers.KUBE_SCHEDULER, schedulers.POLICYSCHED]
    assert found[4].names == [schedulers.POLICYSCHED, "policysched+rules-10"]
    base = plans.comparisons(plan, has_base=True)
    assert base[0].names == [schedulers.KUBE_SCHEDULER, schedulers.BASE, schedulers.POLICYSCHED]
    assert base[4].names == [
        *(schedulers.BASE, schedulers.POLICYSCHED),
        *("policysched@base+rules-10", "policysched+rules-10"),
    ]
    only = plans.comparisons(plan, ["policysched"])
    assert {tuple(each.names) for each in only} == {("policysched",)}


@pytest.mark.parametrize(
    "words, expected",
    [
        (["--plan", "none"], "unknown plan `none`; known plans are full, plot, quick"),
        (["--plan", ""], "unknown plan ``; known plans are full, plot, quick"),
        (["--shapes", "none"], "unknown workload `none`"),
        (["--shapes", "../plans/full"], "unknown workload `../plans/full`"),
        (["--shapes", "plain", "--policies", "../rules"], "unknown policy `../rules`; known"),
        (["--shapes", "plain", "--policies", "none"], "unknown policy `none`; known policies are"),
        (
            ["--schedulers", "other"],
            "unknown scheduler `other`; known schedulers are kube-scheduler, policysched",
        ),
    ],
    ids=["plan", "no name", "workload", "path", "path of a policy", "policy", "scheduler"],
)
def test_a_wrong_name_is_reported_at_once(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """Nothing is started, and one line lists the known names."""
    assert compare.main([*words, "--results", str(tmp_path / "r.jsonl")], "") == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, expected",
    [
        (["--nodes", "0"], "argument --nodes: `0` is not a whole number from 1 on"),
        (["--nodes", "5,-5"], "argument --nodes: `-5` is not a whole number from 1 on"),
        (["--nodes", "many"], "argument --nodes: `many` is not a whole number"),
        (["--pods", "1"], "argument --pods: `1` is not a whole number from 2 on"),
        (["--arrivals", "0"], "argument --arrivals: `0` is not a whole number from 1 on"),
        (["--repeat", "-1"], "argument --repeat: `-1` is not a whole number from 1 on"),
        (["--plan", "quick", "--repeat", "2"], "--plan and options of own cases contradict"),
        (["--repeat", "101"], "argument --repeat: `101` is more than 100"),
        (["--nodes", "1000001"], "argument --nodes: `1000001` is more than 1,000,000"),
        (["--lis"], "unrecognized arguments: --lis"),
        (["--shapes", "plain", "--report"], "--report shows all runs of a file"),
        (["--report", "--schedulers", "policysched"], "--report and --schedulers contradict"),
        (["--shapes", "plain", "--fresh"], "--fresh needs a results file; own cases"),
        (["--plan", "", "--repeat", "2"], "--plan and options of own cases contradict"),
        (["--all-versions"], "--all-versions needs --report"),
        (["--list", "--fresh"], "--list and --fresh contradict each other"),
        (["--profile", "--schedulers", "kube-scheduler"], "--profile and --schedulers contradict"),
        (["--profile", "--results", "x"], "--profile and --results contradict each other"),
        (["--plan", "/none/quick.yaml"], ".bench/quick.jsonl belongs to the shipped plan `quick`"),
    ],
    ids=" ".join,
)
def test_wrong_words_are_a_usage_error(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 3, and nothing is started."""
    with pytest.raises(SystemExit) as ended:
        compare.main(words, "")
    assert ended.value.code == 3
    assert expected in capsys.readouterr().err


def test_a_profile_is_of_policysched(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only policysched is profiled, with the selected policies."""
    names: list[str] = []

    def run(_self: comparison.Comparing, wanted: list[plans.Comparison]) -> None:
        names.extend(name for each in wanted for name in each.names)

    monkeypatch.setattr(comparison.Comparing, "run", run)
    words = ["--profile", "--shapes", "plain", "--nodes", "9"]
    assert compare.main(words, "") == 0
    assert compare.main([*words, "--policies", "rules-10,rules-100"], "") == 0
    assert names == ["policysched", "policysched+rules-10", "policysched+rules-100"]
    assert "nothing has been measured" in capsys.readouterr().out


def test_each_scheduler_is_first_in_some_case() -> None:
    """If cases run once, neither scheduler is first in all cases of a size."""
    compared = [each for each in plans.comparisons(plans.load("full")) if each.repeats == 1]
    firsts = {(each.case.nodes, next(each.turns())[1]) for each in compared}
    names = (schedulers.KUBE_SCHEDULER, schedulers.POLICYSCHED)
    assert firsts == {(nodes, name) for nodes in (500, 15000) for name in names}


@pytest.mark.parametrize(
    "case, expected",
    [
        ("{workloads: [], nodes: [5]}", "length >= 1 - at `$.cases[0].workloads`"),
        ("{workloads: [plain], nodes: [0]}", "`int` >= 1 - at `$.cases[0].nodes[0]`"),
        ("{workloads: [plain], nodes: [5], pods: 1}", "`int` >= 2 - at `$.cases[0].pods`"),
        ("{workloads: [plain], nodes: [5], repeats: 0}", "`int` >= 1 - at `$.cases[0].repeats`"),
        ("{workloads: [plain], nodes: [5], repeats: 999}", "<= 100 - at `$.cases[0].repeats`"),
        ("{workloads: [plain], nodes: [1e9]}", "at `$.cases[0].nodes[0]`"),
        ("[" * 3000, "nested too deeply"),
        (
            "{workloads: [plain], nodes: [5], arrivals_per_second: [0]}",
            ">= 0.1 - at `$.cases[0].arrivals_per_second[0]`",
        ),
    ],
    ids=["no workload", "no node", "one pod", "no repeat", "repeats", "nodes", "deep", "no rate"],
)
def test_a_plan_of_nothing(case: str, expected: str, tmp_path: pathlib.Path) -> None:
    """Numbers without which nothing can be measured are reported with their position."""
    file = tmp_path / "own.yaml"
    file.write_text(f"description: x\ncases: [{case}]\n", encoding="utf-8")
    with pytest.raises(workload_files.FileError, match=re.escape(expected)):
        plans.load(str(file))


def test_a_wrong_plan_gets_one_error(tmp_path: pathlib.Path) -> None:
    """An unknown field is reported with its position."""
    file = tmp_path / "own.yaml"
    file.write_text("description: x\ncases: [{workloads: [plain], node: [5]}]\n", encoding="utf-8")
    with pytest.raises(
        workload_files.FileError, match=r"own\.yaml: .*`node` - at `\$\.cases\[0\]`"
    ):
        plans.load(str(file))


def test_the_list_shows_the_missing_runs(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each case has a line with its number of stored runs, and nothing runs."""
    words = ["--quick", "--list", "--results", str(tmp_path / "r.jsonl")]
    assert compare.main(words, "") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(
        line.startswith("preemption, 500 nodes, 300 pods") and "0/2" in line for line in lines
    )
    assert lines[-1].startswith("all missing runs: about ")


def test_a_policy_that_is_named_twice_runs_once() -> None:
    """Its runs would be identical."""
    entry = plans.Entry(["plain"], [5], policies=["rules-10", "rules-10"])
    [found] = plans.comparisons(plans.Plan("", [entry]))
    assert found.names == [schedulers.POLICYSCHED, "policysched+rules-10"]


@pytest.mark.parametrize(
    "body, expected",
    [
        ({"kind": "Deployment"}, "cannot create a `Deployment`, only Node, Pod, Service"),
        ({"kind": "Pod"}, "cannot create a `Pod` without a `spec`"),
    ],
    ids=["kind", "spec"],
)
def test_churn_that_cannot_be_created_is_reported_at_once(
    body: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of cases reports it, before anything runs."""
    shipped = workload_files.load("mixed-churn")
    assert shipped.churn is not None
    churn = msgspec.structs.replace(shipped.churn, objects=[body])
    changed = msgspec.structs.replace(shipped, churn=churn)
    monkeypatch.setattr(workload_files, "load", lambda _name: changed)
    plan = plans.Plan("", [plans.Entry(["mixed-churn"], [5])])
    with pytest.raises(workload_files.FileError, match=f"`mixed-churn`: churn {expected}"):
        plans.comparisons(plan)


def test_a_rate_has_a_bound() -> None:
    """No machine can send infinitely many pods."""
    with pytest.raises(msgspec.ValidationError, match="<= 100000"):
        msgspec.convert(
            {"workloads": ["plain"], "nodes": [5], "arrivals_per_second": [float("inf")]},
            plans.Entry,
        )
