"""Plans as data: what they mean, and errors in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from benchmarks import compare, comparison, measurements, plans, schedulers, workload_files

if TYPE_CHECKING:
    import pathlib


@pytest.mark.parametrize("name", plans.names())
def test_shipped_plans_name_what_is_there(name: str) -> None:
    """Every workload and policy of a plan exists, and no case comes twice."""
    comparisons = plans.comparisons(plans.load(name))
    assert comparisons
    assert len({one.case for one in comparisons}) == len(comparisons)


def test_no_workload_is_left_out() -> None:
    """The full plan has every workload, and the one that tries whether they work has its shapes."""
    full, shapes = (plans.comparisons(plans.load(name)) for name in ("full", "shapes"))
    assert {one.case.workload for one in full} == set(workload_files.names())
    assert {one.case.workload for one in shapes} == {
        one.case.workload
        for one in full
        if one.case.compares == "schedulers" and not one.case.arrivals_per_second
    }


def test_an_entry_means_each_workload_at_each_size() -> None:
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
    made = plans.comparisons(plan)
    case = measurements.Case
    assert [(one.case, one.repeats) for one in made] == [
        (case("plain", 500, 3000), 3),
        (case("plain", 5000, 5000), 3),
        (case("plain", 500, 200, 10), 1),
        (case("plain", 500, 400, 20), 1),
        (case("plain", 500, 7, compares="policies"), 3),
    ]
    assert made[0].names == [schedulers.KUBE_SCHEDULER, schedulers.POLICYSCHED]
    assert made[4].names == [schedulers.POLICYSCHED, "policysched+rules-10"]
    base = plans.comparisons(plan, has_base=True)
    assert base[0].names == [schedulers.KUBE_SCHEDULER, schedulers.BASE, schedulers.POLICYSCHED]
    assert base[4].names == [
        *(schedulers.BASE, schedulers.POLICYSCHED),
        *("policysched@base+rules-10", "policysched+rules-10"),
    ]
    only = plans.comparisons(plan, ["policysched"])
    assert {tuple(one.names) for one in only} == {("policysched",)}


@pytest.mark.parametrize(
    "words, told",
    [
        (["--plan", "none"], "there is no plan `none`; there are full, plot, quick"),
        (["--plan", ""], "there is no plan ``; there are full, plot, quick"),
        (["--shapes", "none"], "there is no workload `none`"),
        (["--shapes", "../plans/full"], "there is no workload `../plans/full`"),
        (["--shapes", "plain", "--policies", "../rules"], "there is no policy `../rules`; there"),
        (["--shapes", "plain", "--policies", "none"], "there is no policy `none`; there are"),
        (
            ["--schedulers", "other"],
            "`other` is none of the schedulers: kube-scheduler, policysched",
        ),
    ],
    ids=["plan", "no name", "workload", "path", "path of a policy", "policy", "scheduler"],
)
def test_a_wrong_name_is_told_at_once(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """Nothing is started, one line says what there is."""
    assert compare.main([*words, "--results", str(tmp_path / "r.jsonl")], "") == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, told",
    [
        (["--nodes", "0"], "argument --nodes: `0` is no whole number from 1 on"),
        (["--nodes", "5,-5"], "argument --nodes: `-5` is no whole number from 1 on"),
        (["--nodes", "many"], "argument --nodes: `many` is no whole number"),
        (["--pods", "1"], "argument --pods: `1` is no whole number from 2 on"),
        (["--arrivals", "0"], "argument --arrivals: `0` is no whole number from 1 on"),
        (["--repeat", "-1"], "argument --repeat: `-1` is no whole number from 1 on"),
        (["--plan", "quick", "--repeat", "2"], "a plan says itself what is measured, at which"),
        (["--repeat", "101"], "argument --repeat: `101` is more than 100"),
        (["--nodes", "1000001"], "argument --nodes: `1000001` is more than 1,000,000"),
        (["--lis"], "unrecognized arguments: --lis"),
        (["--shapes", "plain", "--report"], "--report tells of all runs of a file"),
        (["--report", "--schedulers", "policysched"], "--report and --schedulers contradict"),
        (["--shapes", "plain", "--fresh"], "nothing to begin anew: own cases are kept where"),
        (["--plan", "", "--repeat", "2"], "a plan says itself what is measured, at which"),
        (["--all-versions"], "--all-versions is about --report"),
        (["--list", "--fresh"], "--list and --fresh contradict each other"),
        (["--profile", "--schedulers", "kube-scheduler"], "--profile and --schedulers contradict"),
        (["--profile", "--results", "x"], "--profile and --results contradict each other"),
        (["--plan", "/none/quick.yaml"], ".bench/quick.jsonl is of the shipped plan `quick`"),
    ],
    ids=" ".join,
)
def test_wrong_words_are_a_usage_error(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """They end the benchmark with 3 before anything is started."""
    with pytest.raises(SystemExit) as ended:
        compare.main(words, "")
    assert ended.value.code == 3
    assert told in capsys.readouterr().err


def test_a_profile_is_of_the_policy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several schedulers policysched alone is profiled, with the policy where one is named."""
    names: list[str] = []

    def run(_self: comparison.Comparing, wanted: list[plans.Comparison]) -> None:
        names.extend(name for one in wanted for name in one.names)

    monkeypatch.setattr(comparison.Comparing, "run", run)
    words = ["--profile", "--shapes", "plain", "--nodes", "9"]
    assert compare.main(words, "") == 0
    assert compare.main([*words, "--policies", "rules-10,rules-100"], "") == 0
    assert names == ["policysched", "policysched+rules-10", "policysched+rules-100"]
    assert "nothing has been measured" in capsys.readouterr().out


def test_each_scheduler_goes_first_somewhere() -> None:
    """Where cases are run once, none of two has the first turn of all of them at a size."""
    compared = [one for one in plans.comparisons(plans.load("full")) if one.repeats == 1]
    firsts = {(one.case.nodes, next(one.turns())[1]) for one in compared}
    names = (schedulers.KUBE_SCHEDULER, schedulers.POLICYSCHED)
    assert firsts == {(nodes, name) for nodes in (500, 15000) for name in names}


@pytest.mark.parametrize(
    "case, told",
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
def test_a_plan_of_nothing(case: str, told: str, tmp_path: pathlib.Path) -> None:
    """Numbers that nothing can be measured with are told with their place."""
    file = tmp_path / "own.yaml"
    file.write_text(f"description: x\ncases: [{case}]\n", encoding="utf-8")
    with pytest.raises(workload_files.FileError, match=re.escape(told)):
        plans.load(str(file))


def test_a_wrong_plan_gets_one_error(tmp_path: pathlib.Path) -> None:
    """An unknown field is told with its place."""
    file = tmp_path / "own.yaml"
    file.write_text("description: x\ncases: [{workloads: [plain], node: [5]}]\n", encoding="utf-8")
    with pytest.raises(
        workload_files.FileError, match=r"own\.yaml: .*`node` - at `\$\.cases\[0\]`"
    ):
        plans.load(str(file))


def test_the_list_says_what_is_left(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each case has a line with what is done, and nothing is run."""
    words = ["--quick", "--list", "--results", str(tmp_path / "r.jsonl")]
    assert compare.main(words, "") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(
        line.startswith("preemption, 500 nodes, 300 pods") and "0/2" in line for line in lines
    )
    assert lines[-1].startswith("all that is left: about ")


def test_a_policy_that_is_named_twice_runs_once() -> None:
    """Its runs would be the same ones."""
    entry = plans.Entry(["plain"], [5], policies=["rules-10", "rules-10"])
    [made] = plans.comparisons(plans.Plan("", [entry]))
    assert made.names == [schedulers.POLICYSCHED, "policysched+rules-10"]


@pytest.mark.parametrize(
    "body, told",
    [
        ({"kind": "Deployment"}, "cannot create a `Deployment`, only Node, Pod, Service"),
        ({"kind": "Pod"}, "cannot create a `Pod` without a `spec`"),
    ],
    ids=["kind", "spec"],
)
def test_churn_that_cannot_be_is_told_at_once(
    body: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listing says so, before anything runs."""
    shipped = workload_files.load("mixed-churn")
    assert shipped.churn is not None
    churn = msgspec.structs.replace(shipped.churn, objects=[body])
    changed = msgspec.structs.replace(shipped, churn=churn)
    monkeypatch.setattr(workload_files, "load", lambda _name: changed)
    plan = plans.Plan("", [plans.Entry(["mixed-churn"], [5])])
    with pytest.raises(workload_files.FileError, match=f"`mixed-churn`: churn {told}"):
        plans.comparisons(plan)


def test_a_rate_has_a_bound() -> None:
    """No machine sends infinitely many pods."""
    with pytest.raises(msgspec.ValidationError, match="<= 100000"):
        msgspec.convert(
            {"workloads": ["plain"], "nodes": [5], "arrivals_per_second": [float("inf")]},
            plans.Entry,
        )
