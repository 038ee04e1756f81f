"""`explain binding`: what it says is what is decided, in the documented form."""

from __future__ import annotations

import datetime
import json
import pathlib
from typing import Any

import pytest

from policysched.cli import main
from policysched.inputs import karmada_file
from policysched.karmada import errors
from policysched.karmada.plugins import registry
from policysched.karmada.state import snapshot
from policysched.karmada.steps import algorithm, binding_decision, webster
from policysched.offline import binding_explaining
from tests import report_schemas
from tests.conformance.generate import draw
from tests.karmada import cases, policy_texts
from tests.karmada.policies import test_cluster_policies as building

_NOW = datetime.datetime(2026, 3, 2, 10, tzinfo=datetime.UTC)


def _reports(
    seed: str, tmp_path: pathlib.Path, *, has_policies: bool
) -> list[tuple[binding_decision.BindingDecision, dict[str, Any]]]:
    """Return what is decided about generated bindings, and what is explained."""
    d = draw.Draw(f"explain {seed}")
    path = tmp_path / "plane.json"
    path.write_text(json.dumps(cases.control_plane(seed)))
    ((_, plane),) = karmada_file.read_karmada_control_planes(str(path)).places
    known = snapshot.make_snapshot(plane.clusters, plane.bindings)
    policies = None
    if has_policies:
        names = [each.metadata.name for each in known.clusters]
        policies = building._policies(policy_texts.policies(d), policy_texts.values(d, names))
    made = algorithm.BindingAlgorithm(
        registry.create_selected_plugins(registry.make_built_in_factories(), ["*"]),
        policies=policies,
    )
    return [
        (
            binding_decision.decide_binding(made, binding, known),
            binding_explaining.make_binding_report(made, binding, known),
        )
        for binding in plane.bindings
    ]


@pytest.mark.parametrize("seed", range(60))
def test_it_says_what_is_decided(seed: int, tmp_path: pathlib.Path) -> None:
    """Results, refusals, points and shares of generated bindings, with policies and without."""
    for decision, report in _reports(str(seed), tmp_path, has_policies=seed % 2 == 1):
        report_schemas.check_report([report], "explain-binding")
        result = decision.result
        if isinstance(result, errors.PlacementFailure):
            assert (report["errorKind"], report["error"]) == (result.kind, result.text)
        else:
            shares = [(each.name, each.replicas) for each in result]
            assert [(each["name"], each["replicas"]) for each in report["clusters"]] == shares
        assert report["observedAffinity"] == decision.observed_affinity
        told = [each["error"] for each in report["attempts"] if each["error"]]
        if decision.failed_terms:
            assert told == [failure.text for _, failure in decision.failed_terms]
        for attempt in report["attempts"]:
            _is_consistent(attempt)
            _divides_as_it_says(attempt)


def _is_consistent(attempt: dict[str, Any]) -> None:
    passing = {name for name, verdict in attempt["verdicts"].items() if verdict["ok"]}
    assert {each["cluster"] for each in attempt["ranking"]} == passing
    assert attempt["feasible"] == len(passing)
    for candidate in attempt["ranking"]:
        points = sum(round(each["weighted"] * 100) for each in candidate["rules"])
        assert candidate["total"] == points // 100
    if attempt["errorKind"] == "fit":
        assert not passing
        for verdict in attempt["verdicts"].values():
            assert verdict["reasons"][0] in attempt["error"]
    if attempt["selection"] is not None:
        assert set(attempt["selection"]["clusters"]) <= passing
        assert {each["name"] for each in attempt["clusters"]} <= passing


def _divides_as_it_says(attempt: dict[str, Any]) -> None:
    """Dividing in proportion to the weights comes to the result, where nothing else bounds it."""
    division, uid = attempt["division"], ""
    is_bounded = division is None or division["by"] in ("score", "fewest")
    if is_bounded or not division["weights"] or not attempt["clusters"]:
        return
    weights, kept = division["weights"], division["kept"]
    if division["replicas"] < 0 or not sum(weights.values()):
        return
    one = webster.divide_seats(division["replicas"], weights, uid)
    actual = {each["name"]: each["replicas"] for each in attempt["clusters"]}
    for name in one.keys() | actual.keys():
        # An odd uid of the resource gives ties to other clusters.
        assert abs(one.get(name, 0) + kept.get(name, 0) - actual.get(name, 0)) <= 1
    assert sum(actual.values()) == division["replicas"] + sum(kept.values())


# --- the command ---------------------------------------------------------------------------------

_POLICY = """\
metric api_errors: ratio = `sum by (cluster) (x)` cluster cluster missing allow missing score 50
clusterPolicy shop {
  for resources in namespace (shop)
  reject when api_errors > 5% as faulty
  clusterGroup near where region = eu
  clusterGroup far where region = us
  score api_errors prefer low normalize linear(0%, 5%) weight 3 as errors
  replicas Divided Weighted by score
}
"""


def _cluster(name: str, region: str) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"region": region},
        "status": {
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}],
            "resourceSummary": {"allocatable": {"pods": "20"}},
        },
    }


def _binding(name: str, kind: str = "ResourceBinding") -> dict[str, Any]:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": name}
    namespace = {"namespace": "shop"} if kind == "ResourceBinding" else {}
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": kind,
        "metadata": {"name": f"{name}-deployment", **namespace},
        "spec": {"resource": resource, "replicas": 9, "placement": {}},
    }


@pytest.fixture
def desk(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Return a folder, which is the present one, with a control plane, a policy and metrics."""
    monkeypatch.chdir(tmp_path)
    items = [_cluster("m1", "eu"), _cluster("m2", "us"), _cluster("m3", "us")]
    items += [_binding("web"), _binding("all", "ClusterResourceBinding")]
    plane = {"apiVersion": "v1", "kind": "List", "items": items}
    (tmp_path / "plane.json").write_text(json.dumps(plane))
    (tmp_path / "shop.policy").write_text(_POLICY)
    (tmp_path / "errors.yaml").write_text("api_errors: {m1: 9%, m2: 1%, m3: 3%}\n")
    return tmp_path


_ASKED = ["--cluster", "plane.json", "--policies", "shop.policy", "--metrics", "errors.yaml"]


def test_a_refused_group_and_the_next_one(
    desk: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each group that was tried is told, with rule, line, measured value, points and shares."""
    assert main.main(["explain", "binding", "shop/web-deployment", *_ASKED, "-o", "json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    report_schemas.check_report([report], "explain-binding")
    assert report["policies"] == [{"policy": "shop", "adds": ["clusterGroup", "replicas"]}]
    near, far = report["attempts"]
    assert near["verdicts"]["m1"]["all"] == [
        {
            "plugin": "Policy",
            "code": "Unschedulable",
            "reason": "cluster(s) rejected by policy shop/faulty",
            "policy": "shop",
            "rule": "faulty",
            "line": 4,
            "measured": "api_errors 9% > 5%, sample 0s old",
        }
    ]
    (outside,) = near["verdicts"]["m2"]["all"]
    assert (outside["rule"], outside["line"]) == ("near", 5)
    assert (near["errorKind"], near["selection"], near["division"]) == ("fit", None, None)
    best = far["ranking"][0]
    assert (best["cluster"], best["total"], best["room"]) == ("m2", 240, 20)
    assert best["rules"][1] == {
        "rule": "shop/errors",
        "raw": 0.01,
        "unit": "ratio",
        "weight": 3,
        "points": 80,
        "weighted": 240,
    }
    assert far["division"]["weights"] == {"m2": 24_000, "m3": 12_000}
    assert report["clusters"] == [{"name": "m2", "replicas": 6}, {"name": "m3", "replicas": 3}]
    assert report["observedAffinity"] == "far"


def test_people_read_the_same(desk: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text names the rule and its line, the points with their numbers, and the shares."""
    assert main.main(["explain", "binding", "shop/web-deployment", *_ASKED]) == 0
    said = capsys.readouterr().out
    assert said.startswith("shop/web-deployment goes to m2:6, m3:3, by far\n")
    near = "1 cluster(s) rejected by policy shop/faulty, 2 cluster(s) not in clusterGroup shop/near"
    for part in (
        "clusterPolicy shop applies and defines the groups of clusters, the division of replicas",
        f"near fails: 0/3 clusters are available: {near}.",
        "shop/faulty (line 4)",
        "api_errors 9% > 5%",
        "far succeeds",
        "shop/errors × 3",
        "240 (1%)",
        "9, in proportion to points, limited by capacity: m2 240, m3 120",
    ):
        assert part in said


@pytest.mark.parametrize(
    "affinity, has",
    [
        ("region = eu-west", {"m1": "region is eu", "m2": "region is us", "m3": "no region"}),
        ("zone = eu1", {"m1": "zone is eu-1, eu-2", "m2": "no zone"}),
        ("provider = alpha", {"m1": "no provider"}),
        ("clusterName = m2", {"m1": "clusterName is m1", "m3": "clusterName is m3"}),
    ],
)
def test_rejected_clusters_show_their_fields(
    desk: pathlib.Path, capsys: pytest.CaptureFixture[str], affinity: str, has: dict[str, str]
) -> None:
    """The evidence has the field that the rule reads, or says that the cluster has none."""
    plane = json.loads((desk / "plane.json").read_text())
    plane["items"][0]["spec"]["zones"] = ["eu-2", "eu-1"]
    plane["items"][2]["spec"]["region"] = ""
    (desk / "plane.json").write_text(json.dumps(plane))
    policy = f"clusterPolicy a {{ for resources clusterAffinity required {affinity} as eu }}"
    (desk / "eu.policy").write_text(policy)
    asked = ["--cluster", "plane.json", "--policies", "eu.policy", "-o", "json"]
    main.main(["explain", "binding", "shop/web-deployment", *asked])
    (report,) = json.loads(capsys.readouterr().out)
    (attempt,) = report["attempts"]
    for cluster, evidence in has.items():
        (failure,) = attempt["verdicts"][cluster]["all"]
        assert failure["evidence"] == evidence


def test_an_outage_is_one_of_clusters(
    desk: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rules that are skipped say so of clusters, and not of nodes."""
    (desk / "errors.yaml").write_text("api_errors: {}\n")
    assert main.main(["explain", "binding", "shop/web-deployment", *_ASKED]) == 0
    said = capsys.readouterr().out
    assert "skipped: shop/faulty (line 4): no cluster has a valid sample of api_errors" in said
    assert "no node" not in said


def test_all_bindings_and_lines(
    desk: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--all` explains each; of `--cluster -` each line is answered by a line."""
    assert main.main(["explain", "binding", "--all", *_ASKED, "-o", "json"]) == 0
    told = [each["binding"] for each in json.loads(capsys.readouterr().out)]
    assert told == ["shop/web-deployment", "all-deployment"]
    line = (desk / "plane.json").read_bytes() + b"\n"
    (desk / "lines").write_bytes(line * 2)
    with (desk / "lines").open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        assert main.main(["explain", "binding", "all-deployment", "--cluster", "-"]) == 0
    answers = capsys.readouterr().out.splitlines()
    assert len(answers) == 2
    for answer in answers:
        report_schemas.check_report(json.loads(answer), "explain-binding")


@pytest.mark.parametrize(
    "argv, code, problem",
    [
        (["binding", "web"], 3, "--cluster is missing"),
        (["binding", "--cluster", "plane.json"], 3, "no binding is named"),
        (["binding", "a", "--all", "--cluster", "plane.json"], 3, "no binding is named"),
        (["--all", "binding", "a", "--cluster", "plane.json"], 3, "write `explain binding --all`"),
        (["--decisions", "x.json", "binding", "a"], 3, "--decisions has records of pods"),
        (["binding", "web", "--cluster", "plane.json"], 2, "there is `shop/web-deployment`"),
        (["binding", "all", "--cluster", "plane.json"], 2, "there is `all-deployment`"),
        (["binding", "shop/wep", "--cluster", "none.json"], 2, "none.json: cannot be read"),
        (["binding", "--all", "--cluster", "plane.json", "--metrics", "m"], 3, "need policies"),
    ],
    ids=[
        "no cluster",
        "no binding",
        "both",
        "all pods",
        "decisions",
        "name of the resource",
        "without a namespace",
        "no file",
        "metrics alone",
    ],
)
def test_wrong_use_is_one_error(
    argv: list[str],
    code: int,
    problem: str,
    desk: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is wrong, and what to write."""
    assert main.main(["explain", *argv]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert problem in said.err
