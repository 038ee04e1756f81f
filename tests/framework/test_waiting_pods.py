"""Pods held back at Permit."""

from __future__ import annotations

import asyncio

import pytest

from policysched import clock as clocks
from policysched.cluster.pods import pod_shape
from policysched.framework import status, waiting_pods
from tests import builders

POD = pod_shape.PodShapeCache().make_pod_info(builders.make_pod("a").build())


class Waiting:
    """One pod that waits for some plugins."""

    def __init__(self, **waits_seconds: float) -> None:
        """Let the pod wait; needs a running event loop."""
        self.clock = clocks.ManualClock(builders.EPOCH)
        self.pods = waiting_pods.WaitingPods(self.clock)
        self.pods.add(POD, "n1", waits_seconds)
        self.answer = asyncio.ensure_future(self.pods.wait(POD.uid))


def test_all_plugins_have_to_allow() -> None:
    """The pod goes on when the last plugin that delayed it has allowed it."""

    async def scenario() -> None:
        waiting = Waiting(one=10.0, two=10.0)
        assert waiting.pods.allow(POD.uid, "one")
        await asyncio.sleep(0)
        assert not waiting.answer.done()
        assert [pod.node_name for pod in waiting.pods] == ["n1"]
        assert waiting.pods.allow(POD.uid, "two")
        assert await waiting.answer == status.SUCCESS
        assert waiting.pods.get(POD.uid) is None

    asyncio.run(scenario())


def test_the_first_answer_counts() -> None:
    """A pod that was rejected is not allowed afterwards, nor rejected again."""

    async def scenario() -> None:
        waiting = Waiting(one=10.0)
        assert waiting.pods.reject(POD.uid, "one", "no quota")
        assert not waiting.pods.reject(POD.uid, "one", "still none")
        waiting.pods.allow(POD.uid, "one")
        assert await waiting.answer == status.unschedulable("one", "no quota")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "asked_seconds, deadline_seconds",
    [
        pytest.param({"one": 10.0, "two": 5.0}, 5.0, id="the shortest wait"),
        pytest.param({"one": 1e9}, 900.0, id="never more than 15 minutes"),
    ],
)
def test_deadlines(asked_seconds: dict[str, float], deadline_seconds: float) -> None:
    """The wait ends by the clock, with the plugin that had no more time as the rejector."""

    async def scenario() -> None:
        waiting = Waiting(**asked_seconds)
        assert waiting.pods.next_deadline_seconds() == deadline_seconds
        waiting.clock.advance(deadline_seconds - 1)
        waiting.pods.expire()
        await asyncio.sleep(0)
        assert not waiting.answer.done()
        waiting.clock.advance(1)
        waiting.pods.expire()
        answer = await waiting.answer
        assert answer.plugin == min(asked_seconds, key=lambda plugin: asked_seconds[plugin])
        assert answer.reasons[0].startswith("rejected due to timeout after waiting")
        assert waiting.pods.next_deadline_seconds() is None

    asyncio.run(scenario())


def test_a_pod_that_does_not_wait_is_allowed() -> None:
    """Nobody delayed it, so there is nothing to wait for."""
    pods = waiting_pods.WaitingPods(clocks.ManualClock(builders.EPOCH))
    assert asyncio.run(pods.wait("unknown")) == status.SUCCESS
    assert not pods.allow("unknown", "one")


def test_cancelling_ends_all_waits() -> None:
    """When the scheduler stops, whoever awaits a pod is cancelled."""

    async def scenario() -> None:
        waiting = Waiting(one=10.0)
        waiting.pods.cancel_all()
        with pytest.raises(asyncio.CancelledError):
            await waiting.answer
        assert len(waiting.pods) == 0

    asyncio.run(scenario())
