"""A pod's way through the loop, and what is undone when it goes wrong."""

from __future__ import annotations

import asyncio

import pytest

from policysched.cluster.objects import objects
from policysched.framework import status
from policysched.scheduler import counters, ports
from tests import builders
from tests.scheduler import fakes

WAIT = status.Status(status.Code.WAIT)
ROOM = "0/1 nodes are available: 1 Too many pods."


class TestSuccess:
    """Pods that fit."""

    def test_a_pod_is_bound_and_its_owner_told(self) -> None:
        """The pod is assumed, bound, confirmed by the watch, and an event says where it went."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert world.bind.bound == [("a", "n1")]
            assert world.where("a") == "assumed"
            world.confirm("a", "n1")
            assert world.where("a") == "placed"
            assert world.recorder.events == [
                (
                    "default/a",
                    "Normal",
                    "Scheduled",
                    "Binding",
                    "Successfully assigned default/a to n1",
                    "default-scheduler",
                )
            ]
            assert world.recorder.conditions == []
            scheduled = ("default-scheduler", counters.AttemptResult.SCHEDULED)
            assert world.scheduler.counters.attempts == {scheduled: 1}

        fakes.play(scenario())

    def test_the_event_names_the_policies(self) -> None:
        """With policies, profile, policies and hash stand behind kube-scheduler's text."""

        async def scenario() -> None:
            world = fakes.World(policies=("web-tier", "gpu-batch"))
            world.add_pod("a")
            world.add_node("n1")
            await world.settle()
            (note,) = world.recorder.notes
            assert note == (
                "Successfully assigned default/a to n1"
                " (default-scheduler: web-tier, gpu-batch; 3f2a91c0)"
            )

        fakes.play(scenario())

    def test_the_next_pod_sees_the_one_before(self) -> None:
        """A place is taken as soon as it is chosen, before the binding is made."""

        async def scenario() -> None:
            world = fakes.World()
            world.bind.hold = asyncio.Event()
            world.add_node("n1")
            world.add_node("n2")
            for name in ("a", "b", "c"):
                world.add_pod(name)
            await world.settle()
            assert [world.where(name) for name in ("a", "b", "c")] == [
                "assumed",
                "assumed",
                "unschedulable",
            ]
            assert world.scheduler.bindings_in_flight == 2
            world.bind.hold.set()
            await world.settle()
            assert sorted(world.bind.bound) == [("a", "n1"), ("b", "n2")]

        fakes.play(scenario())

    def test_decisions_are_kept(self) -> None:
        """The log says where each pod went or why it did not, and listeners hear of it."""

        async def scenario() -> None:
            world = fakes.World()
            heard: list[tuple[str, str | None, int]] = []
            world.scheduler.decisions.listeners.append(
                lambda decision, result, snap: heard.append(
                    (decision.pod, result.node_name, snap.node_count)
                )
            )
            world.add_node("n1")
            world.add_pod("a")
            world.add_pod("b")
            await world.settle()
            assert heard == [("default/a", "n1", 1), ("default/b", None, 1)]
            found = world.scheduler.decisions.find_latest_decision("default/b")
            assert found is not None
            assert (found.node_name, found.message, found.attempt) == (None, ROOM, 1)
            assert world.scheduler.decisions.find_latest_decision("default/x") is None

        fakes.play(scenario())


class TestDoesNotFit:
    """Pods that fit nowhere."""

    def test_condition_event_and_queue(self) -> None:
        """The owner learns why; the pod waits for what may help and is bound when it comes."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1", pods=0)
            world.add_pod("a")
            await world.settle()
            assert world.recorder.conditions == [
                ("default/a", ports.PodCondition("False", "Unschedulable", ROOM), None)
            ]
            assert world.recorder.events == [
                (
                    "default/a",
                    "Warning",
                    "FailedScheduling",
                    "Scheduling",
                    ROOM,
                    "default-scheduler",
                )
            ]
            assert world.where("a") == "unschedulable"
            for number in range(100):
                world.nodes.upsert(
                    builders.make_node("n1").capacity(pods=0).labels(x=str(number)).build()
                )
                await world.settle()
            assert len(world.recorder.events) == 1
            world.add_node("n2")
            await world.settle()
            assert world.bind.bound == [("a", "n2")]

        fakes.play(scenario())

    @pytest.mark.parametrize(
        "is_shown", [pytest.param(True, id="shown"), pytest.param(False, id="still on its way")]
    )
    def test_a_condition_is_not_written_twice(self, is_shown: bool) -> None:
        """The same condition is not written again, whether the watch has shown it or not."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1", pods=0)
            pod = builders.make_pod("a")
            world.add_pod(pod)
            await world.settle()
            condition = objects.Condition(
                type="PodScheduled", status="False", reason="Unschedulable", message=ROOM
            )
            if is_shown:
                world.add_pod(pod.status(conditions=(condition,)))
            world.queue.activate(["uid-default-a"])
            await world.settle()
            assert (len(world.recorder.events), len(world.recorder.conditions)) == (2, 1)

        fakes.play(scenario())

    def test_another_reason_is_written(self) -> None:
        """A new message replaces the old one."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1", pods=0)
            world.add_pod("a")
            await world.settle()
            world.add_node("n2", pods=0)
            await world.settle()
            messages = [condition.message for _, condition, _ in world.recorder.conditions]
            assert messages == [ROOM, "0/2 nodes are available: 2 Too many pods."]

        fakes.play(scenario())

    def test_evidence_stands_in_the_event_only(self) -> None:
        """Values differ with each attempt; the condition is written once, the event is told all."""

        async def scenario() -> None:
            plugin = fakes.Sees()
            world = fakes.World(plugin)
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            plugin.value = 97
            world.nodes.upsert(builders.make_node("n1").labels(changed="yes").build())
            world.clock.advance(10)
            await world.settle()
            rejected = "0/1 nodes are available: 1 too busy."
            assert [c.message for _, c, _ in world.recorder.conditions] == [rejected]
            assert world.recorder.notes == [f"{rejected} saw 81%", f"{rejected} saw 97%"]
            assert world.recorder.compared == [rejected, rejected]

        fakes.play(scenario())

    def test_without_nodes_it_is_retried(self) -> None:
        """Nobody rejected the pod, so it is tried again after backoff (ErrNoNodesAvailable)."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_pod("a")
            await world.settle()
            _, condition, _ = world.recorder.conditions[0]
            assert condition.reason == "Unschedulable"
            assert condition.message == "no nodes available to schedule pods"
            assert world.where("a") == "backoff"

        fakes.play(scenario())

    def test_a_long_message_is_cut_in_the_event_only(self) -> None:
        """Notes end at 1,024 bytes with their provenance; the condition has everything."""

        async def scenario() -> None:
            reason = "ü" * 1000
            plugin = fakes.Scripted(reserve_answer=status.unschedulable("", reason))
            world = fakes.World(plugin, policies=("p",))
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            _, condition, _ = world.recorder.conditions[0]
            assert reason in condition.message
            (note,) = world.recorder.notes
            assert 1020 <= len(note.encode()) <= 1024
            assert note.endswith("ü ... (default-scheduler: p; 3f2a91c0)")

        fakes.play(scenario())


class TestUndo:
    """What was assumed is given back."""

    @pytest.mark.parametrize(
        "plugin, place, reason, message, calls",
        [
            pytest.param(
                fakes.Scripted(reserve_answer=status.unschedulable("", "no volume")),
                "unschedulable",
                "Unschedulable",
                "0/1 nodes are available: 1 no volume.",
                ["pre_filter", "reserve", "unreserve"],
                id="reserve rejects",
            ),
            pytest.param(
                fakes.Scripted(reserve_answer=status.Status(fakes.ERROR, ("broken",))),
                "backoff",
                "SchedulerError",
                'running Reserve plugin "Scripted": broken',
                ["pre_filter", "reserve", "unreserve"],
                id="reserve fails",
            ),
            pytest.param(
                fakes.Scripted(permit_answer=status.unschedulable("", "not now")),
                "unschedulable",
                "Unschedulable",
                "0/1 nodes are available: 1 not now.",
                ["pre_filter", "reserve", "permit", "unreserve"],
                id="permit rejects",
            ),
            pytest.param(
                fakes.Scripted(pre_bind_answer=status.Status(fakes.ERROR, ("no disk",))),
                "backoff",
                "SchedulerError",
                'running PreBind plugin "Scripted": no disk',
                ["pre_filter", "reserve", "permit", "pre_bind", "unreserve"],
                id="pre-bind fails",
            ),
            pytest.param(
                fakes.Scripted(raises_at="reserve"),
                "backoff",
                "SchedulerError",
                "plugin `Scripted` failed at Reserve: RuntimeError: reserve",
                ["pre_filter", "reserve", "unreserve"],
                id="a plugin breaks at reserve",
            ),
            pytest.param(
                fakes.Scripted(raises_at="pre_filter"),
                "backoff",
                "SchedulerError",
                "plugin `Scripted` failed at PreFilter: RuntimeError: pre_filter",
                ["pre_filter"],
                id="a plugin breaks while scheduling",
            ),
            pytest.param(
                fakes.Scripted(raises_at="pre_bind"),
                "backoff",
                "SchedulerError",
                "plugin `Scripted` failed at PreBind: RuntimeError: pre_bind",
                ["pre_filter", "reserve", "permit", "pre_bind", "unreserve"],
                id="a plugin breaks while binding",
            ),
        ],
    )
    def test_after_a_failure(
        self, plugin: fakes.Scripted, place: str, reason: str, message: str, calls: list[str]
    ) -> None:
        """The place is free again, the pod is requeued, its owner told."""

        async def scenario() -> None:
            plugin.calls.clear()
            world = fakes.World(plugin)
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert world.where("a") == place
            assert world.cache.pod_count == 0
            assert world.queue.in_flight_count == 0
            assert [c for _, c, _ in world.recorder.conditions] == [
                ports.PodCondition("False", reason, message)
            ]
            assert plugin.calls == calls

        fakes.play(scenario())

    @pytest.mark.parametrize(
        "method, answer, message",
        [
            ("pre_filter", status.SKIP, "failed at PreFilter: it must answer PreFilterResult"),
            ("filter", None, "failed at Filter: it must answer NodeStatuses"),
            ("reserve", None, "failed at Reserve: it must answer Status"),
            ("reserve", status.SKIP, 'running Reserve plugin "Odd": it answered Skip'),
            ("permit", status.SUCCESS, "failed at Permit: it must answer (Status, seconds)"),
            ("pre_bind_pre_flight", None, "failed at PreBindPreFlight: it must answer Status"),
            ("pre_bind", status.SUCCESS, "failed at PreBind: its method must be an `async def`"),
            ("bind", None, "failed at Bind: its method must be an `async def`"),
        ],
    )
    def test_a_wrong_answer_costs_one_attempt(
        self, method: str, answer: object, message: str
    ) -> None:
        """The pod is tried again after backoff, nothing stays claimed, and others are scheduled."""

        async def scenario() -> None:
            plugin = fakes.Odd(method, answer)
            world = fakes.World(plugin)
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert world.where("a") == "backoff"
            assert (world.cache.pod_count, world.queue.in_flight_count) == (0, 0)
            (note,) = world.recorder.notes
            assert message in note
            plugin.recover()
            world.clock.advance(2)
            await world.settle()
            assert world.bind.bound == [("a", "n1")]

        fakes.play(scenario())

    @pytest.mark.parametrize("answer", [None, True, (status.SUCCESS, 0)], ids=repr)
    def test_a_wrong_answer_before_the_queue_costs_a_backoff(self, answer: object) -> None:
        """PreEnqueue is asked again."""

        async def scenario() -> None:
            plugin = fakes.Odd("pre_enqueue", answer)
            world = fakes.World(plugin)
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert world.where("a") == "backoff"
            plugin.recover()
            world.clock.advance(4)
            await world.settle()
            assert world.bind.bound == [("a", "n1")]

        fakes.play(scenario())

    def test_a_refused_binding_is_tried_again(self) -> None:
        """After its backoff the pod is bound; others were told of the free place."""

        async def scenario() -> None:
            world = fakes.World()
            world.bind.refusals.append("etcd is busy")
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            message = 'running Bind plugin "DefaultBinder": etcd is busy'
            assert world.recorder.notes == [message]
            assert world.where("a") == "backoff"
            world.clock.advance(2)
            await world.settle()
            assert world.bind.bound == [("a", "n1")]
            assert world.scheduler.counters.undone == {"default-scheduler": 1}

        fakes.play(scenario())

    def test_a_free_place_wakes_others(self) -> None:
        """A pod that did not fit because of an assumption is tried when that is undone."""

        async def scenario() -> None:
            world = fakes.World()
            world.bind.hold = asyncio.Event()
            world.bind.refusals.append("etcd is busy")
            world.add_node("n1")
            world.add_pod("a")
            world.add_pod("b")
            await world.settle()
            assert world.where("b") == "unschedulable"
            world.bind.hold.set()
            await world.settle()
            assert (world.where("a"), world.where("b")) == ("backoff", "backoff")
            await world.settle()
            assert world.bind.bound == [("b", "n1")]

        fakes.play(scenario())

    def test_a_plugin_that_breaks_after_the_binding_changes_nothing(self) -> None:
        """The pod is bound, whatever PostBind does."""

        async def scenario() -> None:
            world = fakes.World(fakes.Scripted(raises_at="post_bind"))
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert world.where("a") == "assumed"
            assert world.recorder.notes == ["Successfully assigned default/a to n1"]

        fakes.play(scenario())


class TestPermit:
    """Pods that wait."""

    def test_allow(self) -> None:
        """A waiting pod holds its place and is bound when it is allowed."""

        async def scenario() -> None:
            world = fakes.World(fakes.Scripted(permit_answer=WAIT))
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert (world.where("a"), world.bind.bound) == ("assumed", [])
            assert world.scheduler.bindings_in_flight == 0
            assert not world.waiting.allow("uid-default-x", "Scripted")
            assert world.waiting.allow("uid-default-a", "Scripted")
            await world.settle()
            assert world.bind.bound == [("a", "n1")]
            assert len(world.waiting) == 0

        fakes.play(scenario())

    def test_timeout(self) -> None:
        """A pod that nobody allows in time is rejected and waits for an event."""

        async def scenario() -> None:
            world = fakes.World(fakes.Scripted(permit_answer=WAIT, wait_seconds=30.0))
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert world.scheduler.next_timer_seconds() == 30.0
            world.clock.advance(30)
            await world.settle()
            assert world.where("a") == "unschedulable"
            assert world.cache.pod_count == 0
            (note,) = world.recorder.notes
            assert note == (
                "0/1 nodes are available: 1 rejected due to timeout after waiting 30s"
                " at plugin Scripted."
            )

        fakes.play(scenario())

    def test_a_missed_event_is_remembered(self) -> None:
        """What happens during the wait counts when the pod is rejected in the end."""

        async def scenario() -> None:
            world = fakes.World(fakes.Scripted(permit_answer=WAIT))
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            world.add_node("n2")
            world.waiting.reject("uid-default-a", "Scripted", "no")
            for _ in range(5):
                await asyncio.sleep(0)
            assert world.where("a") == "backoff"

        fakes.play(scenario())


class TestChangesMeanwhile:
    """Pods that are deleted or bound by others."""

    def test_deleted_while_it_is_bound(self) -> None:
        """The place is free at once; the binding fails later and the pod is dropped in silence."""

        async def scenario() -> None:
            world = fakes.World()
            world.bind.hold = asyncio.Event()
            world.bind.refusals.append('pods "a" not found')
            world.add_node("n1")
            pod = world.add_pod("a")
            world.add_pod("b")
            await world.settle()
            world.pods.delete(pod)
            assert world.where("a") == "gone"
            await world.settle()
            assert world.where("b") == "assumed"
            world.bind.hold.set()
            await world.settle()
            assert world.bind.bound == [("b", "n1")]
            assert world.where("a") == "gone"
            assert world.queue.in_flight_count == 0
            assert world.scheduler.counters.gone == 1
            assert not any("not found" in note for note in world.recorder.notes)

        fakes.play(scenario())

    def test_deletion_begins_while_it_is_bound(self) -> None:
        """A terminating pod gives its place back and is not scheduled again."""

        async def scenario() -> None:
            world = fakes.World()
            world.bind.hold = asyncio.Event()
            world.bind.refusals.append("pod is being deleted")
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            world.add_pod(builders.make_pod("a").terminating())
            assert world.cache.pod_count == 0
            world.bind.hold.set()
            await world.settle()
            world.clock.advance(2)
            await world.settle()
            assert world.recorder.notes[-1] == "skip schedule deleting pod: default/a"
            assert world.where("a") == "gone"

        fakes.play(scenario())

    def test_bound_by_another_scheduler_while_queued(self) -> None:
        """The pod leaves the queue and counts where it is."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1", pods=0)
            world.add_pod("a")
            await world.settle()
            world.confirm("a", "n1")
            assert (world.where("a"), world.queue.list_waiting_pods()) == ("placed", [])

        fakes.play(scenario())

    def test_bound_elsewhere_while_it_is_bound(self) -> None:
        """What the watch says wins; the conflict of our own binding changes nothing."""

        async def scenario() -> None:
            world = fakes.World()
            world.bind.hold = asyncio.Event()
            world.bind.refusals.append("already assigned")
            world.add_node("n1")
            world.add_node("n2")
            world.add_pod("a")
            await world.settle()
            world.confirm("a", "n2")
            world.bind.hold.set()
            await world.settle()
            assert (world.where("a"), world.cache.get_node_of_pod("uid-default-a")) == (
                "placed",
                "n2",
            )
            assert world.queue.list_waiting_pods() == []
            assert world.recorder.notes == []

        fakes.play(scenario())

    @pytest.mark.parametrize(
        "is_bound", [pytest.param(True, id="bound"), pytest.param(False, id="deleted")]
    )
    def test_while_it_waits_for_permit(self, is_bound: bool) -> None:
        """The wait ends, nothing is left of the assumption."""

        async def scenario() -> None:
            plugin = fakes.Scripted(permit_answer=WAIT)
            world = fakes.World(plugin)
            world.add_node("n1")
            world.add_node("n2")
            pod = world.add_pod("a")
            await world.settle()
            if is_bound:
                world.confirm("a", "n2")
            else:
                world.pods.delete(pod)
            await world.settle()
            assert world.where("a") == ("placed" if is_bound else "gone")
            assert plugin.calls[-1] == "unreserve"
            assert (len(world.waiting), world.queue.in_flight_count) == (0, 0)
            assert world.queue.list_waiting_pods() == []

        fakes.play(scenario())

    def test_the_answer_to_a_binding_is_lost(self) -> None:
        """The pod is requeued, and leaves the queue when the watch shows it bound."""

        async def scenario() -> None:
            world = fakes.World()
            world.bind.refusals.append("timeout")
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert world.where("a") == "backoff"
            world.confirm("a", "n1")
            assert world.where("a") == "placed"
            assert world.queue.list_waiting_pods() == []

        fakes.play(scenario())

    def test_the_newest_version_is_requeued(self) -> None:
        """A pod that changed while it was being scheduled comes back as it is now."""

        async def scenario() -> None:
            world = fakes.World()
            world.bind.hold = asyncio.Event()
            world.bind.refusals.append("busy")
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            world.add_pod(builders.make_pod("a").labels(new="yes"))
            world.bind.hold.set()
            await world.settle()
            queued = world.queue.get("uid-default-a")
            assert queued is not None
            assert queued.info.pod.metadata.labels == {"new": "yes"}

        fakes.play(scenario())


def test_plugins_are_measured_in_a_tenth_of_the_cycles_and_twenty_times_a_second() -> None:
    """At one moment once, however many pods there are; and once more when time has passed."""

    async def scenario() -> None:
        world = fakes.World()
        world.add_node("n1", pods=60)
        samples = []
        for number in range(3):
            for pod in range(20):
                world.add_pod(f"p{number}-{pod}")
            await world.settle()
            measured = world.scheduler.decisions.measured.plugins
            samples.append(sum(sum(found.counts) for _, found in measured))
            world.clock.advance(1.0 * number)
        assert samples == [1, 1, 2]

    fakes.play(scenario())
