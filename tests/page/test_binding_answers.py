"""The page about a Karmada control plane: clusters in place of nodes, bindings in place of pods."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
from typing import Any

import pytest

from policysched import clock as clocks
from policysched.cli import main
from policysched.cli.render import styles
from policysched.page import plan_jobs
from tests import report_schemas
from tests.conformance.generate import draw
from tests.karmada import cases, policy_texts
from tests.kube.asynchronous import asynchronous
from tests.page import planes, servers


@pytest.fixture
def client(tmp_path: pathlib.Path) -> servers.PageClient:
    """Return a client of the four clusters with a policy."""
    return servers.PageClient(
        servers.make_plane_source(planes.make_items(), tmp_path, planes.POLICY)
    )


@asynchronous
async def test_the_map_has_clusters_as_nodes(client: servers.PageClient) -> None:
    """Fields count as labels, and requests are the allocated amounts of the summary."""
    found = await client.ask("cluster")
    assert found["names"] == ["a", "b", "c", "d"]
    assert found["state"] == [0, 0, 2, 0]
    assert found["labels"]["region"] == {"values": ["eu", "us"], "of": [0, 1, 0, 1]}
    assert found["resources"]["cpu"]["used"] == [0, 4000, 0, 0]
    status = await client.ask("status")
    assert status["shows"] == "bindings"
    assert [status[each] for each in ("nodes", "placed", "pending")] == [4, 3, 2]


@asynchronous
async def test_a_cluster_has_its_bindings_with_their_replicas(client: servers.PageClient) -> None:
    """The answer has the form of a node."""
    found = await client.ask("node", name="a")
    report_schemas.check_report(found, "page-node")
    assert found["fields"]["region"] == "eu"
    assert dict(zip(found["pods"], found["requests"]["replicas"], strict=True)) == {
        "shop/loses": 4,
        "shop/stays": 1,
    }


@asynchronous
async def test_bindings_that_differ_are_listed_gravest_first(client: servers.PageClient) -> None:
    """A binding that stays as it is is not listed."""
    found = await client.ask("pending")
    assert [(row["pod"], row["outcome"]) for row in found["pods"]] == [
        ("shop/nowhere", "nowhere"),
        ("shop/loses", "losesAll"),
        ("shop/new", "waits"),
        ("shop/moves", "moves"),
    ]
    assert found["pods"][0]["message"].startswith("0/4 clusters are available")
    assert (found["rejects"]["ClusterAffinity"], found["rejectsInAll"]["ClusterAffinity"]) == (6, 8)
    assert found["rejectedPods"]["ClusterAffinity"] == 2
    assert (found["decided"], found["bindings"]) == (5, 5)
    assert found == await client.ask("pending")


def test_the_list_goes_on_where_the_time_ended(tmp_path: pathlib.Path) -> None:
    """A second request decides about the rest."""
    shown = servers.make_plane_source(planes.make_items(), tmp_path).get_view().answers
    assert [shown.make_pending(_HastyClock(servers.NOW))["decided"] for _ in range(3)] == [2, 4, 5]


@asynchronous
async def test_points_have_the_number_from_which_they_follow(tmp_path: pathlib.Path) -> None:
    """With its unit, as in the text; points without a unit have none."""
    policy = """\
clusterPolicy shop {
  for resources in namespace shop
  score free(cpu) prefer high weight 2 as spare
  score LeastAllocated(cpu: 1) weight 5 as room
}
"""
    client = servers.PageClient(servers.make_plane_source(planes.make_items(), tmp_path, policy))
    found = await client.ask("explain", pod="shop/new")
    names = [rule["name"] for rule in found["rules"]]
    measured = dict(zip(names, found["ranking"][0]["measured"], strict=True))
    assert (measured["shop/spare"], measured["shop/room"]) == ("16 cores", "")


class _HastyClock(clocks.ManualClock):
    """Time passes by a second whenever it is read."""

    def monotonic_seconds(self) -> float:
        self.advance(1.0)
        return super().monotonic_seconds()


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([planes.make_cluster("a")], id="no binding"),
        pytest.param([planes.make_binding("web", on={"gone": 4})], id="no cluster"),
        pytest.param(
            [planes.make_cluster("a"), planes.make_binding("web", replicaScheduling=None)],
            id="no division",
        ),
    ],
)
@asynchronous
async def test_a_control_plane_may_be_nearly_empty(
    tmp_path: pathlib.Path, items: list[planes.Object]
) -> None:
    """Every answer is made, also about a cluster that is gone."""
    client = servers.PageClient(servers.make_plane_source(items, tmp_path))
    found = await client.ask("cluster")
    assert len(found["names"]) == sum(each["kind"] == "Cluster" for each in items)
    assert (await client.ask("pending"))["decided"] == len(items) - len(found["names"])
    for name in (await client.ask("find", text="web"))["pods"]:
        explained = await client.ask("explain", pod=name)
        assert len(explained["of"]) == len(found["names"])


@asynchronous
async def test_a_cluster_says_what_it_gets_of_a_binding(client: servers.PageClient) -> None:
    """With every refusal, or the points, the capacity and the replicas."""
    fits = await client.ask("compare", pod="shop/moves", node="a")
    assert (fits["fits"], fits["isSelected"], fits["room"]) == (True, True, 10)
    assert (fits["present"], fits["replicas"], fits["points"]["total"]) == (None, 2, 450)
    refused = await client.ask("compare", pod="shop/new", node="d")
    assert [(each["plugin"], each["rule"]) for each in refused["rejections"]] == [
        ("ClusterAffinity", None),
        ("Policy", "full"),
    ]
    left = await client.ask("compare", pod="shop/moves", node="d")
    assert (left["present"], left["replicas"]) == (4, None)


@asynchronous
async def test_names_and_rules_are_found(client: servers.PageClient) -> None:
    """Groups of clusters are listed as rules, because they reject clusters."""
    assert await client.ask("find", text="n") == {
        "pods": ["shop/new", "shop/nowhere"],
        "nodes": [],
        "rules": ["shop/near"],
        "counts": {"pods": 2, "nodes": 0, "rules": 1},
    }
    assert (await client.ask("compare", pod="shop/new", node="no"))["isUnknown"] is True
    (profile,) = (await client.ask("policies"))["profiles"]
    assert [(rule["name"], rule["line"], rule["weight"]) for rule in profile["rules"]] == [
        ("shop/near", 3, None),
        ("shop/far", 4, None),
        ("shop/full", 5, None),
        ("shop/room", 6, 5),
    ]


@asynchronous
async def test_findings_know_the_clusters(client: servers.PageClient) -> None:
    """A region that no cluster has is found while a policy is edited."""
    text = planes.POLICY.replace("region = us", "region = moon")
    found = await client.post(
        "language", {"kind": "findings", "texts": {"p": text}, "name": "p", "at": 0}
    )
    assert any("moon" in each["message"] for each in found["findings"])


@pytest.mark.parametrize(
    "name, parameters, status, text",
    [
        pytest.param("explain", {"pod": "shop/no"}, 404, "has no such binding", id="binding"),
        pytest.param("node", {"name": "no"}, 404, "`no` does not exist", id="cluster"),
        pytest.param("study", {"pod": "shop/new"}, 400, "for pods only", id="study"),
    ],
)
def test_a_wrong_question_gets_one_error(
    client: servers.PageClient, name: str, parameters: dict[str, str], status: int, text: str
) -> None:
    """The page shows the text of the error."""
    servers.check_error(client, name, parameters, status, text)


# --- the same as the commands --------------------------------------------------------------------


def _run_command(*words: str) -> Any:
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        assert main.main(list(words)) in (0, 1)
    return json.loads(written.getvalue())


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_the_binding_view_says_what_explain_says(tmp_path: pathlib.Path, number: int) -> None:
    """Verdicts, points, steps and results are those of `explain binding -o json`."""
    policy = policy_texts.policies(draw.Draw(f"policies {number}")) if number % 2 else ""
    items = cases.control_plane(str(number))["items"]
    source = servers.make_plane_source(items, tmp_path, policy)
    words = ["explain", "binding", "--all", "--cluster", str(tmp_path / "plane.json"), "-o", "json"]
    if policy:
        words += ["--policies", str(tmp_path / "test.policy")]
    reports = _run_command(*words, "--now", servers.NOW.isoformat())

    @asynchronous
    async def compare() -> None:
        client = servers.PageClient(source)
        names = (await client.ask("cluster"))["names"]
        for report in reports:
            found = await client.ask("explain", pod=report["binding"])
            del found["generation"]
            report_schemas.check_report(found, "page-explain")
            _check_binding(names, found, report)

    compare()


@asynchronous
async def test_the_text_is_that_of_the_command(
    tmp_path: pathlib.Path, client: servers.PageClient, capsys: pytest.CaptureFixture[str]
) -> None:
    """`as text` shows what `explain binding` prints."""
    words = ["explain", "binding", "shop/moves", "--cluster", str(tmp_path / "plane.json")]
    assert main.main([*words, "--policies", str(tmp_path / "test.policy")]) == 0
    shown = (await client.ask("text", pod="shop/moves"))["text"]
    assert styles.remove_style_marks(shown) == capsys.readouterr().out.rstrip()


def _check_binding(names: list[str], found: dict[str, Any], report: dict[str, Any]) -> None:
    """Check a page about a binding against the report of the command."""
    fields = ("present", "replicas", "errorKind", "observedAffinity")
    assert [found[each] for each in fields] == [report[each] for each in fields]
    assert (found["shares"], found["message"]) == (report["clusters"], report["error"])
    assert found["policies"] == [each["policy"] for each in report["policies"]]
    assert len(found["attempts"]) == len(report["attempts"])
    for made, told in zip(found["attempts"], report["attempts"], strict=True):
        _check_attempt(names, made, told)
    if found["attempts"]:
        decisive = found["attempts"][0 if report["error"] else -1]
        assert {key: found[key] for key in decisive} == decisive


def get_source_name(refusal: dict[str, Any]) -> str:
    """Return the name of what refuses a cluster."""
    return f"{refusal['policy']}/{refusal['rule']}" if refusal["rule"] else refusal["plugin"]


def _check_attempt(names: list[str], made: dict[str, Any], told: dict[str, Any]) -> None:
    assert list(told["verdicts"]) == names
    for number, verdict in zip(made["of"], told["verdicts"].values(), strict=True):
        reasons = [] if number < 0 else [made["why"][number]["reason"]]
        assert (number < 0, reasons) == (verdict["ok"], verdict["reasons"])
    in_all = [step["rejectsInAll"] for step in made["funnel"]]
    refusals = [
        (name, get_source_name(each)) for name in names for each in told["verdicts"][name]["all"]
    ]
    assert sum(in_all) == len(set(refusals))
    left = [len(names), *(step["left"] for step in made["funnel"])]
    assert left[-1] == told["feasible"]
    totals = dict(zip(names, made["totals"], strict=True))
    ranked = {each["cluster"]: each["total"] for each in told["ranking"]}
    assert {name: total for name, total in totals.items() if total is not None} == ranked
    assert [each["node"] for each in made["ranking"]] == list(ranked)
    for shown, each in zip(made["ranking"], told["ranking"], strict=True):
        assert shown["points"] == [rule["weighted"] for rule in each["rules"]]
        of_cluster = ("room", "present", "tier")
        assert [shown[key] for key in of_cluster] == [each[key] for key in of_cluster]
    assert made["shares"] == told["clusters"]
    replicas = {each["name"]: each["replicas"] for each in told["clusters"]}
    assert made["replicasOf"] == [replicas.get(name) for name in names]
    same = ("affinity", "feasible", "spreadConstraints", "selection", "division", "error")
    assert [made[key] for key in same] == [told[key] for key in same]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4))
def test_the_plan_is_that_of_the_command(tmp_path: pathlib.Path, number: int) -> None:
    """The page and `plan -o json` agree about every binding and edit."""
    drawn = draw.Draw(f"policies {number}")
    old, new = policy_texts.policies(drawn), policy_texts.policies(drawn)
    source = servers.make_plane_source(cases.control_plane(str(number))["items"], tmp_path, old)
    (tmp_path / "new.policy").write_text(new)
    words = ["plan", "--cluster", str(tmp_path / "plane.json"), "--now", servers.NOW.isoformat()]
    words += ["--from", str(tmp_path / "test.policy"), "--to", str(tmp_path / "new.policy")]
    told = _run_command(*words, "-o", "json")["bindings"]
    view = source.get_view()
    found = plan_jobs.make_plan(
        view.inputs,
        {each.name: each.text for each in view.policies},
        {"test.policy": new},
        lambda _part, _total: lambda _steps: None,
    )["bindings"]
    assert _drop_places(found) == _drop_places(told)


def _drop_places(report: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a plan about bindings without the places of edits."""
    edits = [{key: each[key] for key in each if key != "where"} for each in report["edits"]]
    return report | {"edits": edits}


def test_a_plan_counts_bindings_on_their_clusters() -> None:
    """The changes themselves are in groups."""
    job = plan_jobs.PlanJob(1, servers.CLOCK)
    changed = [{"outcome": "unschedulable", "lost": ["a"], "gained": []}] * 3
    job.report = {"changes": [], "bindings": {"summary": {}, "changes": changed}}
    answer = job.describe()
    assert answer["nodes"] == {"a": {"gained": 0, "lost": 3}}
    assert answer["plan"] == {"bindings": {"summary": {}}}
