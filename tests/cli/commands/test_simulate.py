from __future__ import annotations

import io
import json
import pathlib
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from policysched.cli import main
from tests import report_schemas
from tests.cli import clusters


def _run(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run `simulate`, which has to be fine, and return what it prints."""
    exit_code = main.main(["simulate", *argv])
    said = capsys.readouterr()
    assert (exit_code, said.err) == (0, "")
    return said.out


def _placements(capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict[str, Any]]:
    report = json.loads(_run(capsys, *argv, "--deterministic", "-o", "json"))
    report_schemas.check_report(report, "simulate")
    placements: list[dict[str, Any]] = report["placements"]
    return placements


def _nodes(placements: list[dict[str, Any]]) -> dict[str, str | None]:
    return {each["pod"].removeprefix("prod/"): each["node"] for each in placements}


def test_pods_are_placed_one_after_the_other(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By priority, then in the order of the file; each sees where those before it went."""
    pods = (
        clusters.pod("first", cpu="3"),
        clusters.pod("second", cpu="3"),
        clusters.pod("urgent", cpu="3", priority=10),
        clusters.pod("small", cpu="1"),
    )
    nodes = (clusters.node("a"), clusters.node("b"))
    placements = _placements(capsys, "--cluster", clusters.write(tmp_path, *nodes, *pods))
    assert list(_nodes(placements).items()) == [
        ("urgent", "a"),
        ("first", "b"),
        ("second", None),
        ("small", "a"),
    ]
    assert placements[0]["best"] == ["a", "b"]
    assert placements[2] == {
        "pod": "prod/second",
        "node": None,
        "feasible": 0,
        "best": [],
        "message": "0/2 nodes are available: 2 Insufficient cpu.",
        "victims": [],
    }


def test_gated_pods_stay_out(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod with scheduling gates takes no room and is told apart from one that does not fit."""
    gated = clusters.pod("gated", cpu="4", schedulingGates=[{"name": "wait"}])
    cluster = clusters.write(tmp_path, clusters.node("a"), gated, clusters.pod("b", cpu="4"))
    held, placed = _placements(capsys, "--cluster", cluster)
    assert held["node"] is None
    assert held["gated"]["reasons"] == ["waiting for scheduling gates: [wait]"]
    assert (placed["pod"], placed["node"]) == ("prod/b", "a")


def test_ties_are_broken_at_random_and_repeatably(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Different seeds lead to different nodes, the same seed always to the same."""
    nodes = [clusters.node(f"n{i}") for i in range(20)]
    cluster = clusters.write(tmp_path, *nodes, clusters.pod("a"))
    argv = ("--cluster", cluster, "-o", "json", "--seed")
    chosen = [json.loads(_run(capsys, *argv, str(seed))) for seed in (*range(10), *range(10))]
    assert chosen[:10] == chosen[10:]
    assert len({report["placements"][0]["node"] for report in chosen}) > 1


def test_each_pod_goes_by_its_own_profile(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Profiles of one policy text place pods in one cluster; nobody's pods are left out."""
    policy = tmp_path / "p.policy"
    policy.write_text(
        "version 1\n"
        "policy ssd-only { for pods nodeAffinity required disk In (ssd) as ssd }\n"
        "profile fast { policies ssd-only }\n"
        "profile any { }\n"
    )
    pods = (
        clusters.pod("a", cpu="3", schedulerName="fast"),
        clusters.pod("b", cpu="3", schedulerName="fast"),
        clusters.pod("c", cpu="3", schedulerName="any"),
        clusters.pod("d", cpu="1", schedulerName="other"),
    )
    nodes = (clusters.node("hdd-1", disk="hdd"), clusters.node("ssd-1", disk="ssd"))
    cluster = clusters.write(tmp_path, *nodes, *pods)
    argv = ["--cluster", cluster, "--policies", str(policy)]
    assert main.main(["simulate", *argv, "--deterministic", "-o", "json"]) == 0
    said = capsys.readouterr()
    placed = _nodes(json.loads(said.out)["placements"])
    assert placed == {"a": "ssd-1", "b": None, "c": "hdd-1"}
    assert said.err == (
        "policysched: note: 1 pod left out, no profile serves their schedulerName: `other` (1); "
        "--scheduler-name selects one profile for all pods\n"
    )
    everything = _placements(capsys, *argv, "--scheduler-name", "fast")
    assert _nodes(everything) == {"a": "ssd-1", "b": None, "c": None, "d": "ssd-1"}


def test_shared_pods_repel_across_profiles(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A required anti-affinity of a policy keeps pods of other profiles away from pods in scope."""
    policy = tmp_path / "p.policy"
    policy.write_text(
        "version 1\n"
        "policy alone { for pods where app = web\n"
        "  podAntiAffinity required pods where app = web topologyKey host as alone }\n"
        "profile lonely { policies alone }\n"
        "profile any { }\n"
    )
    pods = (
        clusters.pod("a", schedulerName="lonely"),
        clusters.pod("b", schedulerName="any"),
        clusters.pod("c", schedulerName="any"),
    )
    nodes = (clusters.node("n1", host="n1"), clusters.node("n2", host="n2"))
    cluster = clusters.write(tmp_path, *nodes, *pods)
    placed = _placements(capsys, "--cluster", cluster, "--policies", str(policy))
    assert _nodes(placed) == {"a": "n1", "b": "n2", "c": None}


def test_metrics_move_pods(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Values of a file decide as samples of Prometheus would; stale ones count as missing."""
    policy = tmp_path / "p.policy"
    policy.write_text(
        "version 1\n"
        "metric cpu_busy: ratio = `cpu` node instance refresh 15s maxAge 2m\n"
        "policy cool { for pods\n"
        "  reject when cpu_busy > 80% missing allow as too-hot\n"
        "  score cpu_busy prefer low missing score 0 weight 50 as low-cpu }\n"
    )
    values = tmp_path / "metrics.yaml"
    values.write_text("cpu_busy: {a: 50%, b: 91%, c: 10%, d: stale}\n")
    nodes = [clusters.node(name) for name in "abcd"]
    cluster = clusters.write(tmp_path, *nodes, clusters.pod("p"))
    argv = ("--cluster", cluster, "--policies", str(policy), "--metrics", str(values))
    (placed,) = _placements(capsys, *argv)
    assert (placed["node"], placed["feasible"]) == ("c", 3)


def test_metrics_without_values_are_told(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their rules drop out as in an outage, which nobody should take for a verdict."""
    policy = tmp_path / "p.policy"
    policy.write_text(
        "metric busy: ratio = `x` node instance\nmetric full: ratio = `y` node instance\n"
        "policy p { for pods reject when busy > 80% or full > 90% missing allow }\n"
    )
    metrics = tmp_path / "metrics.yaml"
    metrics.write_text("full: {n1: 10%}\n")
    argv = ["--cluster", clusters.write(tmp_path, clusters.node("n1")), "--policies", str(policy)]
    for given, missing in (((), "`busy`, `full`"), (("--metrics", str(metrics)), "`busy`")):
        assert main.main(["simulate", *argv, *given]) == 0
        assert f"no node has a sample of {missing}: " in capsys.readouterr().err


def test_the_text_sums_up(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each pod, why pods stay pending, and what is allocated afterwards."""
    pods = (clusters.pod("a", cpu="3"), clusters.pod("b", cpu="3"), clusters.pod("c", cpu="9"))
    cluster = clusters.write(tmp_path, clusters.node("n"), clusters.node("m", cpu="1"), *pods)
    assert _run(capsys, "--cluster", cluster, "--deterministic") == (
        """\
POD     NODE  FEASIBLE  WHY NOT
prod/a  n            1
prod/b  -            0  0/2 nodes are available: 2 Insufficient cpu.
prod/c  -            0  0/2 nodes are available: 2 Insufficient cpu.

1 of 3 pods placed
  2 pending: Insufficient cpu

RESOURCE  REQUESTED  ALLOCATABLE  SHARE
cpu             3.0          5.0  60.0%

decided without policies; ties are broken by name
"""
    )


def test_json_lines_are_answered_line_by_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One result a line, in order; clusters do not see each other's placements."""
    found = clusters.list_of(clusters.node("n"), clusters.pod("a", cpu="3"))
    content = f"{json.dumps(found)}\n" * 3
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content.encode())))
    answers = _run(capsys, "--cluster", "-").splitlines()
    assert [_nodes(json.loads(answer)["placements"]) for answer in answers] == [{"a": "n"}] * 3


@pytest.mark.parametrize(
    "change, message",
    [
        pytest.param(
            {"metadata": {"name": "a"}}, "the Node `a` appears twice", id="two-nodes-of-a-name"
        ),
        pytest.param(
            {"metadata": {"name": "c"}, "status": {"allocatable": {"cpu": "many"}}},
            "(Node c): status.allocatable.cpu: `many` is not a quantity such as `500m`, `2`",
            id="no-quantity",
        ),
    ],
)
def test_a_cluster_that_cannot_be_is_an_error(
    change: dict[str, Any],
    message: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What the API server would have refused is named."""
    wrong = {**clusters.node("b"), **change}
    cluster = clusters.write(tmp_path, clusters.node("a"), wrong)
    assert main.main(["simulate", "--cluster", cluster]) == 2
    assert message in capsys.readouterr().err


def test_a_table_without_rows_is_left_out(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If nothing is requested in the end, nothing is said of resources."""
    cluster = clusters.write(tmp_path, clusters.node("n"), clusters.pod("a", cpu="9"))
    said = _run(capsys, "--cluster", cluster, "--deterministic")
    assert "RESOURCE" not in said
    assert said.endswith("Insufficient cpu\n\ndecided without policies; ties are broken by name\n")


def test_it_says_the_seed_and_the_policies(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The seed that it drew repeats the placements; names, files and hash are those of `check`."""
    cluster = clusters.write(
        tmp_path, *(clusters.node(f"n{i}") for i in range(20)), clusters.pod("a")
    )
    policy = tmp_path / "a.policy"
    policy.write_text("policy b { for pods where app = web }\npolicy a { for pods }\n")
    argv = ("--cluster", cluster, "--policies", str(policy))
    drawn = json.loads(_run(capsys, *argv, "-o", "json"))
    again = json.loads(_run(capsys, *argv, "-o", "json", "--seed", str(drawn["seed"])))
    assert drawn == again
    assert (drawn["files"], drawn["policies"]) == ([str(policy)], ["a", "b"])
    assert main.main(["check", str(policy)]) == 0
    assert capsys.readouterr().out.endswith(f"hash {drawn['policyHash']}\n")
    said = _run(capsys, *argv, "--seed", "7").splitlines()[-1]
    assert said == (
        f"decided by a, b of {policy} (hash {drawn['policyHash']}); "
        "ties are broken at random, --seed 7 repeats the result"
    )
    assert json.loads(_run(capsys, *argv, "-o", "json", "--deterministic"))["seed"] is None


def test_seeds_are_drawn_anew(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs without a seed have different ones."""
    cluster = clusters.write(tmp_path, clusters.node("n"), clusters.pod("a"))
    seeds = {json.loads(_run(capsys, "--cluster", cluster, "-o", "json"))["seed"] for _ in range(4)}
    assert len(seeds) > 1


def test_only_policies_of_the_profile_that_decides_are_named(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--scheduler-name` leaves others out; a shadow policy is not in force."""
    policy = tmp_path / "p.policy"
    policy.write_text(
        "policy a { for pods }\npolicy b { for pods }\n"
        "policy s { mode shadow\n for pods }\n"
        "profile one { policies a, s }\nprofile two { policies b }\n"
    )
    cluster = clusters.write(tmp_path, clusters.node("n"), clusters.pod("x", schedulerName="two"))
    argv = ("--cluster", cluster, "--policies", str(policy), "-o", "json")
    assert json.loads(_run(capsys, *argv))["policies"] == ["a", "b"]
    assert json.loads(_run(capsys, *argv, "--scheduler-name", "one"))["policies"] == ["a"]


def test_rules_that_limit_preemption_are_counted(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For pods that preemption did not help; where it did, nothing is said."""
    policy = tmp_path / "web.policy"
    policy.write_text(
        "policy web { for pods where app = web preempt pods where app = batch as batch }\n"
    )
    items = (
        clusters.node("a"),
        clusters.pod("old", cpu="3", on="a", priority=0),
        clusters.pod("new", cpu="3", priority=10),
    )
    argv = ("--cluster", clusters.write(tmp_path, *items))
    (placed,) = _placements(capsys, *argv)
    assert placed["victims"] == ["prod/old"]
    assert "preemptionLimits" not in placed
    limited = (*argv, "--policies", str(policy))
    (placed,) = _placements(capsys, *limited)
    limit = {"rule": "web/batch", "pods": 1, "nodes": 1, "some": ["prod/old"]}
    assert (placed["node"], placed["preemptionLimits"]) == (None, [limit])
    assert "  policy web/batch limits preemption for 1 pending pod\n" in _run(capsys, *limited)
