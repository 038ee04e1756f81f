"""The page /debug/explain."""

from __future__ import annotations

from policysched.observability.live_page import explain_page
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.observability import page_answers
from tests.scheduler import fakes


@asynchronous
async def test_a_waiting_pod_is_explained_without_being_scheduled() -> None:
    """The verdict of each node; nothing of the scheduler changes."""
    world = fakes.World()
    for name in ("n1", "n2"):
        world.add_node(name, pods=1)
        world.add_pod(f"on-{name}")
    world.add_pod("late")
    await world.settle()
    page = explain_page.ExplainPage(world.scheduler, world.clock)
    before = (world.queue.count_pending_pods(), world.cache.pod_count, world.where("late"))
    found = await page_answers.ask(page.make_page, "explain", pod="default/late")
    assert (found["feasible"], found["of"], found["nodeCount"]) == (0, [0, 0], 2)
    assert found["why"][0]["by"] == "Room"
    after = (world.queue.count_pending_pods(), world.cache.pod_count, world.where("late"))
    assert before == after


@asynchronous
async def test_all_clients_together_get_one_explanation_in_two_seconds() -> None:
    """The same pod is not explained again; who asks about another one is told when to ask."""
    world = fakes.World()
    world.add_node("n1", pods=0)
    world.add_pod("a")
    world.add_pod("b")
    await world.settle()
    make = explain_page.ExplainPage(world.scheduler, world.clock).make_page
    first = await page_answers.ask_page(make, pod="default/a")
    assert await page_answers.ask_page(make, pod="default/a") is first
    busy = await page_answers.ask_page(make, pod="default/b")
    assert (busy.status, busy.headers["Retry-After"]) == (429, "2")
    world.clock.advance(2.0)
    found = await page_answers.ask(make, "explain", pod="default/b")
    assert found["pod"] == "default/b"
    assert (await page_answers.ask_page(make, pod="default/placed")).status == 410


@asynchronous
async def test_a_pod_that_does_not_wait_here_is_said_not_to() -> None:
    """Of a pod of another scheduler, its schedulerName is known."""
    world = fakes.World()
    world.add_pod(builders.make_pod("lost").scheduler_name("mystery"))
    make = explain_page.ExplainPage(world.scheduler, world.clock).make_page
    for name, text in (
        ("lost", b"no profile of this scheduler serves schedulerName `mystery`"),
        ("gone", b"this scheduler knows no waiting pod of this name"),
    ):
        page = await page_answers.ask_page(make, pod=f"default/{name}")
        assert (page.status, page.body.startswith(text)) == (410, True)
