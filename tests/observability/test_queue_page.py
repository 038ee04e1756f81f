"""The page /debug/queue."""

from __future__ import annotations

from typing import Any

from policysched.observability.live_page import queue_page
from policysched.serving import query_parameters
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.observability import page_answers
from tests.scheduler import fakes


async def _ask(world: fakes.World, **parameters: str) -> Any:
    page = queue_page.QueuePage(world.scheduler, world.clock)
    return await page_answers.ask(page.make_page, "queue", **parameters)


@asynchronous
async def test_each_waiting_pod_has_its_queue_and_its_reason() -> None:
    """Also how often it was tried, since when it waits, and for which node."""
    world = fakes.World()
    world.add_node("n1", pods=1)
    world.add_pod("a")
    await world.settle()
    world.preempts.script["big"] = [("n1", ("a",))]
    world.add_pod(builders.make_pod("big").priority(9))
    world.add_pod("late")
    await world.settle()
    world.clock.advance(90.0)
    world.add_pod("new")
    found = await _ask(world)
    pods = {each["pod"]: each for each in found["pods"]}
    assert found["total"] == {"active": 1, "backoff": 0, "unschedulable": 2, "gated": 0}
    assert pods["default/new"]["queue"] == "active"
    assert (pods["default/new"]["attempts"], pods["default/new"]["message"]) == (0, "")
    late = pods["default/late"]
    assert (late["queue"], late["attempts"], late["plugins"]) == ("unschedulable", 1, ["Room"])
    assert "Too many pods" in late["message"]
    assert (late["since"], found["now"]) == (
        "2026-01-05T12:00:00.000+00:00",
        "2026-01-05T12:01:30.000+00:00",
    )
    assert (late["rejectedBy"], late["gates"]) == (["Room"], [])
    assert late["retryAt"] == "2026-01-05T12:05:00.000+00:00"
    assert pods["default/new"]["retryAt"] == ""
    assert (pods["default/big"]["nominatedNode"], pods["default/big"]["priority"]) == ("n1", 9)


@asynchronous
async def test_a_pod_in_backoff_has_its_end_and_a_gated_one_its_gate() -> None:
    """A queue of its own for each."""
    world = fakes.World()
    world.add_node("n1", pods=10)
    world.bind.refusals.append("no")
    world.add_pod("fails")
    await world.settle()
    world.add_pod(builders.make_pod("gated").gates("wait-for-me"))
    found = await _ask(world)
    pods = {each["pod"]: each for each in found["pods"]}
    assert pods["default/fails"]["queue"] == "backoff"
    assert pods["default/fails"]["backoffUntil"] > found["now"]
    assert pods["default/fails"]["retryAt"] == pods["default/fails"]["backoffUntil"]
    assert pods["default/gated"]["gates"] == ["wait-for-me"]
    assert pods["default/gated"]["retryAt"] == ""
    assert (pods["default/gated"]["queue"], pods["default/gated"]["plugins"]) == (
        "gated",
        ["Gates"],
    )


@asynchronous
async def test_the_latest_retry_is_the_first_flush_after_five_minutes() -> None:
    """The flush runs every 30 seconds."""
    world = fakes.World()
    world.add_node("n1", pods=0)
    world.clock.advance(10.0)
    world.add_pod(builders.make_pod("late").meta(creation_timestamp="2026-01-05T11:00:00Z"))
    await world.settle()
    (late,) = (await _ask(world))["pods"]
    assert late["createdAt"] == "2026-01-05T11:00:00Z"
    assert (late["since"], late["retryAt"]) == (
        "2026-01-05T12:00:10.000+00:00",
        "2026-01-05T12:05:30.000+00:00",
    )


@asynchronous
async def test_pods_that_no_profile_serves_are_beside_the_queues() -> None:
    """With their schedulerName, of which the API server limits neither text nor length."""
    world = fakes.World()
    world.add_pod(builders.make_pod("lost").scheduler_name("x" * 1000))
    world.add_pod(builders.make_pod("lost-too").scheduler_name("mystery"))
    found = await _ask(world, limit="1")
    assert (found["pods"], found["unservedCount"]) == ([], 2)
    assert [each["pod"] for each in found["unserved"]] == ["default/lost"]
    assert len(found["unserved"][0]["schedulerName"]) < 300


@asynchronous
async def test_the_limit_is_that_of_the_client_and_never_above_a_thousand() -> None:
    """The totals count all pods."""
    world = fakes.World()
    for number in range(300):
        world.add_pod(f"p{number}")
    assert len((await _ask(world))["pods"]) == 200
    found = await _ask(world, limit="3")
    assert (len(found["pods"]), found["total"]["active"]) == (3, 300)
    make = query_parameters.answer_query_errors(
        queue_page.QueuePage(world.scheduler, world.clock).make_page
    )
    assert (await page_answers.ask_page(make, limit="1001")).status == 400
    assert (await page_answers.ask_page(make, queue="active")).status == 400
