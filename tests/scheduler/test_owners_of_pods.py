"""Pods wake when they get the owner that a policy wants, and by no other change of theirs."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import objects
from policysched.compiler import compiler
from tests import builders
from tests.compiler import desk
from tests.scheduler import fakes

POD = builders.make_pod("a")


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(
            "policy p { for pods reject when not pod(owner(name) = ingest) }", id="selector"
        ),
        pytest.param(
            "policy p { for pods nodeAffinity required job = pod(owner(name)) missing reject }",
            id="value",
        ),
    ],
)
def test_the_owner_wakes_the_pod_and_a_hundred_useless_changes_do_not(policy: str) -> None:
    """A controller adopts the pod; before, others own it without being its controller."""

    async def scenario() -> None:
        compiled = compiler.compile_program(desk.check(policy)).profiles[0]
        world = fakes.World(*compiled.plugins)
        world.nodes.upsert(builders.make_node("n1").capacity(pods=9).labels(job="ingest").build())
        world.add_pod(POD)
        await world.settle()
        for number in range(100):
            others = (objects.OwnerReference(kind="Job", name=f"ingest-{number}"),)
            world.add_pod(
                POD.meta(owner_references=others, resource_version=f"1{number}").annotations(
                    {"seen": str(number)}
                )
            )
            world.clock.advance(1)
            await world.settle()
        queued = world.queue.get("uid-default-a")
        assert queued is not None
        assert queued.attempts == 1
        world.add_pod(POD.owner("Job", "ingest").meta(resource_version="2"))
        world.clock.advance(10)
        await world.settle()
        assert world.bind.bound == [("a", "n1")]

    fakes.play(scenario())


def test_a_label_of_a_node_wakes_the_pod_of_its_owner() -> None:
    """Labels with the names of other owners do not."""

    async def scenario() -> None:
        text = "policy p { for pods nodeAffinity required job = pod(owner(name)) missing reject }"
        compiled = compiler.compile_program(desk.check(text)).profiles[0]
        world = fakes.World(*compiled.plugins)
        node = builders.make_node("n1").capacity(pods=9)
        world.nodes.upsert(node.build())
        world.add_pod(POD.owner("Job", "ingest"))
        await world.settle()
        for number in range(100):
            world.nodes.upsert(node.labels(job=f"ingest-{number}").build())
            world.clock.advance(1)
            await world.settle()
        queued = world.queue.get("uid-default-a")
        assert queued is not None
        assert queued.attempts == 1
        world.nodes.upsert(node.labels(job="ingest").build())
        world.clock.advance(10)
        await world.settle()
        assert world.bind.bound == [("a", "n1")]

    fakes.play(scenario())
