"""Plans as data: what they mean, and errors in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks import compare, measurements, plans, schedulers, workload_files

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
    only = plans.comparisons(plan, ["policysched"])
    assert {tuple(one.names) for one in only} == {("policysched",)}


@pytest.mark.parametrize(
    "words, told",
    [
        (["--plan", "none"], "there is no plan `none`; there are full, plot, quick"),
        (["--shapes", "none"], "there is no workload `none`"),
        (["--shapes", "plain", "--policies", "none"], "there is no policy `none`; there are"),
        (
            ["--schedulers", "other"],
            "`other` is none of the schedulers: kube-scheduler, policysched",
        ),
    ],
    ids=["plan", "workload", "policy", "scheduler"],
)
def test_a_wrong_name_is_told_at_once(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """Nothing is started, one line says what there is."""
    assert compare.main([*words, "--results", str(tmp_path / "r.jsonl")], "") == 2
    assert told in capsys.readouterr().err


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
