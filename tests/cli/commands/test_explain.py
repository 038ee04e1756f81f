from __future__ import annotations

import io
import json
import pathlib
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from policysched.cli import main
from policysched.lang.diagnostics import diagnostics
from tests import report_schemas
from tests.cli import clusters

POLICY = """\
version 1

metric cpu_busy: ratio = `cpu` node instance refresh 15s maxAge 2m

policy web {
  for pods where app = web
  nodeAffinity required disk In (ssd) as fast-disk
  reject when cpu_busy > 80% missing allow as too-hot
  score cpu_busy prefer low normalize linear(0%, 100%) missing score 0 weight 2 as low-cpu
}
"""
METRICS = "cpu_busy: {hot: 91%, warm: 40.5%, cool: 10%}\n"
NODES = (
    clusters.node("hot", disk="ssd"),
    clusters.node("warm", disk="ssd"),
    clusters.node("cool", disk="ssd"),
    clusters.node("slow", disk="hdd"),
    clusters.node("tiny", cpu="500m", disk="hdd"),
)


@pytest.fixture
def policy(tmp_path: pathlib.Path) -> str:
    """A policy with a rule of each kind."""
    path = tmp_path / "web.policy"
    path.write_text(POLICY)
    return str(path)


@pytest.fixture
def metrics(tmp_path: pathlib.Path) -> str:
    """Values of its metric."""
    path = tmp_path / "metrics.yaml"
    path.write_text(METRICS)
    return str(path)


def _run(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run `explain`, which has to be fine, and return what it prints."""
    exit_code = main.main(["explain", *argv])
    said = capsys.readouterr()
    assert (exit_code, said.err) == (0, "")
    return said.out


def _reports(capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict[str, Any]]:
    reports: list[dict[str, Any]] = json.loads(_run(capsys, *argv, "-o", "json"))
    report_schemas.check_report(reports, "explain")
    return reports


# --- JSON ----------------------------------------------------------------------------------------


def test_a_report_names_every_rule_that_rejects_a_node(
    policy: str, metrics: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Built-in plugins come first, policy rules are named with their line, scores with theirs."""
    cluster = clusters.write(tmp_path, *NODES, clusters.pod("web"))
    argv = ("--cluster", cluster, "--policies", policy, "--metrics", metrics, "--all")
    (report,) = _reports(capsys, *argv)
    tiny = report["nodes"]["tiny"]
    assert (tiny["plugin"], tiny["reasons"]) == ("NodeResourcesFit", ["Insufficient cpu"])
    assert [(f["plugin"], f["policy"], f["line"]) for f in tiny["all"]] == [
        ("NodeResourcesFit", None, None),
        ("Policy", "web", 7),
    ]
    hot = report["nodes"]["hot"]
    assert (hot["plugin"], hot["code"]) == ("Policy", "UnschedulableAndUnresolvable")
    assert [(f["policy"], f["rule"], f["line"]) for f in hot["all"]] == [
        ("web", "too-hot", 8),
    ]
    assert report["nodes"]["cool"] == {
        "ok": True,
        "plugin": "",
        "code": "",
        "reasons": [],
        "all": [],
    }
    assert report["feasible"] == 2
    assert {name: points["web/low-cpu"] for name, points in report["scores"].items()} == {
        "warm": 119,
        "cool": 180,
    }
    assert report["best"] == ["cool"]
    assert report["message"] == ""


def test_a_pod_that_fits_nowhere_has_the_message_of_its_event(
    policy: str, metrics: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every reason is counted over the nodes, as in the FailedScheduling event."""
    cluster = clusters.write(tmp_path, NODES[0], *NODES[3:], clusters.pod("web"))
    pathlib.Path(metrics).write_text("cpu_busy: {hot: 91%}\n")
    argv = ("--cluster", cluster, "--policies", policy, "--metrics", metrics, "--all")
    (report,) = _reports(capsys, *argv)
    assert (report["feasible"], report["scores"], report["best"]) == (0, {}, [])
    assert report["message"].startswith("0/3 nodes are available: 1 Insufficient cpu, ")
    assert "web/too-hot" in report["message"]
    assert "web/fast-disk" in report["message"]


def test_a_gated_pod_is_decided_all_the_same(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What holds the pod back is told beside what would happen."""
    gated = clusters.pod("web", schedulingGates=[{"name": "wait"}])
    (report,) = _reports(capsys, "--cluster", clusters.write(tmp_path, NODES[0], gated), "--all")
    assert report["gated"]["plugin"] == "SchedulingGates"
    assert report["best"] == ["hot"]


def test_only_pods_that_wait_are_explained(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Placed, ended and leaving pods are not pending; those that ended hold nothing."""
    ended = clusters.pod("ended", cpu="4", on="hot")
    ended["status"]["phase"] = "Succeeded"
    leaving = clusters.pod("leaving")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-05T12:00:00Z"
    placed = clusters.pod("placed", on="hot")
    items = (NODES[0], ended, leaving, placed, clusters.pod("b"), clusters.pod("a"))
    reports = _reports(capsys, "--cluster", clusters.write(tmp_path, *items), "--all")
    assert [report["pod"] for report in reports] == ["prod/b", "prod/a"]
    assert reports[0]["feasible"] == 1


def test_each_pod_is_considered_alone(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two pods of which only one fits both fit."""
    pods = (clusters.pod("a", cpu="3"), clusters.pod("b", cpu="3"))
    reports = _reports(capsys, "--cluster", clusters.write(tmp_path, NODES[0], *pods), "--all")
    assert [report["feasible"] for report in reports] == [1, 1]


def test_a_placed_pod_is_decided_as_if_it_were_pending(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It does not stand in its own way, and is not tied to its node."""
    cluster = clusters.write(tmp_path, *NODES[:2], clusters.pod("a", cpu="3", on="hot"))
    (report,) = _reports(capsys, "--cluster", cluster, "pod", "prod/a")
    assert (report["feasible"], report["best"]) == (2, ["hot", "warm"])


def test_one_node_alone(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--node keeps the verdict and the points of that node."""
    cluster = clusters.write(tmp_path, *NODES, clusters.pod("a"))
    argv = ("--cluster", cluster, "pod", "prod/a", "--node", "warm")
    (report,) = _reports(capsys, *argv)
    assert (list(report["nodes"]), list(report["scores"])) == (["warm"], ["warm"])
    assert report["feasible"] == 4


@pytest.mark.parametrize("option", [["--node", "warm"], ["--all-nodes"]])
def test_options_about_nodes_are_taken_before_the_pod(
    option: list[str], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They say the same as behind it."""
    cluster = ("--cluster", clusters.write(tmp_path, *NODES, clusters.pod("a")))
    behind = _run(capsys, *cluster, "prod/a", *option)
    assert _run(capsys, *option, *cluster, "prod/a") == behind
    assert _run(capsys, *option, *cluster, "pod", "prod/a") == behind
    assert _run(capsys, *cluster, "prod/a") != behind


def test_no_pods_are_an_empty_array(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An array without elements is JSON too."""
    assert _reports(capsys, "--cluster", clusters.write(tmp_path, NODES[0]), "--all") == []


def test_the_time_of_the_policies_is_given(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rule for working hours acts at --now and not at the time of the test."""
    path = tmp_path / "hours.policy"
    path.write_text(
        "version 1\npolicy p { for pods reject when node(disk = ssd) "
        'during "Mon-Fri 08:00-20:00 Europe/Berlin" as office }\n'
    )
    cluster = clusters.write(tmp_path, NODES[0], clusters.pod("a"))
    argv = ("--cluster", cluster, "--policies", str(path), "--all", "--now")
    (at_noon,) = _reports(capsys, *argv, "2026-01-05T12:00:00+01:00")
    (at_night,) = _reports(capsys, *argv, "2026-01-05T22:00:00+01:00")
    assert (at_noon["feasible"], at_night["feasible"]) == (0, 1)


def test_params_change_the_policy(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--params is one value, several joined by commas, or several options."""
    path = tmp_path / "p.policy"
    path.write_text(
        "version 1\nparam low: cores = 1\nparam high: cores = 8\n"
        "policy p { for pods reject when free(cpu) < low or free(cpu) > high as size }\n"
    )
    cluster = clusters.write(tmp_path, *NODES, clusters.pod("a", cpu="100m"))
    argv = ("--cluster", cluster, "--policies", str(path), "--all")
    feasible = [
        _reports(capsys, *argv, *params)[0]["feasible"]
        for params in (
            (),
            ("--params", "low=100m"),
            ("--params", "low=100m,high=2"),
            ("--params", "low=100m", "--params", "high=200m"),
        )
    ]
    assert feasible == [4, 5, 1, 0]


# --- for people ----------------------------------------------------------------------------------


def test_the_text_says_why_not_and_why_there(
    policy: str, metrics: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reasons with their nodes, the winner, the runner-up, and the points rule by rule."""
    cluster = clusters.write(tmp_path, *NODES, clusters.pod("web"))
    argv = ("--cluster", cluster, "--policies", policy, "--metrics", metrics, "--all")
    assert _run(capsys, *argv) == (
        """\
prod/web fits on 2 of 5 nodes

  NODES  REJECTED BY             REASON                                     WHICH
      2  web/fast-disk (line 7)  node(s) didn't match policy web/fast-disk  slow, tiny
      1  NodeResourcesFit        Insufficient cpu                           tiny
      1  web/too-hot (line 8)    node(s) rejected by policy web/too-hot     hot

  best: cool with 634 points
  runner-up: warm with 573 points (web/low-cpu -61)

  POINTS                           cool  warm
  DynamicResources                    0     0
  ImageLocality                       0     0
  NodeResourcesBalancedAllocation    68    68
  NodeResourcesFit                   86    86
  TaintToleration                   300   300
  web/low-cpu                       180   119
  total                             634   573

  MEASURED  VALUES    SAMPLES  JUST PLACED  WITHOUT A VALUE
  cpu_busy  10%..91%  0s old   -            2 no sample
"""
    )


def test_the_text_about_one_node_has_everything(
    policy: str, metrics: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All failures of a node that does not fit, the rank and points of one that does."""
    cluster = clusters.write(tmp_path, *NODES, clusters.pod("web"))
    argv = ("--cluster", cluster, "--policies", policy, "--metrics", metrics)
    text = _run(capsys, *argv, "pod", "prod/web", "--node", "tiny")
    assert text.startswith("prod/web does not fit on tiny\n")
    assert "UnschedulableAndUnresolvable" in text
    assert "web/fast-disk (line 7)" in text
    text = _run(capsys, *argv, "pod", "prod/web", "--node", "warm")
    assert text.startswith("prod/web fits on warm: rank 2 of 2 by points\n")
    assert "  total                             573   634\n" in text


def test_a_pod_whose_preferences_cannot_be_read_fits_and_is_not_placed(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nodes pass, but scoring them is an error: that is what is told, of all nodes and of one."""
    pod = clusters.pod("web")
    wrong = {"key": "cores", "operator": "Gt", "values": ["many"]}
    term = {"weight": 1, "preference": {"matchExpressions": [wrong]}}
    pod["spec"]["affinity"] = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
    }
    argv = ("--cluster", clusters.write(tmp_path, *NODES[:2], pod))
    text = (
        'running PreScore plugin "NodeAffinity": [0].matchExpressions[0].values[0]: Invalid value'
    )
    (report,) = _reports(capsys, *argv, "--all")
    assert report["message"].startswith(text)
    assert [verdict["ok"] for verdict in report["nodes"].values()] == [True, True]
    assert (report["feasible"], report["scores"], report["best"]) == (0, {}, [])
    said = _run(capsys, *argv, "pod", "prod/web")
    assert said.startswith(f"prod/web fits on 0 of 2 nodes\n  {text}")
    said = _run(capsys, *argv, "pod", "prod/web", "--node", "hot")
    assert said.startswith(f"prod/web would fit on hot, but is not placed\n  {text}")


def test_many_equal_nodes_are_summed_up(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A large cluster does not flood the terminal."""
    nodes = [clusters.node(f"node-{n:04}") for n in range(1200)]
    small = [clusters.node(f"small-{n:04}", cpu="500m") for n in range(1100)]
    cluster = clusters.write(tmp_path, *nodes, *small, clusters.pod("a"))
    text = _run(capsys, "--cluster", cluster, "pod", "prod/a")
    assert len(text) < 2000
    assert "prod/a fits on 1,200 of 2,300 nodes" in text
    assert "1,100  NodeResourcesFit  Insufficient cpu" in text
    assert "small-0005 and 1,094 more" in text
    assert "best: 1,200 nodes with" in text


@pytest.mark.parametrize("code", sorted(diagnostics.CODES))
def test_explain_rule_prints_the_page_of_a_code(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every code of the catalogue has a page that begins with what it is about."""
    assert _run(capsys, "rule", code.lower()).startswith(f"{code}: {diagnostics.CODES[code]}\n")


# --- several clusters ----------------------------------------------------------------------------


def test_json_lines_are_answered_line_by_line() -> None:
    """Each List is answered before the next one is sent; an empty line is no cluster."""
    argv = [sys.executable, "-m", "policysched", "explain", "--cluster", "-", "--all"]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for size in (1, 3, 2):
            found = clusters.list_of(*NODES[:size], clusters.pod("a"))
            process.stdin.write(json.dumps(found) + "\n\n")
            process.stdin.flush()
            (report,) = json.loads(process.stdout.readline())
            assert len(report["nodes"]) == size
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait() == 0


def test_clusters_do_not_see_each_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was learnt about equal pods in one cluster says nothing about the next."""
    pod = clusters.pod("a", cpu="1")
    found = [clusters.list_of(clusters.node("n", cpu=cpu), pod) for cpu in ("4", "500m", "4")]
    lines = "\n".join(map(json.dumps, found))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(lines.encode())))
    answers = _run(capsys, "--cluster", "-", "--all").splitlines()
    assert [json.loads(answer)[0]["feasible"] for answer in answers] == [1, 0, 1]


def test_a_bad_line_ends_it_after_the_answers_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers that were given stay; the error names the line."""
    good = json.dumps(clusters.list_of(NODES[0], clusters.pod("a")))
    content = f"{good}\n{good}\n{{\n{good}\n".encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert main.main(["explain", "--cluster", "-", "--all"]) == 2
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 2
    assert said.err.startswith("policysched: <stdin>:3: not JSON")
    assert len(said.err.splitlines()) == 1


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv, exit_code, message",
    [
        pytest.param(["--all"], 3, "--cluster is missing", id="no-cluster"),
        pytest.param(["--cluster", "{cluster}"], 3, "no pod is named; give --all", id="no-pods"),
        pytest.param(
            ["--cluster", "{cluster}", "--all", "pod", "prod/a"],
            3,
            "are mutually exclusive",
            id="both",
        ),
        pytest.param(
            ["--cluster", "none.json", "--all"],
            2,
            "none.json: cannot be read: No such file or directory",
            id="no-file",
        ),
        pytest.param(
            ["--cluster", "{cluster}", "pod", "prod/b"],
            2,
            "`prod/b`: no such pod is pending or running in the cluster (did you mean `prod/a`?)",
            id="unknown-pod",
        ),
        pytest.param(
            ["--cluster", "{cluster}", "pod", "prod/going"],
            2,
            "`prod/going`: the pod is being deleted, so it does not wait for a node",
            id="deleted-pod",
        ),
        pytest.param(
            ["--cluster", "{cluster}", "pod", "prod/done"],
            2,
            "`prod/done`: the pod has ended, its phase is Succeeded",
            id="ended-pod",
        ),
        pytest.param(
            ["--cluster", "{cluster}", "pod", "a"],
            2,
            "`default/a`: no such pod is pending or running in the cluster (there is `prod/a`)",
            id="other-namespace",
        ),
        pytest.param(
            ["--cluster", "{cluster}", "pod", "prod/a", "--node", "hott"],
            2,
            "`hott`: the cluster has no such node (did you mean `hot`?)",
            id="unknown-node",
        ),
        pytest.param(
            ["--cluster", "{cluster}", "--all", "--policies", "{policy}", "--params", "x=1"],
            2,
            "there is no param `x`",
            id="unknown-param",
        ),
        pytest.param(
            ["--cluster", "{cluster}", "--all", "--params", "x=1"],
            2,
            "params: the param `x` needs policies (give --policies)",
            id="params-without-policies",
        ),
        pytest.param(
            ["--cluster", "{cluster}", "--all", "--params", "x"],
            3,
            "`x` is not a param; write --params name=value",
            id="param-without-value",
        ),
        pytest.param(
            ["--cluster", "{cluster}", "--all", "--now", "noon"],
            3,
            "argument --now: `noon` is not a time such as 2026-03-02T10:00:00+01:00",
            id="no-time",
        ),
        pytest.param(
            ["--cluster", "{cluster}", "--all", "--policies", "none"],
            2,
            "none: cannot be read",
            id="no-policies",
        ),
        pytest.param(["rule", "PS000"], 2, "`PS000`: is not a diagnostic code", id="unknown-code"),
    ],
)
def test_wrong_input_is_one_error(
    argv: list[str],
    exit_code: int,
    message: str,
    policy: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The first line of stderr says what is wrong; there is no traceback and no output."""
    going, done = clusters.pod("going"), clusters.pod("done")
    going["metadata"]["deletionTimestamp"] = "2026-03-02T10:00:00Z"
    done["status"] = {"phase": "Succeeded"}
    cluster = clusters.write(tmp_path, NODES[0], clusters.pod("a"), going, done)
    filled = [word.format(cluster=cluster, policy=policy) for word in argv]
    assert main.main(["explain", *filled]) == exit_code
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert said.err.startswith("policysched: ")
    assert "Traceback" not in said.err


def test_errors_of_policies_are_shown_as_check_shows_them(
    policy: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every error with its place and caret, exit 2."""
    pathlib.Path(policy).write_text(
        POLICY.replace(" > 80%", " > 80").replace("In (ssd)", "Inn (a)")
    )
    cluster = clusters.write(tmp_path, NODES[0], clusters.pod("a"))
    assert main.main(["explain", "--cluster", cluster, "--all", "--policies", policy]) == 2
    said = capsys.readouterr().err
    assert "policysched: policies: 2 errors\n\nerror[PS001]: `Inn` is not" in said
    assert f"--> {policy}:7:30" in said
    assert "error[PS102]" in said


def test_help_imports_no_numpy() -> None:
    """`explain --help` is answered before anything heavy is imported."""
    code = (
        "import sys; from policysched.cli import main; main.main(['explain', '--help']); "
        "main.main(['simulate', '--help']); main.main(['run', '--help']); "
        "print(sorted({'numpy', 'lark', 'msgspec', 'orjson', 'aiohttp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
