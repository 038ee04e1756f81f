"""`explain pod`: what it prints, of files and of a running cluster."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from policysched.cli import main
from tests import report_schemas
from tests.cli import clusters
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests

POD = clusters.pod("a")
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def _run(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    exit_code = main.main(["explain", *argv])
    said = capsys.readouterr()
    assert (exit_code, said.err) == (0, "")
    return said.out


def _report(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    reports = json.loads(_run(capsys, *argv, "-o", "json"))
    report_schemas.check_report(reports, "explain")
    (report,) = reports
    assert isinstance(report, dict)
    return report


def test_the_text_of_a_pod_that_fits(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it is, the points of two nodes side by side, what flips the winner."""
    items = (clusters.node("b", cpu="8"), clusters.node("s"), clusters.node("t", cpu="1m"))
    cluster = clusters.write(tmp_path, *items, clusters.pod("a", on="s"))
    assert _run(capsys, "--cluster", cluster, "pod", "prod/a") == (
        """\
prod/a fits on 2 of 3 nodes
  it is on s and fits there, but b would be chosen now (decided as if it had no node)

  NODES  REJECTED BY       REASON            WHICH
      1  NodeResourcesFit  Insufficient cpu  t

  best: b with 463 points
  runner-up: s with 454 points (NodeResourcesFit -6, NodeResourcesBalancedAllocation -3)

  RULE                             WEIGHT  b: RAW  NORMALISED  POINTS  s: RAW  NORMALISED  POINTS
  DynamicResources                      2       0           0       0       0           0       0
  ImageLocality                         1       0           0       0       0           0       0
  NodeResourcesBalancedAllocation       1      71          71      71      68          68      68
  NodeResourcesFit                      1      92          92      92      86          86      86
  TaintToleration                       3       0         100     300       0         100     300
  total                                                           463                         454

  the smallest changes that would make another node win:
  - 1570m of cpu more requested on b: s
  - 2672Mi of memory more requested on b: s
"""
    )


def test_a_line_about_each_node(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--all-nodes names each node with its points or everything that rejects it."""
    full = clusters.node("n2", cpu="100m")
    full["spec"] = {"unschedulable": True}
    cluster = clusters.write(tmp_path, clusters.node("n1"), full, clusters.pod("a"))
    said = _run(capsys, "--cluster", cluster, "pod", "prod/a", "--all-nodes")
    assert said.endswith(
        """
  NODE  POINTS  REJECTED BY
  n1       454
  n2            NodeUnschedulable: node(s) were unschedulable; NodeResourcesFit: Insufficient cpu
"""
    )


@pytest.mark.parametrize(
    "before, after", [(["--cluster", "C"], []), ([], ["--cluster", "C"]), ([], ["--cluster=C"])]
)
def test_the_word_pod_may_be_left_out(
    before: list[str], after: list[str], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """NAMESPACE/NAME alone is a pod, with all options of the form wherever they are."""
    cluster = clusters.write(tmp_path, clusters.node("n1"), POD)
    front, back = ([each.replace("C", cluster) for each in part] for part in (before, after))
    options = [*back, "--node", "n1"]
    short = _run(capsys, *front, "prod/a", *options)
    assert short == _run(capsys, *front, "pod", "prod/a", *options)
    assert short.startswith("prod/a fits on n1: rank 1 of 1")


@pytest.mark.parametrize(
    "argv, exit_code, problem",
    [
        pytest.param(
            ["web"],
            3,
            "`web` is neither a form of explain nor NAMESPACE/NAME; write `explain default/web`",
            id="no namespace",
        ),
        pytest.param(
            ["pods", "prod/a"],
            3,
            "`pods` is not a form of explain; did you mean `pod`?",
            id="misspelt form",
        ),
        pytest.param(
            ["pod/a"],
            3,
            "`pod/a` is ambiguous: `pod` may be a namespace; write `explain pod pod/a`, or "
            "`explain pod a`",
            id="type and name",
        ),
        pytest.param(
            ["rule/PS304"],
            3,
            "`rule/PS304` is ambiguous: `rule` may be a namespace; write `explain pod rule/PS304`, "
            "or `explain rule PS304`",
            id="a rule",
        ),
        pytest.param(
            ["prod/b"],
            2,
            "`prod/b`: no such pod is pending or running in the cluster (did you mean `prod/a`?)",
            id="not found",
        ),
        pytest.param(
            ["--all", "prod/a"], 3, "--all and `pod` are mutually exclusive", id="all and one"
        ),
        pytest.param(
            ["prod/a", "prod/b"],
            3,
            "unrecognized arguments: prod/b; see `policysched explain pod --help`",
            id="two",
        ),
    ],
)
def test_words_that_name_no_pod_clearly(
    argv: list[str],
    exit_code: int,
    problem: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One error says what to write."""
    cluster = clusters.write(tmp_path, clusters.node("n1"), POD)
    assert main.main(["explain", "--cluster", cluster, *argv]) == exit_code
    assert capsys.readouterr().err == f"policysched: {problem}\n"


@pytest.mark.parametrize(
    "argv, problem",
    [
        pytest.param(
            ["--cluster", "c"], "--node and --all-nodes are mutually exclusive", id="both"
        ),
        pytest.param(
            ["--decisions", "d"], "--decisions and --node are mutually exclusive", id="decisions"
        ),
    ],
)
def test_options_that_exclude_each_other(
    argv: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Said before anything is read."""
    options = ["--all-nodes", "--node", "n"] if "--cluster" in argv else ["--node", "n"]
    assert main.main(["explain", *argv, "pod", "a/b", *options]) == 3
    assert problem in capsys.readouterr().err


def test_thousands_of_nodes_are_a_page(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever keeps each of them from taking the pod."""
    nodes = [clusters.node(f"n{number:04}", cpu="500m") for number in range(3000)]
    for number, node in enumerate(nodes):
        taint = {**TAINT, "value": f"v{number % 50}"}
        node["spec"] = {"taints": [taint]} if number % 3 else {}
    cluster = clusters.write(tmp_path, *nodes, clusters.pod("a", cpu="400m"))
    cluster_full = clusters.write(tmp_path, *nodes, clusters.pod("a", nodeSelector={"a": "b"}))
    for file in (cluster, cluster_full):
        assert len(_run(capsys, "--cluster", file, "pod", "prod/a").splitlines()) < 50


def test_edits_for_one_node_are_told(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--node says what would let the pod fit there."""
    tainted = clusters.node("n2")
    tainted["spec"] = {"taints": [TAINT]}
    cluster = clusters.write(tmp_path, clusters.node("n1"), tainted, clusters.pod("a"))
    said = _run(capsys, "--cluster", cluster, "pod", "prod/a", "--node", "n2")
    assert said.endswith(
        """
  it would fit on n2 by one of these edits alone:
  - add a toleration for the taint dedicated=gpu:NoSchedule to the pod
  - remove the taint dedicated=gpu:NoSchedule of a node
"""
    )


def test_edits_that_are_never_tried_are_owned_up_to(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No edit of a volume is tried, so the claim that none helps leaves volumes out."""
    disk = {"name": "v", "gcePersistentDisk": {"pdName": "d"}}
    placed, pod = clusters.pod("b", on="n1", volumes=[disk]), clusters.pod("a", volumes=[disk])
    cluster = clusters.write(tmp_path, clusters.node("n1"), placed, pod)
    assert _run(capsys, "--cluster", cluster, "prod/a").endswith(
        """
  no single edit to the pod, nodes or policies lets it fit; volumes and device claims are not edited
  the fewest obstacles are on n1:
  - VolumeRestrictions: node(s) had no available disk: prod/b on n1
"""
    )


def test_what_explain_all_says_has_none_of_it(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its form stays what it was."""
    cluster = clusters.write(tmp_path, clusters.node("n1"), clusters.pod("a", cpu="9"))
    (report,) = json.loads(_run(capsys, "--cluster", cluster, "--all", "-o", "json"))
    assert list(report) == [
        "pod", "prefilter", "nodes", "feasible", "scores", "best", "message"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "items",
    [
        pytest.param((), id="no nodes"),
        pytest.param(
            (clusters.node("n1"), clusters.pod("x", cpu="9000000000000", on="n1")), id="overfull"
        ),
        pytest.param((clusters.pod("x", on="nowhere"),), id="no node known"),
    ],
)
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="plain"),
        pytest.param({"nodeSelector": {"": "", "a/b/c": "\u2028"}}, id="strange labels"),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {},
                                {"matchExpressions": [{"key": "a", "operator": "What"}]},
                                {"matchExpressions": [{"key": "a", "operator": "In"}]},
                                {"matchFields": [{"key": "b", "operator": "In", "values": []}]},
                            ]
                        }
                    }
                }
            },
            id="terms without sense",
        ),
        pytest.param(
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "DoNotSchedule"}
                ]
            },
            id="a spread without sense",
        ),
        pytest.param(
            {
                "containers": [
                    {"name": "c", "resources": {"requests": {"cpu": "9E", "x/y": "0.1n"}}}
                ]
            },
            id="absurd requests",
        ),
        pytest.param({"containers": []}, id="no container"),
    ],
)
def test_strange_clusters_and_pods_are_explained(
    items: tuple[clusters.Object, ...],
    spec: dict[str, Any],
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No input that a cluster file may hold is too much."""
    pod = clusters.pod("a", cpu="9")
    pod["spec"] |= spec
    cluster = clusters.write(tmp_path, *items, pod)
    report = _report(capsys, "--cluster", cluster, "pod", "prod/a")
    assert report["feasible"] in (0, 1)
    assert _run(capsys, "--cluster", cluster, "pod", "prod/a").startswith("prod/a fits on ")


@pytest.mark.e2e
def test_a_pod_of_a_running_cluster(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Pods that wait and pods that are placed are read from the API server of the kubeconfig."""
    kubeconfig = str(control_plane.write_kubeconfig(tmp_path / "kubeconfig"))
    node = manifests.node("live-1", taints=[("dedicated", "gpu", "NoSchedule")])
    control_plane.client.create_nodes([node])
    placed = manifests.pod("placed", scheduler_name="nobody", requests={"cpu": "1"})
    placed["spec"]["nodeName"] = "live-1"
    waiting = manifests.pod("waiting", scheduler_name="nobody", requests={"cpu": "1"})
    control_plane.client.create_pods(namespace, [placed, waiting])
    waits = _report(capsys, "--kubeconfig", kubeconfig, "pod", f"{namespace}/waiting")
    assert "toleration" in [edit["kind"] for edit in waits["edits"]]
    sits = _report(capsys, "--kubeconfig", kubeconfig, "pod", f"{namespace}/placed")
    assert sits["placed"] == {"node": "live-1", "exists": True, "fits": False, "best": False}
    said = _run(capsys, "--kubeconfig", kubeconfig, "pod", f"{namespace}/placed")
    assert "it is on live-1, which would not be chosen now: " in said


@pytest.mark.slow
def test_a_process_that_ends_at_once_has_said_everything(tmp_path: pathlib.Path) -> None:
    """What it holds is not taken apart, but its output is whole and its exit code its own."""
    cluster = clusters.write(tmp_path, *(clusters.node(f"n{n}") for n in range(50)), POD)
    argv = [sys.executable, "-m", "policysched", "explain", "--cluster", cluster, "pod"]
    fine = subprocess.run([*argv, "prod/a", "-o", "json"], capture_output=True, check=True)
    assert len(json.loads(fine.stdout)[0]["nodes"]) == 50
    wrong = subprocess.run([*argv, "prod/b"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("policysched: `prod/b`: no such pod")
