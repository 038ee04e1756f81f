"""Pods that a deletion woke, and that are rejected again: another pod has taken the room."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence

import pytest

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, handles, interface, profile, runtime, status
from policysched.plugins import defaults, names, registry
from policysched.queue import queueing_reasons, scheduling_queue
from policysched.scheduler import counters
from tests import builders, seeds
from tests.scheduler import fakes

REPEATED = (scheduling_queue.UNSCHEDULABLE, queueing_reasons.STILL_UNSCHEDULABLE)
FAILED = ("default-scheduler", counters.AttemptResult.UNSCHEDULABLE)
WORLDS, STEPS = 6, 120


class Asks:
    """A third-party PostFilter plugin that could make room in its own way."""

    name = "Asks"

    def post_filter(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: object,
        diagnosis: interface.Diagnosis,
    ) -> interface.PostFilterResult:
        """Make no room."""
        return interface.PostFilterResult(status.unschedulable(self.name))


class FullCluster(fakes.World):
    """A scheduler with the default plugins; the API server is played by `settle`."""

    def __init__(self, *extra: interface.Plugin) -> None:
        super().__init__()
        self.scheduler.set_profiles({"default-scheduler": self.make_framework(*extra)})

    def make_framework(self, *extra: interface.Plugin) -> runtime.Framework:
        """Return a framework of the default plugins that has cached nothing."""
        handle = handles.Handle(
            owners=self.cache.owners,
            preemptions=self.scheduler.preemptions,
            storage=self.cache.storage,
            budgets=self.cache.budgets,
        )
        plugins: list[interface.Plugin] = [*extra, self.bind]
        for default in defaults.DEFAULT_PLUGINS:
            if default.name != names.DEFAULT_BINDER:
                plugin = registry.create_built_in_registry().create_plugin(
                    default.name, None, handle
                )
                assert not isinstance(plugin, registry.PluginCreationError)
                plugins.append(plugin)
        weights = defaults.DEFAULT_WEIGHTS
        return runtime.Framework(
            profile.Profile("default-scheduler", tuple(plugins), weights), None
        )

    def add_full_node(self, name: str, running: builders.PodBuilder) -> None:
        """Let the watch show a node with room for one CPU, which a pod takes."""
        self.nodes.upsert(builders.make_node(name).capacity(cpu="1", pods=110).build())
        self.add_pod(running.requests(cpu="1").node(name))

    async def settle_all(self) -> None:
        """Schedule until nothing changes any more; victims go, and bindings are shown."""
        done = -1
        while done != (done := len(self.bind.bound) + len(self.evictor.evicted)):
            await self.settle()
            for name, node_name in self.bind.bound:
                known = self.pods.current(f"uid-default-{name}")
                if known is not None and not known.pod.spec.node_name:
                    self.pods.upsert(builders.PodBuilder(known.pod).node(node_name).build())
            for name, _ in self.evictor.evicted:
                if self.pods.current(f"uid-default-{name}") is not None:
                    self.delete(name)
        await self.settle()

    @property
    def failed_attempts(self) -> int:
        """The number of attempts that were counted as unschedulable."""
        return self.scheduler.counters.attempts[FAILED]


def one_cpu(name: str) -> builders.PodBuilder:
    """Return a pod that fills a node."""
    return builders.make_pod(name).requests(cpu="1")


def test_the_room_of_one_pod_costs_one_attempt() -> None:
    """Of five equal pods, the first takes the room; the others wait on without an attempt."""

    async def scenario() -> None:
        world = FullCluster()
        world.add_full_node("n1", builders.make_pod("runs"))
        for number in range(5):
            world.add_pod(one_cpu(f"w{number}"))
        await world.settle_all()
        assert world.failed_attempts == 5
        told = len(world.recorder.events), len(world.recorder.conditions)
        world.delete("runs")
        await world.settle_all()
        assert world.bind.bound == [("w0", "n1")]
        assert world.failed_attempts == 5
        assert world.queue.incoming[REPEATED] == 4
        assert (len(world.recorder.events), len(world.recorder.conditions)) == (
            told[0] + 1,
            told[1],
        )
        queued = world.queue.get("uid-default-w1")
        assert queued is not None
        assert (queued.attempts, queued.unschedulable_count) == (1, 1)
        assert world.where("w1") == "unschedulable"

    fakes.play(scenario())


def test_each_freed_room_is_taken_in_turn() -> None:
    """The pods that waited on are woken by the next deletion, in the order of their arrival."""

    async def scenario() -> None:
        world = FullCluster()
        for node in ("n1", "n2", "n3"):
            world.add_full_node(node, builders.make_pod(f"runs-{node}"))
        for number in range(4):
            world.add_pod(one_cpu(f"w{number}"))
        await world.settle_all()
        for node in ("n2", "n3", "n1"):
            world.delete(f"runs-{node}")
            await world.settle_all()
        assert world.bind.bound == [("w0", "n2"), ("w1", "n3"), ("w2", "n1")]
        assert world.failed_attempts == 4

    fakes.play(scenario())


def important(world: FullCluster) -> None:
    """A less important pod runs, so preemption may help the waiting pods."""
    world.nodes.upsert(builders.make_node("n2").capacity(cpu="500m", pods=110).build())
    world.add_pod(builders.make_pod("lesser").priority(-1).requests(cpu="100m").node("n2"))


def nominated(world: FullCluster) -> None:
    """A waiting pod is nominated to a node that is gone; an attempt ends its nomination."""
    old = world.pods.current("uid-default-w1")
    assert old is not None
    world.queue.nominator.nominate(old, "n0")


def told_of_a_node(world: FullCluster) -> None:
    """The API server shows a nomination of the pod; an attempt withdraws it."""
    queued = world.queue.get("uid-default-w1")
    assert queued is not None
    queued.was_nominated = True


def pending(world: FullCluster) -> None:
    """A plugin answered PENDING, and is asked again."""
    queued = world.queue.get("uid-default-w1")
    assert queued is not None
    queued.pending_plugins.add("Asks")


def never_tried(world: FullCluster) -> None:
    """The pod has not been told yet why it waits."""
    queued = world.queue.get("uid-default-w1")
    assert queued is not None
    queued.unschedulable_count = 0


@pytest.mark.parametrize("case", [important, nominated, told_of_a_node, pending, never_tried])
def test_an_attempt_that_may_have_an_effect_is_made(case: Callable[[FullCluster], None]) -> None:
    """Preemption, nominations, pending plugins and a missing condition need an attempt."""

    async def scenario() -> None:
        world = FullCluster()
        world.add_full_node("n1", builders.make_pod("runs"))
        for name in ("w0", "w1"):
            world.add_pod(one_cpu(name))
        await world.settle_all()
        case(world)
        before = world.failed_attempts
        world.delete("runs")
        await world.settle_all()
        assert world.bind.bound[0][1] == "n1"
        assert world.failed_attempts == before + 1

    fakes.play(scenario())


def test_third_party_post_filters_are_asked() -> None:
    """A plugin of another package may make room in a way that nobody else knows."""

    async def scenario() -> None:
        world = FullCluster(Asks())
        world.add_full_node("n1", builders.make_pod("runs"))
        for name in ("w0", "w1"):
            world.add_pod(one_cpu(name))
        await world.settle_all()
        world.delete("runs")
        await world.settle_all()
        assert (world.failed_attempts, world.queue.incoming[REPEATED]) == (3, 0)

    fakes.play(scenario())


def test_pods_without_requests_wait_for_a_slot() -> None:
    """A pod that lacks a pod slot is woken by the next deletion, whatever that frees."""

    async def scenario() -> None:
        world = FullCluster()
        world.nodes.upsert(builders.make_node("n1").capacity(cpu="1", pods=1).build())
        world.add_pod(builders.make_pod("runs").node("n1"))
        for name in ("w0", "w1"):
            world.add_pod(builders.make_pod(name))
        await world.settle_all()
        world.delete("runs")
        await world.settle_all()
        assert world.queue.incoming[REPEATED] == 1
        world.delete("w0")
        await world.settle_all()
        assert world.bind.bound == [("w0", "n1"), ("w1", "n1")]

    fakes.play(scenario())


# --- whatever happens -----------------------------------------------------------------------------


@dataclasses.dataclass
class Chance:
    """Pods and nodes that come, change and go by chance.

    Attributes:
        priorities: of new pods.
    """

    world: FullCluster
    rng: random.Random
    priorities: Sequence[int]
    pods: int = 0
    nodes: int = 0

    def step(self) -> None:
        """Let one thing happen; most of them are arrivals and deletions of pods."""
        happenings = [self.add_pod] * 8 + [self.delete_pod] * 5
        happenings += [self.shrink_pod, self.add_node, self.delete_node, self.change_node]
        self.rng.choice(happenings)()

    def add_pod(self) -> None:
        """A pod arrives, with constraints of several plugins."""
        self.pods += 1
        pod = builders.make_pod(f"p{self.pods}").labels(app=self.rng.choice("ab"))
        pod = pod.priority(self.rng.choice(self.priorities))
        if self.rng.random() < 0.9:
            pod = pod.requests(cpu=f"{self.rng.choice((500, 1000, 1500))}m")
        kind = self.rng.randrange(8)
        if kind == 0:
            pod = pod.rejects_pods(builders.pod_term("zone", {"app": "a"}))
        elif kind == 1:
            pod = pod.node_selector({"zone": self.rng.choice("xy")})
        elif kind == 2:
            pod = pod.tolerates("dedicated")
        elif kind == 3:
            pod = pod.host_port(80)
        self.world.add_pod(pod)

    def delete_pod(self) -> None:
        """A pod goes, whether it runs or waits."""
        pod = self._choose_pod(is_placed=self.rng.random() < 0.9)
        if pod is not None:
            self.world.pods.delete(pod)

    def shrink_pod(self) -> None:
        """A running pod is resized in place."""
        pod = self._choose_pod(is_placed=True)
        if pod is not None:
            self.world.add_pod(builders.PodBuilder(pod).requests(cpu="250m"))

    def add_node(self) -> None:
        """A node joins, or one that left returns."""
        self.nodes += 1
        self._set_node(f"n{self.nodes % 4}")

    def change_node(self) -> None:
        """A node gets another size, zone or taint."""
        names = sorted(self.world.cache.nodes.row_of)
        present = [name for name in names if self.world.cache.get_node(name) is not None]
        if present:
            self._set_node(self.rng.choice(present))

    def delete_node(self) -> None:
        """An empty node leaves.

        That a node leaves wakes nobody, in kube-scheduler neither, though its pods repelled others.
        """
        name = f"n{self.rng.randrange(4)}"
        node = self.world.cache.get_node(name)
        row = self.world.cache.nodes.row_of.get(name)
        if node is not None and row is not None and not self.world.cache.get_pods_on_row(row):
            self.world.nodes.delete(node)

    def _set_node(self, name: str) -> None:
        node = builders.make_node(name).labels(zone=self.rng.choice("xy"))
        node = node.capacity(cpu=str(self.rng.choice((2, 3))), pods=self.rng.choice((2, 4)))
        if self.rng.random() < 0.3:
            node = node.taint("dedicated")
        self.world.nodes.upsert(node.build())

    def _choose_pod(self, *, is_placed: bool) -> objects.Pod | None:
        known = [self.world.pods.current(f"uid-default-p{n}") for n in range(1, self.pods + 1)]
        pods = [
            info.pod
            for info in known
            if info is not None and bool(info.pod.spec.node_name) == is_placed
        ]
        return self.rng.choice(pods) if pods else None


def assert_no_pod_is_left_behind(world: FullCluster) -> None:
    """A framework that has cached nothing finds no node for any rejected pod, nor victims."""
    fresh = world.make_framework()
    for queued in world.queue.list_waiting_pods():
        if world.where(queued.info.pod.metadata.name) != "unschedulable":
            continue  # in backoff after an attempt without nodes, which counts as an error
        snap = world.cache.snapshot()
        result = fresh.schedule_pod(queued.info, snap)
        assert result.node_name is None, queued.info.key
        if result.diagnosis is not None:
            room = fresh.run_post_filter(result.state, queued.info, snap, result.diagnosis)
            assert room is not None
            assert not room.status.is_success, (queued.info.key, room)


@seeds.drawn
@pytest.mark.slow
@pytest.mark.parametrize("priorities", [(0,), (0, 1, 2)], ids=["equal", "preempting"])
def test_nobody_waits_who_would_fit(seed: int, priorities: Sequence[int]) -> None:
    """After every event, each pod that waits would fail in an attempt with all plugins."""

    async def scenario() -> None:
        taken = 0
        for number in range(WORLDS):
            world = FullCluster()
            chance = Chance(world, random.Random(f"{seed}/{number}"), priorities)
            for _ in range(3):
                chance.add_node()
            for _ in range(STEPS):
                chance.step()
                await world.settle_all()
                assert_no_pod_is_left_behind(world)
            taken += world.queue.incoming[REPEATED]
        assert taken > 0

    fakes.play(scenario())
