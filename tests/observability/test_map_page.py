"""The page /debug/cluster."""

from __future__ import annotations

from typing import Any

from policysched.observability.live_page import map_page
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.observability import page_answers
from tests.scheduler import fakes


def _make_page(world: fakes.World) -> map_page.MapPage:
    return map_page.MapPage(world.cache.snapshot, tuple, world.clock)


async def _ask(page: map_page.MapPage, **parameters: str) -> Any:
    return await page_answers.ask(page.make_page, "cluster", **parameters)


@asynchronous
async def test_nodes_are_sent_again_only_after_a_node_has_changed() -> None:
    """The amounts are new each time, and a second old at most."""
    world = fakes.World()
    world.nodes.upsert(builders.make_node("b").capacity(pods=5).labels(zone="y").build())
    world.nodes.upsert(builders.make_node("a").capacity(pods=5).labels(zone="x").build())
    page = _make_page(world)
    first = await _ask(page)
    assert first["nodes"]["names"] == ["a", "b"]
    assert first["nodes"]["labels"]["zone"] == {"values": ["x", "y"], "of": [0, 1]}
    assert first["usage"]["pods"] == {"used": [0, 0], "of": [5, 5]}

    world.add_pod("p")
    await world.settle()
    since = str(first["generation"])
    assert (await _ask(page, since=since))["usage"] == first["usage"]
    world.clock.advance(1.0)
    later = await _ask(page, since=since)
    assert later["nodes"] is None
    assert sum(later["usage"]["pods"]["used"]) == 1

    world.nodes.upsert(builders.make_node("c").capacity(pods=5).build())
    world.clock.advance(1.0)
    changed = await _ask(page, since=since)
    assert changed["nodes"]["names"] == ["a", "b", "c"]
    assert changed["generation"] > first["generation"]
    assert (await _ask(page))["nodes"] == changed["nodes"]


@asynchronous
async def test_a_cluster_without_nodes_is_an_answer() -> None:
    """Empty columns."""
    found = await _ask(_make_page(fakes.World()))
    assert (found["nodes"]["names"], found["usage"]["resources"]) == ([], {})
