"""No pod is lost, doubled or stuck, whatever happens in which order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from policysched.cluster.pods import pod_shape
from policysched.framework import events, queued_pod
from tests import builders, examples
from tests.queue import fakes

NAMES = st.sampled_from([f"p{i}" for i in range(6)])
EVENTS = st.sampled_from(
    [(fakes.NODE_ADD, "Fit"), (fakes.POD_DELETE, "Fit"), (fakes.NODE_LABEL, "Affinity")]
)
REJECTORS = st.lists(st.sampled_from(["Fit", "Affinity"]), max_size=2)


class QueueMachine(RuleBasedStateMachine):
    """A cluster of six names: pods come, change, are tried, fail, are bound and go."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = fakes.Bench()
        self.waiting: dict[str, pod_shape.PodInfo] = {}
        self.in_flight: dict[str, queued_pod.QueuedPodInfo] = {}
        self.missed: dict[str, set[str]] = {}

    def _exists(self, name: str) -> bool:
        return name in self.waiting or name in self.in_flight

    # --- what happens

    @rule(name=NAMES, priority=st.integers(0, 2), gated=st.booleans())
    def add(self, name: str, priority: int, gated: bool) -> None:
        """A pod is created, or listed again."""
        builder = builders.make_pod(name).priority(priority)
        pod = fakes.info(builder.gates("wait") if gated else builder)
        self.bench.queue.add(pod)
        if not self._exists(name):
            self.waiting[name] = pod

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def open_gates(self, data: st.DataObject) -> None:
        """A waiting pod is updated and loses its gates."""
        name = data.draw(st.sampled_from(sorted(self.waiting)))
        old = self.waiting[name]
        new = fakes.info(builders.PodBuilder(old.pod).spec(scheduling_gates=()))
        self.bench.queue.update(old, new, [fakes.GATES_GONE])
        self.waiting[name] = new

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        """A pod is deleted while it waits."""
        self.bench.queue.delete(fakes.uid(name))
        self.waiting.pop(name, None)

    @rule()
    def pop(self) -> None:
        """An attempt begins."""
        queued = self.bench.queue.pop()
        if queued is None:
            return
        name = queued.info.pod.metadata.name
        assert queued.info is self.waiting.pop(name)
        assert not queued.info.pod.spec.scheduling_gates
        self.in_flight[name] = queued
        self.missed[name] = set()

    @rule()
    def find_no_room(self) -> None:
        """A pod that a deletion woke finds its room taken, and waits for the next one."""
        queued = self.bench.queue.pop()
        if queued is None:
            return
        name = queued.info.pod.metadata.name
        if queued.was_woken_by_placed_pods:
            self.bench.queue.return_still_unschedulable(queued, {"Fit"})
            assert self.bench.where(name) == "unschedulable"
        else:
            self.in_flight[name] = queued
            self.missed[name] = set()
            del self.waiting[name]

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), rejectors=REJECTORS)
    def fail(self, data: st.DataObject, rejectors: list[str]) -> None:
        """An attempt fails; the pod comes back, and is not left waiting for a missed event."""
        name = data.draw(st.sampled_from(sorted(self.in_flight)))
        queued = self.in_flight.pop(name)
        self.bench.fail(queued, *rejectors)
        self.waiting[name] = queued.info
        is_stuck = self.bench.where(name) == "unschedulable"
        assert is_stuck == bool(rejectors and not self.missed[name].intersection(rejectors))

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def bind(self, data: st.DataObject) -> None:
        """An attempt succeeds."""
        name = data.draw(st.sampled_from(sorted(self.in_flight)))
        self.bench.queue.done(self.in_flight.pop(name).uid)

    @rule(happening=EVENTS)
    def move(self, happening: tuple[events.ClusterEvent, str]) -> None:
        """Something happens: nobody who waits for it stays behind."""
        event, interested = happening
        self.bench.move(event)
        for missed in self.missed.values():
            missed.add(interested)
        for queued in self.bench.queue._unschedulable.list_pods():
            assert queued.is_gated or interested not in queued.unschedulable_plugins

    @rule(name=NAMES)
    def activate(self, name: str) -> None:
        """A plugin asks for a pod by name."""
        self.bench.queue.activate([fakes.uid(name)])
        if name in self.in_flight:
            self.missed[name] |= {"Fit", "Affinity"}

    @rule(seconds=st.sampled_from([0.3, 1.0, 5.0, 31.0, 400.0]))
    def advance(self, seconds: float) -> None:
        """Time passes: nobody's backoff is over and nobody waits for more than 5.5 minutes."""
        self.bench.advance(seconds)
        now_seconds = self.bench.clock.monotonic_seconds()
        for queued in self.bench.queue._backoff.list_pods():
            assert queued.backoff_until_seconds > now_seconds
        for queued in self.bench.queue._unschedulable.list_pods():
            assert queued.is_gated or now_seconds - queued.timestamp_seconds <= 330.0

    @rule()
    def change_profiles(self) -> None:
        """Policies are replaced: only gated pods go on waiting for an event."""
        self.bench.queue.set_profiles({"default-scheduler": fakes.FakeProfile()})
        for missed in self.missed.values():
            missed |= {"Fit", "Affinity"}
        assert all(queued.is_gated for queued in self.bench.queue._unschedulable.list_pods())

    # --- what holds

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        """Waiting pods are in exactly one queue, pods in flight in none."""
        found = sorted(
            queued.info.pod.metadata.name for queued in self.bench.queue.list_waiting_pods()
        )
        assert found == sorted(self.waiting)
        assert self.bench.queue.in_flight_count == len(self.in_flight)
        assert sum(self.bench.queue.count_pending_pods().values()) == len(self.waiting)

    @invariant()
    def gates_hold(self) -> None:
        """Gated pods, and they alone, are where gated pods wait."""
        for name, pod in self.waiting.items():
            is_gated = self.bench.where(name) == "gated"
            assert is_gated == bool(pod.pod.spec.scheduling_gates)

    @invariant()
    def events_do_not_pile_up(self) -> None:
        """Without pods in flight no event is kept."""
        assert self.in_flight or not self.bench.queue._active._events

    def teardown(self) -> None:
        """Whoever is not gated is scheduled in the end, highest priority first."""
        for queued in self.in_flight.values():
            self.bench.queue.done(queued.uid)
        self.bench.advance(60)
        self.bench.advance(400)
        popped = self.bench.pop_all()
        free = {name for name, pod in self.waiting.items() if not pod.pod.spec.scheduling_gates}
        assert sorted(popped) == sorted(free)
        priorities = [self.waiting[name].shape.priority for name in popped]
        assert priorities == sorted(priorities, reverse=True)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(
    max_examples=examples.scale(100), stateful_step_count=40, deadline=None
)
