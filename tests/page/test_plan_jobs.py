from __future__ import annotations

import asyncio
import contextlib
import io
import json
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from policysched import clock as clocks
from policysched.cli import main
from policysched.page import plan_groups, plan_jobs
from tests.cli import clusters
from tests.kube.asynchronous import asynchronous
from tests.page import servers

OLD = "policy p {\n  for pods\n  score LeastAllocated(cpu: 1) weight 5\n}\n"
RULES = (
    "nodeAffinity required disk = ssd",
    "nodeAffinity preferred disk = hdd weight 40",
    "reject when free(cpu) < 2",
    "score MostAllocated(cpu: 1) weight 50",
)


def make_policy(*rules: str) -> str:
    """Return a policy with rules."""
    return "policy p {\n  for pods\n  " + "\n  ".join(rules) + "\n}\n"


def make_items() -> list[dict[str, Any]]:
    """Return three nodes, two placed pods and a pending one."""
    return [
        clusters.node("a", disk="ssd"),
        clusters.node("b", disk="hdd"),
        clusters.node("c", disk="ssd"),
        clusters.pod("one", on="a"),
        clusters.pod("two", on="b"),
        clusters.pod("new"),
    ]


async def wait_for_plan(client: servers.PageClient, text: str) -> dict[str, Any]:
    """Start a plan and return its outcome."""
    in_use = {each["name"]: each["text"] for each in (await client.ask("policies"))["files"]}
    question = {"texts": {"test.policy": text}, "inUse": in_use}
    job = (await client.post("plan", question))["job"]
    outcome: dict[str, Any] = await client.ask("plan", job=str(job), wait="20")
    return outcome


@asynchronous
async def test_a_plan_names_the_pods_that_an_edit_moves(tmp_path: pathlib.Path) -> None:
    """Each change has the rule that is its cause; the texts are those of the command."""
    client = servers.PageClient(servers.make_source(make_items(), tmp_path, OLD))
    found = await wait_for_plan(client, OLD.replace("score", f"{RULES[0]} as ssd-only\n  score"))
    (group,) = [each for each in found["groups"] if each["outcome"] == "moved"]
    assert (group["count"], group["cause"]) == (1, {"kind": "edit", "edits": ["p/ssd-only"]})
    (moved,) = group["rows"]
    assert (moved["pod"], moved["cause"]["edits"]) == ("prod/two", ["p/ssd-only"])
    counts = found["plan"]["summary"]["running"]
    assert (found["error"], counts["moved"], counts["pods"]) == ("", 1, 2)
    assert found["nodes"] == {"b": {"gained": 0, "lost": 1}, "c": {"gained": 1, "lost": 0}}
    for form, text in (("text", "1 pod would move"), ("markdown", "## policysched plan")):
        written = await client.ask("plan-text", job=str(found["job"]), form=form)
        assert text in written["text"]


def test_changes_with_the_same_outcome_and_cause_are_a_group() -> None:
    """The largest cause of an outcome comes first; a group shows its first rows, then others."""
    one = [make_change("moved", "a", "b", ["p/one"])] * 2
    both = [make_change("moved", "a", "b", ["p/one", "p/two"])] * 450
    groups = plan_groups.group_changes([*one, make_change("nodes", "a", "a"), *both])
    described = [each.describe() for each in groups]
    assert [(each["outcome"], each["cause"]["edits"], each["count"]) for each in described] == [
        ("moved", ["p/one", "p/two"], 450),
        ("moved", ["p/one"], 2),
        ("nodes", [], 1),
    ]
    rows = list(described[0]["rows"])
    while more := groups[0].get_rows(len(rows)):
        assert len(more) <= 200
        rows += more
    assert rows == both


def test_the_most_frequent_routes_of_a_group_are_counted() -> None:
    """Equal decisions on both sides are one route; pods without a node differ in their reason."""
    changes = [make_change("moved", "a", "b")] * 2 + [make_change("moved", "a", "c")] * 5
    changes += [make_change("moved", name, "b") for name in "defg"]
    (group,) = plan_groups.group_changes(changes)
    described = group.describe()
    routes = [
        (each["count"], each["example"]["from"]["node"], each["example"]["to"]["node"])
        for each in described["routes"]
    ]
    assert routes == [(5, "a", "c"), (2, "a", "b"), (1, "d", "b")]
    assert described["routeCount"] == 6
    nowhere = [make_change("reason", None, None) for _ in range(2)]
    nowhere[1]["to"]["message"] = "no memory"
    (group,) = plan_groups.group_changes(nowhere)
    assert group.describe()["routeCount"] == 2


def test_rare_causes_share_a_group() -> None:
    """No change is left out."""
    changes = [make_change("moved", "a", "b", [f"p/{number}"]) for number in range(30)]
    groups = plan_groups.group_changes(changes)
    assert groups[-1].cause["kind"] == "others"
    assert [change for each in groups for change in each.changes] == changes


def test_pods_whose_node_rejects_them_are_also_a_group() -> None:
    """Of all outcomes, because their nodes are what an operator looks at."""
    lost = [make_change(outcome, "a", "b") | {"nodeLost": True} for outcome in ("moved", "nodes")]
    groups = plan_groups.group_changes([*lost, make_change("moved", "a", "b")])
    assert (groups[-1].outcome, groups[-1].changes) == ("nodeLost", lost)


@asynchronous
async def test_more_rows_of_a_group_are_asked_for(tmp_path: pathlib.Path) -> None:
    """By the number of the plan and of the group; there must be such a group."""
    client = servers.PageClient(servers.make_source(make_items(), tmp_path, OLD))
    found = await wait_for_plan(client, OLD.replace("score", f"{RULES[0]} as ssd-only\n  score"))
    job, rows = str(found["job"]), found["groups"][0]["rows"]
    assert (await client.ask("plan-rows", job=job, group="0"))["rows"] == rows
    assert (await client.ask("plan-rows", job=job, group="0", after="1"))["rows"] == rows[1:]
    assert (await client.ask_page("plan-rows", job=job, group="99")).status == 404
    assert (await client.ask_page("plan-rows", job="9", group="0")).status == 404


def test_all_changes_are_counted_on_their_nodes() -> None:
    """The map shows them, also those that the answer leaves out."""
    job = plan_jobs.PlanJob(1, servers.CLOCK)
    moved = [make_change("moved", "a", "b")] * 3000
    job.report = {"changes": [*moved, make_change("schedulable", None, "a")]}
    assert job.describe()["nodes"] == {
        "a": {"gained": 1, "lost": 3000},
        "b": {"gained": 3000, "lost": 0},
    }


def make_change(
    outcome: str, before: str | None, after: str | None, edits: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what a plan says about a pod; without edits, it has no cause."""
    cause = {"kind": "edit", "edits": list(edits), "how": ""} if edits else None
    return {"outcome": outcome, "from": {"node": before}, "to": {"node": after}, "cause": cause}


@asynchronous
async def test_policies_with_errors_have_no_plan(tmp_path: pathlib.Path) -> None:
    """The error is that of `check`."""
    client = servers.PageClient(servers.make_source(make_items(), tmp_path, OLD))
    found = await wait_for_plan(client, OLD.replace("weight", "wait"))
    assert found["plan"] is None
    assert "error[PS001]" in found["error"]
    assert (await client.ask_page("plan-text", job="1", form="text")).status == 404


@asynchronous
async def test_the_first_policy_is_planned_against_none() -> None:
    """A cluster without policies can be given some."""
    client = servers.PageClient(servers.make_source(make_items()))
    found = await wait_for_plan(client, make_policy(RULES[0]))
    assert found["plan"]["from"] == "none"


@asynchronous
async def test_a_new_plan_cancels_the_last_one(tmp_path: pathlib.Path) -> None:
    """The last plan is made; earlier ones say why they are not."""
    client = servers.PageClient(servers.make_source(make_items(), tmp_path, OLD))
    for _ in range(5):
        await client.post("plan", {"texts": {"test.policy": OLD}, "inUse": {"a.policy": OLD}})
    assert (await client.ask("plan", job="1", wait="0"))["error"] == "another plan was started"
    assert (await client.ask_page("plan", job="6", wait="0")).status == 404
    found = await client.ask("plan", job="5", wait="20")
    assert found["groups"] == []


@pytest.mark.parametrize("reason", ["another plan was started", "took more than 60 s"])
def test_a_plan_ends_at_its_next_step(reason: str) -> None:
    """Cancelled or too slow, it says why."""
    clock = clocks.ManualClock(servers.NOW)
    job = plan_jobs.PlanJob(1, clock)
    if "another" in reason:
        job.cancel()
    else:
        clock.advance(61.0)
    job.run(servers.make_source(make_items()).get_view(), {}, {})
    assert reason in job.error
    assert job.describe()["plan"] is None


def test_a_wrong_body_gets_one_error() -> None:
    """The page shows the text of the error."""
    client = servers.PageClient(servers.make_source(make_items()))
    page = asyncio.run(client.post_page("plan", {"texts": [1], "inUse": {}}))
    assert (page.status, b"Expected `object`" in page.body) == (400, True)


@pytest.mark.slow
@hypothesis.given(
    old=strategies.sets(strategies.sampled_from(RULES)),
    new=strategies.sets(strategies.sampled_from(RULES)),
    disks=strategies.lists(strategies.sampled_from(["ssd", "hdd"]), min_size=1, max_size=4),
    pods=strategies.lists(strategies.integers(0, 4), max_size=5),
)
def test_the_plan_is_that_of_the_command(
    tmp_path_factory: pytest.TempPathFactory,
    old: set[str],
    new: set[str],
    disks: list[str],
    pods: list[int],
) -> None:
    """The page and `plan -o json` agree about every pod, edit and rejection."""
    folder = tmp_path_factory.mktemp("p")
    items = [clusters.node(f"n{i}", disk=disk) for i, disk in enumerate(disks)]
    for i, on in enumerate(pods):
        items.append(clusters.pod(f"p{i}", on=f"n{on}" if on < len(disks) else None))
    texts = [make_policy(*sorted(rules)) for rules in (old, new)]
    source = servers.make_source(items, folder, texts[0])
    view = source.get_view()
    found = plan_jobs.make_plan(
        view.inputs,
        {each.name: each.text for each in view.policies},
        {"test.policy": texts[1]},
        lambda _part, _total: lambda _steps: None,
    )
    assert _drop_names(found) == _drop_names(_run_plan_command(folder, items, *texts))


def _run_plan_command(
    folder: pathlib.Path, items: list[clusters.Object], old: str, new: str
) -> dict[str, Any]:
    files = {"old": folder / "old.policy", "new": folder / "new.policy"}
    files["old"].write_text(old)
    files["new"].write_text(new)
    command = ["plan", "--cluster", clusters.write(folder, *items), "--now", "2026-03-02T09:00:00Z"]
    command += ["--from", str(files["old"]), "--to", str(files["new"]), "-o", "json"]
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        main.main(command)
    report: dict[str, Any] = json.loads(written.getvalue())
    return report


def _drop_names(report: dict[str, Any]) -> dict[str, Any]:
    """Return a plan without the names of texts and of the cluster."""
    edits = [dict(_without(each, "where")) for each in report["edits"]]
    return dict(_without(report, "from", "to", "cluster", "edits")) | {"edits": edits}


def _without(fields: dict[str, Any], *names: str) -> Iterator[tuple[str, Any]]:
    return ((key, value) for key, value in fields.items() if key not in names)
