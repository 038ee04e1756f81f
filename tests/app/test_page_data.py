"""The pages that `run` adds for `policysched ui --decisions`."""

from __future__ import annotations

from typing import Any

import orjson

from policysched.lang import source
from policysched.reload import state as states
from policysched.reload import versions
from tests import builders, report_schemas
from tests.kube.asynchronous import asynchronous
from tests.observability import page_answers
from tests.page import running_scheduler
from tests.scheduler import fakes

TEXTS = (source.SourceText("a.policy", "text"),)
REFUSAL = versions.VersionRefusal("bad0", "a:1: oh", "error[PS001]: oh " * 200, ValueError())


async def _ask(joined: Any, name: str, /, **parameters: str) -> Any:
    return await page_answers.ask(joined.pages[f"/debug/{name}"], name, **parameters)


@asynchronous
async def test_the_status_says_who_leads_and_which_version_is_in_use() -> None:
    """For a standby also whose lease it is; its size is limited."""
    world = fakes.World()
    world.add_node("n1", pods=1)
    joined = running_scheduler.make_process(world, is_leading=False, holder="other-pod_1234")
    before = await _ask(joined, "status")
    assert (before["isLeading"], before["leaseHolder"]) == (False, "other-pod_1234")
    assert (before["lease"], before["namespace"]) == ("sched/policysched", "sched")
    assert (before["hash"], before["since"], before["refused"]) == (
        "900d",
        builders.EPOCH.isoformat(),
        None,
    )
    world.add_pod("a")
    world.add_pod("b")
    await world.settle()
    joined.policies.record_refusal(REFUSAL, builders.EPOCH)
    after = await _ask(joined, "status")
    assert (after["nodes"], after["placed"], after["decisions"]) == (1, 1, 2)
    assert after["pending"]["unschedulable"] == 1
    assert after["generation"] > before["generation"]
    assert after["refused"]["errors"].startswith("error[PS001]: oh")
    page = await page_answers.ask_page(joined.pages["/debug/status"])
    assert len(page.body) < 2048


@asynchronous
async def test_the_status_names_the_running_rollout() -> None:
    """With its stage, and whether it is paused; later, that the version was rolled back."""
    joined = running_scheduler.make_process(fakes.World())
    assert (await _ask(joined, "status"))["rollout"] == ""
    running_scheduler.enter_stage(joined, is_paused=True)
    found = await _ask(joined, "status")
    assert found["rollout"] == "beef: stage 2 of 3 (10 % of the workloads), paused"
    running_scheduler.enter_stage(joined, stage_name="namespaces " + "long, " * 1000)
    page = await page_answers.ask_page(joined.pages["/debug/status"])
    assert len(page.body) < 2048
    running_scheduler.roll_back(joined)
    found = await _ask(joined, "status")
    assert (found["rollout"], found["refused"]["isRolledBack"]) == ("", True)


@asynchronous
async def test_decisions_have_two_forms() -> None:
    """Without `form`, the page is as before, and takes the parameters that it took."""
    world = fakes.World()
    world.add_node("n1", pods=1)
    joined = running_scheduler.make_process(world, is_leading=True)
    world.add_pod("a")
    await world.settle()
    decisions = joined.pages["/debug/decisions"]
    rows = await page_answers.ask(decisions, "rows", form="rows", after="0")
    assert rows["next"] == 1
    page = await page_answers.ask_page(decisions, pod="default/a", unknown="x")
    assert page.status == 200
    report_schemas.check_report(orjson.loads(page.body), "decisions")


@asynchronous
async def test_another_version_starts_the_counters_again() -> None:
    """Counts of a rule belong to its text."""
    world = fakes.World()
    world.add_node("n1", pods=0)
    joined = running_scheduler.make_process(world, is_leading=True)
    (count,) = world.scheduler.decisions.end_listeners
    world.add_pod("a")
    await world.settle()
    counts: Any = count.__self__  # type: ignore[attr-defined]  # a bound method
    assert counts.attempts["default-scheduler", "Room"] == 1
    joined.policies.record_refusal(REFUSAL, builders.EPOCH)
    assert counts.attempts
    joined.policies.record_loaded_version(states.VersionInUse("beef", TEXTS, builders.EPOCH))
    assert not counts.attempts


@asynchronous
async def test_a_node_is_described_by_name() -> None:
    """An unknown one is another answer than an unknown page."""
    world = fakes.World()
    world.add_node("n1", pods=3)
    joined = running_scheduler.make_process(world)
    found = await _ask(joined, "node", name="n1")
    assert (found["node"], found["podCount"], found["allowedPods"]) == ("n1", 0, 3)
    page = await page_answers.ask_page(joined.pages["/debug/node"], name="n2")
    assert (page.status, page.body) == (410, b"there is no such node\n")


@asynchronous
async def test_the_rules_in_use_are_described() -> None:
    """Each with what it has rejected since the version was loaded."""
    joined = running_scheduler.make_process(fakes.World())
    found = await _ask(joined, "rules")
    (profile,) = found["profiles"]
    assert [rule["name"] for rule in profile["rules"]] == ["web/fast", "web/room"]
    assert (await _ask(joined, "versions"))["versions"][0]["inUse"]


@asynchronous
async def test_unknown_parameters_are_refused() -> None:
    """Each new page has a fixed list of parameters."""
    joined = running_scheduler.make_process(fakes.World(), is_leading=True)
    for name in ("status", "queue", "versions", "rules", "cluster", "node", "explain"):
        page = await page_answers.ask_page(joined.pages[f"/debug/{name}"], url="http://x")
        assert page.status == 400, name
