"""How a preemption is carried out, step by step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, status
from policysched.scheduler import eviction, ports
from tests import builders
from tests.scheduler import fakes

CONDITION = ports.PodCondition(
    "True",
    "PreemptionByScheduler",
    "default-scheduler: preempting to accommodate a higher priority pod",
)
P = "uid-default-p"


def event(victim: str, suffix: str = "") -> tuple[str, ...]:
    """Return the event on a victim, as kube-scheduler words it."""
    note = f"Preempted by pod {P} on node n1{suffix}"
    return (f"default/{victim}", "Normal", "Preempted", "Preempting", note, "default-scheduler")


def preempted_events(world: fakes.World) -> list[tuple[str, ...]]:
    """Return the events on victims."""
    return [one for one in world.recorder.events if one[2] == "Preempted"]


def full_world(*victims: str) -> fakes.World:
    """Return a node `n1` full of pods that `p` may take the place of."""
    world = fakes.World()
    world.add_node("n1", pods=len(victims))
    for name in victims:
        world.add_pod(builders.make_pod(name).node("n1"))
    world.preempts.script["p"] = [("n1", victims)]
    return world


async def preempt(world: fakes.World) -> None:
    """Let `p` come and find that it does not fit."""
    world.add_pod(builders.make_pod("p").priority(9))
    await world.settle()


class TestVictims:
    """Who is evicted, and who hears of it."""

    def test_victims_are_marked_deleted_and_told(self) -> None:
        """Every victim gets its condition, is deleted, and an event names the preemptor."""

        async def scenario() -> None:
            world = full_world("a", "b", "c")
            await preempt(world)
            assert world.evictor.evicted == [(name, CONDITION) for name in "abc"]
            assert preempted_events(world) == [event(name) for name in "abc"]
            assert world.scheduler.counters.victims == {"default-scheduler": 3}

        fakes.play(scenario())

    def test_the_preemptor_is_nominated(self) -> None:
        """The node is noted in memory at once, and in the API with the condition."""

        async def scenario() -> None:
            world = full_world("a")
            await preempt(world)
            told = ports.PodCondition(
                "False", "Unschedulable", "0/1 nodes are available: 1 Too many pods."
            )
            assert world.recorder.conditions == [("default/p", told, "n1")]
            assert world.queue.nominator.get_nominated_node(P) == "n1"

        fakes.play(scenario())

    def test_the_last_one_is_evicted_when_the_others_are(self) -> None:
        """All but the last victim go at the same time, the last one after them."""

        async def scenario() -> None:
            world = full_world("a", "b", "c")
            held = world.evictor.holds["a"] = asyncio.Event()
            await preempt(world)
            assert world.evictor.begun == ["a", "b"]
            held.set()
            await world.settle()
            assert world.evictor.begun == ["a", "b", "c"]

        fakes.play(scenario())

    def test_not_all_at_once(self) -> None:
        """Victims of a large pod do not flood the API server."""

        async def scenario() -> None:
            names = [f"v{number:02}" for number in range(30)]
            world = full_world(*names)
            held = world.evictor.holds["v00"] = asyncio.Event()
            for name in names:
                world.evictor.holds[name] = held
            await preempt(world)
            assert len(world.evictor.begun) == eviction.MAX_PARALLEL_EVICTIONS
            held.set()
            await world.settle()
            assert sorted(world.evictor.begun) == names

        fakes.play(scenario())

    def test_one_preemptor_does_not_delay_another(self) -> None:
        """However many evictions hang for one pod, the victims of the next one go."""

        async def scenario() -> None:
            names = [f"v{number:02}" for number in range(3 * eviction.MAX_PARALLEL_EVICTIONS)]
            world = full_world(*names)
            hanging = asyncio.Event()
            world.evictor.holds = dict.fromkeys(names, hanging)
            await preempt(world)
            world.add_node("n2")
            world.add_pod(builders.make_pod("z").node("n2"))
            world.preempts.script["q"] = [("n2", ("z",))]
            world.add_pod(builders.make_pod("q").priority(9))
            await world.settle()
            assert [name for name, _ in world.evictor.evicted] == ["z"]
            hanging.set()
            await world.settle()

        fakes.play(scenario())

    def test_those_that_go_already_are_left_alone(self) -> None:
        """A terminating victim is not deleted again; without others there is nothing to do."""

        async def scenario() -> None:
            world = full_world("a", "b")
            world.terminate("a")
            await preempt(world)
            assert world.evictor.begun == ["b"]
            world.terminate("b")
            world.scheduler.queue.activate([P])
            await world.settle()
            assert world.preempts.asked == ["p", "p"]
            assert world.evictor.begun == ["b"]
            assert not world.scheduler.preemptions.is_running(P)

        fakes.play(scenario())

    def test_one_that_is_gone_is_no_failure(self) -> None:
        """A victim that somebody else deleted has made room; there is nobody to tell."""

        async def scenario() -> None:
            world = full_world("a", "b")
            world.evictor.gone.add("a")
            await preempt(world)
            assert [name for name, _ in world.evictor.evicted] == ["b"]
            assert preempted_events(world) == [event("b")]

        fakes.play(scenario())


class TestOnTheirWay:
    """Victims that have a place and are not bound yet."""

    def test_one_that_waits_for_permit_is_turned_away(self) -> None:
        """It is not deleted but goes back to the queue, and the preemptor takes its place."""

        async def scenario() -> None:
            wait = status.Status(status.Code.WAIT)
            scripted = fakes.Scripted(permit_answer=wait)
            world = fakes.World(scripted)
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert world.where("a") == "assumed"
            scripted.permit_answer = status.SUCCESS
            world.preempts.script["p"] = [("n1", ("a",))]
            await preempt(world)
            assert world.evictor.begun == []
            assert preempted_events(world) == [event("a", " (in kube-scheduler memory).")]
            failed = world.recorder.conditions[-1]
            message = "waiting on permit for pod: preempted"
            assert failed == (
                "default/a",
                ports.PodCondition("False", "SchedulerError", message),
                "",
            )
            await world.settle()
            assert (world.where("p"), world.where("a")) == ("assumed", "backoff")
            assert world.bind.bound == [("p", "n1")]

        fakes.play(scenario())

    def test_one_whose_pre_bind_is_at_work_is_stopped(self) -> None:
        """Its plugins are cancelled and give back what they took."""

        async def scenario() -> None:
            slow = SlowPreBind("a")
            world = fakes.World(slow)
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert slow.calls == ["begun"]
            world.preempts.script["p"] = [("n1", ("a",))]
            await preempt(world)
            await world.settle()
            assert slow.calls == ["begun", "cancelled", "unreserved"]
            assert world.evictor.begun == []
            assert world.where("a") == "backoff"
            assert world.bind.bound == [("p", "n1")]

        fakes.play(scenario())

    def test_one_that_is_being_bound_is_deleted(self) -> None:
        """It is too late to take the binding back."""

        async def scenario() -> None:
            world = fakes.World()
            world.bind.hold = asyncio.Event()
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            world.preempts.script["p"] = [("n1", ("a",))]
            await preempt(world)
            assert [name for name, _ in world.evictor.evicted] == ["a"]
            world.bind.hold.set()
            await world.settle()

        fakes.play(scenario())


class SlowPreBind:
    """Has endless work for one pod, in PreBind."""

    name = "SlowPreBind"

    def __init__(self, pod_name: str) -> None:
        self._pod_name = pod_name
        self.calls: list[str] = []

    def pre_bind_pre_flight(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Skip all other pods."""
        return status.SUCCESS if pod.pod.metadata.name == self._pod_name else status.SKIP

    async def pre_bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Work until cancelled."""
        self.calls.append("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.calls.append("cancelled")
            raise
        return status.SUCCESS

    def reserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Promise something."""
        return status.SUCCESS

    def unreserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Take the promise back."""
        self.calls.append("unreserved")


class TestGate:
    """The preemptor waits until its victims go, and not longer."""

    def test_closed_while_victims_are_evicted(self) -> None:
        """The end of one victim does not let the preemptor in while others are still running."""

        async def scenario() -> None:
            world = full_world("a", "b")
            held = world.evictor.holds["b"] = asyncio.Event()
            await preempt(world)
            world.delete("a")
            await world.settle()
            assert world.preempts.asked == ["p"]
            assert world.where("p") == "unschedulable"
            held.set()
            await world.settle()
            world.terminate("b")
            world.delete("b")
            await world.settle()
            assert world.bind.bound == [("p", "n1")]

        fakes.play(scenario())

    def test_open_when_the_watch_is_faster_than_the_call(self) -> None:
        """The last victim's deletion wakes the preemptor, though its call has not come back."""

        async def scenario() -> None:
            world = full_world("a", "b")
            world.evictor.holds["b"] = asyncio.Event()
            await preempt(world)
            world.delete("a")
            world.delete("b")
            await world.settle()
            assert world.bind.bound == [("p", "n1")]
            world.evictor.holds["b"].set()
            await world.settle()

        fakes.play(scenario())

    def test_closed_until_the_watch_shows_victims_go(self) -> None:
        """What else happens meanwhile makes the preemptor choose no other victims."""

        async def scenario() -> None:
            world = full_world("a")
            world.preempts.script["p"].append(("n2", ("z",)))
            await preempt(world)
            assert world.evictor.begun == ["a"]
            world.add_node("n2", pods=0)
            await world.settle()
            assert world.preempts.asked == ["p"]
            world.terminate("a")
            world.delete("a")
            await world.settle()
            assert world.bind.bound == [("p", "n1")]

        fakes.play(scenario())

    def test_a_preemptor_woken_in_vain_is_tried_again(self) -> None:
        """When all victims end while it is gated, nothing would wake it any more."""

        async def scenario() -> None:
            world = full_world("a", "b")
            held = world.evictor.holds["a"] = asyncio.Event()
            await preempt(world)
            world.evictor.gone.add("b")
            world.delete("b")
            world.delete("a")
            await world.settle()
            assert world.bind.bound == []
            held.set()
            await world.settle()
            await world.settle()
            assert world.bind.bound == [("p", "n1")]

        fakes.play(scenario())

    def test_the_nominated_node_is_tried_before_the_api_shows_it(self) -> None:
        """An attempt goes by the nomination in memory, however slow the API server is."""

        async def scenario() -> None:
            world = full_world("a")
            world.add_node("n0", pods=0)
            await preempt(world)
            world.terminate("a")
            world.delete("a")
            queued = world.queue.pop()
            assert queued is not None
            assert queued.info.pod.status.nominated_node_name == "n1"
            world.queue.add_unschedulable(queued)

        fakes.play(scenario())


class TestFailures:
    """Evictions that do not succeed."""

    def test_the_rest_is_left_alone_and_the_preemptor_tried_again(self) -> None:
        """After backoff the preemptor finds out anew who has to go."""

        async def scenario() -> None:
            world = full_world("a", "b")
            world.evictor.failures = 1
            await preempt(world)
            assert (world.evictor.begun, world.evictor.evicted) == (["a"], [])
            assert world.scheduler.counters.failed_evictions == 1
            assert world.where("p") == "backoff"
            await world.settle()
            assert world.preempts.asked == ["p"]
            world.clock.advance(3)
            await world.settle()
            assert world.preempts.asked == ["p", "p"]
            assert [name for name, _ in world.evictor.evicted] == ["a", "b"]

        fakes.play(scenario())

    def test_nobody_is_evicted_twice(self) -> None:
        """Who is gone after the first attempt, though the watch is late, is left alone."""

        async def scenario() -> None:
            world = full_world("a", "b")
            held = world.evictor.holds["b"] = asyncio.Event()
            await preempt(world)
            world.evictor.failures = 1
            held.set()
            await world.settle()
            world.clock.advance(3)
            await world.settle()
            assert world.preempts.asked == ["p", "p"]
            assert world.evictor.begun == ["a", "b", "b"]
            assert preempted_events(world) == [event("a"), event("b")]

        fakes.play(scenario())

    @pytest.mark.parametrize(
        "was_there", [pytest.param(True, id="deleted"), pytest.param(False, id="said to be gone")]
    )
    def test_a_victim_that_stays_is_evicted_again(self, was_there: bool) -> None:
        """A preemptor waits for the watch, but not for ever for a pod that goes on being shown."""

        async def scenario() -> None:
            world = full_world("a")
            if not was_there:
                world.evictor.gone.add("a")
            await preempt(world)
            world.scheduler.queue.activate([P])
            await world.settle()
            assert (world.where("p"), world.evictor.begun) == ("unschedulable", ["a"])
            world.evictor.gone.clear()
            world.clock.advance(eviction.SHOWN_WITHIN_SECONDS)
            world.scheduler.queue.activate([P])
            await world.settle()
            assert world.evictor.begun == ["a", "a"]
            assert world.evictor.evicted[-1][0] == "a"

        fakes.play(scenario())

    def test_another_preemptor_evicts_one_that_was_said_to_be_gone(self) -> None:
        """What was not deleted by us, and is still shown, is not taken for deleted."""

        async def scenario() -> None:
            world = full_world("a")
            world.evictor.gone.add("a")
            await preempt(world)
            world.evictor.gone.clear()
            world.preempts.script["q"] = [("n1", ("a",))]
            world.add_pod(builders.make_pod("q").priority(10))
            await world.settle()
            assert [name for name, _ in world.evictor.evicted] == ["a"]

        fakes.play(scenario())

    def test_one_failure_among_several_counts(self) -> None:
        """It does not matter that another eviction, begun at the same time, succeeds later."""

        async def scenario() -> None:
            world = full_world("a", "b", "c")
            for name in "ab":
                world.evictor.holds[name] = asyncio.Event()
            await preempt(world)
            world.evictor.failures = 1
            world.evictor.holds["a"].set()
            await world.settle()
            world.evictor.holds["b"].set()
            await world.settle()
            assert world.evictor.begun == ["a", "b"]
            assert world.where("p") == "backoff"

        fakes.play(scenario())

    def test_a_server_that_always_fails_is_asked_ever_more_rarely(self) -> None:
        """Backoff grows from failure to failure."""

        async def scenario() -> None:
            world = full_world("a")
            world.evictor.failures = 1000
            await preempt(world)
            for _ in range(120):
                world.clock.advance(1)
                await world.settle()
            assert 10 <= len(world.preempts.asked) <= 20

        fakes.play(scenario())

    def test_a_bug_does_not_gate_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever an evictor raises, its preemptor is tried again."""

        async def scenario() -> None:
            world = full_world("a")

            async def broken(_victim: object, _condition: object) -> bool:
                raise ZeroDivisionError

            monkeypatch.setattr(world.evictor, "evict", broken)
            await preempt(world)
            assert not world.scheduler.preemptions.is_running(P)
            assert world.where("p") == "backoff"

        fakes.play(scenario())

    def test_stopping_waits_for_no_eviction_without_end(self) -> None:
        """An eviction that hangs is given up when the process ends."""

        async def scenario() -> None:
            world = full_world("a")
            world.evictor.holds["a"] = asyncio.Event()
            await preempt(world)
            await world.scheduler.stop(grace_seconds=0.01)
            assert not world.scheduler.preemptions.is_running(P)

        fakes.play(scenario())


class TestMeanwhile:
    """What becomes of the preemptor while its victims are being evicted."""

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param(lambda world: world.delete("p"), id="deleted"),
            pytest.param(lambda world: world.terminate("p"), id="terminating"),
            pytest.param(lambda world: world.confirm("p", "n7"), id="bound by another"),
        ],
    )
    def test_nobody_goes_for_one_that_does_not_wait(
        self, change: Callable[[fakes.World], None]
    ) -> None:
        """Victims whose eviction has not begun stay."""

        async def scenario() -> None:
            world = full_world("a", "b", "c")
            held = world.evictor.holds["a"] = asyncio.Event()
            await preempt(world)
            change(world)
            held.set()
            await world.settle()
            assert world.evictor.begun == ["a", "b"]
            assert not world.scheduler.preemptions.is_running(P)

        fakes.play(scenario())

    def test_it_is_deleted_before_anything_happened(self) -> None:
        """No victim goes for a pod that was gone as soon as it was found not to fit."""

        async def scenario() -> None:
            world = full_world("a")
            pod = world.add_pod(builders.make_pod("p").priority(9))
            assert world.scheduler.schedule_one()
            world.pods.delete(pod)
            await world.settle()
            assert world.evictor.begun == []

        fakes.play(scenario())


class TestNominations:
    """Other pods that are nominated to the node."""

    def test_less_important_ones_lose_the_node(self) -> None:
        """They are told so and look elsewhere; equal and more important ones keep it."""

        async def scenario() -> None:
            world = full_world("a")
            for name, priority in (("low", 5), ("equal", 9), ("high", 10)):
                world.add_pod(builders.make_pod(name).priority(priority).nominated("n1"))
            await world.settle()
            await preempt(world)
            assert world.recorder.nominations == [("default/low", "")]
            on_node = [
                info.pod.metadata.name for info in world.queue.nominator.get_nominated_pods("n1")
            ]
            assert sorted(on_node) == ["equal", "high", "p"]
            assert world.where("low") == "backoff"

        fakes.play(scenario())

    def test_pods_nominated_before_a_restart_are_so_after_it(self) -> None:
        """The nomination stands in the pod, so a new process knows it from its first list."""
        world = fakes.World()
        world.pods.replace([builders.make_pod("p").nominated("n1").build()])
        assert world.queue.nominator.get_nominated_node(P) == "n1"
