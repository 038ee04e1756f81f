from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from policysched import clock as clocks
from policysched.cluster.objects import objects, storage_objects
from policysched.cluster.pods import pod_requests
from policysched.framework import handles, profile, runtime
from policysched.plugins import defaults, registry
from policysched.scheduler import ports
from policysched.scheduler import scheduler as schedulers
from policysched.sim import api_server, driver, faults, node_load, virtual_time, workload
from tests import builders, storage_builders

NAME = "policysched"


class Simulation:
    """The default profile on a simulated cluster."""

    def __init__(self, seed: int = 1) -> None:
        self.time = virtual_time.VirtualTime(clocks.ManualClock(builders.EPOCH))
        rng = random.Random(seed)
        self.server = api_server.SimulatedApiServer(self.time.clock, rng, self.time.sleep)
        self.scheduler = schedulers.Scheduler(
            {NAME: runtime.Framework(_default_profile(self.server), rng=random.Random(seed))},
            ports.SchedulerPorts(self.server, self.server, self.server),
            self.time.clock,
        )
        self.driver = driver.SimulationDriver(self.server, self.scheduler, self.time)

    def add_nodes(self, *nodes: objects.Node) -> None:
        """Create nodes."""
        for node in nodes:
            self.server.nodes.create(node)

    def add_pods(self, *pods: objects.Pod) -> None:
        """Create pods."""
        for pod in pods:
            self.server.pods.create(pod)

    def placements(self) -> dict[str, str]:
        """Return the node of every pod."""
        return {pod.metadata.name: pod.spec.node_name for pod in self.server.pods}

    def reasons(self) -> list[str]:
        """Return the reasons of all events so far."""
        return [event.reason for event in self.server.events]


def _default_profile(binder: handles.Binder) -> profile.Profile:
    plugins = registry.create_built_in_registry()
    handle = handles.Handle(binder)
    made = [plugins.create_plugin(p.name, None, handle) for p in defaults.DEFAULT_PLUGINS]
    assert not any(isinstance(each, registry.PluginCreationError) for each in made)
    return profile.Profile(NAME, tuple(made), defaults.DEFAULT_WEIGHTS)  # type: ignore[arg-type]  # checked in the line above


def _pod(name: str, cpu: str = "1") -> objects.Pod:
    return workload.make_pod(name, requests={"cpu": cpu, "memory": "1Gi"})


def _run(play: Callable[[Simulation], Awaitable[None]], seed: int = 1) -> Simulation:
    async def scenario() -> Simulation:
        simulation = Simulation(seed)
        await play(simulation)
        return simulation

    return asyncio.run(scenario())


def test_pods_are_bound_and_the_scheduler_learns_of_it() -> None:
    """The loop schedules what the API server has, and hears of its own bindings by the watch."""

    async def play(sim: Simulation) -> None:
        sim.add_nodes(*workload.make_node_fleet(6))
        sim.add_pods(*(_pod(f"p{n}") for n in range(10)))
        await sim.driver.run_until_idle()

    sim = _run(play)
    assert all(sim.placements().values())
    assert sim.reasons() == ["Scheduled"] * 10
    assert (sim.scheduler.cache.pod_count, sim.scheduler.cache.assumed_count) == (10, 0)


def test_the_scheduler_learns_of_storage_and_budgets() -> None:
    """What is created, changed and deleted on the simulated server is what plugins see."""

    async def play(sim: Simulation) -> None:
        claims = sim.server.get_storage_collection(storage_objects.PersistentVolumeClaim)
        for name in ("stays", "goes"):
            claims.create(storage_builders.make_claim(name))
        await sim.driver.run_until_idle()
        claims.update(storage_builders.make_claim("stays", volume="v"))
        claims.delete("goes", "default")
        sim.server.get_storage_collection(storage_objects.StorageClass).create(
            storage_builders.make_class("fast")
        )
        sim.server.budgets.create(storage_builders.make_budget("b", allowed=1))
        await sim.driver.run_until_idle()

    sim = _run(play)
    storage = sim.scheduler.cache.storage
    assert [(c.metadata.name, c.spec.volume_name) for c in storage.claims] == [("stays", "v")]
    assert [c.metadata.name for c in storage.classes] == ["fast"]
    assert [b.disruptions_allowed for b in sim.scheduler.cache.budgets] == [1]


def test_a_pod_waits_for_the_claims_of_its_ephemeral_volumes() -> None:
    """Claims are made after the pod, and found by its name; another pod's do not help it."""

    async def play(sim: Simulation) -> None:
        sim.add_nodes(*workload.make_node_fleet(2))
        pods = (builders.make_pod(name).ephemeral("scratch") for name in "ab")
        sim.add_pods(*(pod.scheduler_name(NAME).build() for pod in pods))
        await sim.driver.run_until_idle()
        sim.server.get_storage_collection(storage_objects.PersistentVolume).create(
            storage_builders.make_volume("v", phase="Bound")
        )
        claim = storage_builders.make_claim(
            "b-scratch", volume="v", is_bound=True, owner_uid="uid-default-b"
        )
        sim.server.get_storage_collection(storage_objects.PersistentVolumeClaim).create(claim)
        await sim.driver.advance_time(20)

    sim = _run(play)
    assert {name: bool(node) for name, node in sim.placements().items()} == {"a": False, "b": True}
    told = [event.reason for event in sim.server.events if event.pod == "default/b"]
    assert told == ["FailedScheduling", "Scheduled"]


def test_a_mixed_workload_overcommits_no_node() -> None:
    """Whatever mixture arrives, what the pods of a node request fits its allocatable."""

    async def play(sim: Simulation) -> None:
        sim.add_nodes(*workload.make_node_fleet(9))
        sim.add_pods(*workload.SimulatedWorkload(random.Random(3)).make_pods(120))
        await sim.driver.run_until_idle()

    sim = _run(play)
    assert sim.server.bind_count > 60
    for node in sim.server.nodes:
        on_node = [pod for pod in sim.server.pods if pod.spec.node_name == node.name]
        requested: Counter[str] = Counter()
        for pod in on_node:
            requested.update(pod_requests.compute_pod_requests(pod).amounts)
        for resource, total in requested.items():
            assert total <= pod_requests.parse_amount(resource, node.status.allocatable[resource])


def test_the_same_seed_ends_in_the_same_cluster() -> None:
    """A run is a function of its seed, step by step."""

    async def play(sim: Simulation) -> None:
        sim.server.faults = faults.BindFaults(fail_share=0.2, delay_seconds=0.5)
        sim.add_nodes(*workload.make_node_fleet(9))
        sim.add_pods(*workload.SimulatedWorkload(random.Random(3)).make_pods(40))
        await sim.driver.advance_time(60)

    first, second, other = _run(play), _run(play), _run(play, seed=2)
    assert list(first.server.pods) == list(second.server.pods)
    assert first.server.events == second.server.events
    assert first.placements() != other.placements()


def test_a_refused_binding_is_tried_again_after_backoff() -> None:
    """The pod is pending while it backs off and bound at the next attempt."""

    async def play(sim: Simulation) -> None:
        sim.server.faults = faults.BindFaults(fail_next=1)
        sim.add_nodes(*workload.make_node_fleet(1))
        sim.add_pods(_pod("a"))
        await sim.driver.deliver_and_schedule_pod()
        assert sim.placements() == {"a": ""}
        await sim.driver.advance_time(15)

    sim = _run(play)
    assert sim.placements() == {"a": "node-0"}
    assert sim.reasons() == ["FailedScheduling", "Scheduled"]


def test_a_lost_answer_binds_the_pod_once() -> None:
    """The scheduler takes the binding for failed, hears of it by the watch and leaves it alone."""

    async def play(sim: Simulation) -> None:
        sim.server.faults = faults.BindFaults(lose_answer_share=1.0)
        sim.add_nodes(*workload.make_node_fleet(1))
        sim.add_pods(_pod("a"))
        await sim.driver.advance_time(30)

    sim = _run(play)
    assert sim.server.bind_count == 1
    assert (sim.scheduler.cache.pod_count, sim.scheduler.cache.assumed_count) == (1, 0)


def test_pods_are_assumed_while_their_bindings_take_time() -> None:
    """Slow bindings do not let two pods into the same room."""

    async def play(sim: Simulation) -> None:
        sim.server.faults = faults.BindFaults(delay_seconds=3.0)
        sim.add_nodes(workload.make_node("only", "a", workload.GENERAL_8))
        sim.add_pods(_pod("a", cpu="5"), _pod("b", cpu="5"))
        await sim.driver.advance_time(1)
        assert sim.placements() == {"a": "", "b": ""}
        await sim.driver.advance_time(3)

    sim = _run(play)
    assert sim.placements() == {"a": "only", "b": ""}
    (condition,) = sim.server.pods.get("b", "default").status.conditions
    assert condition.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_pending_pod_is_bound_when_the_change_that_helps_comes() -> None:
    """A node with room wakes the pod; it is bound as soon as its backoff allows."""

    async def play(sim: Simulation) -> None:
        sim.add_nodes(workload.make_node("small", "a", workload.GENERAL_8))
        sim.add_pods(_pod("big", cpu="12"))
        await sim.driver.advance_time(5)
        assert sim.placements() == {"big": ""}
        sim.add_nodes(workload.make_node("large", "a", workload.MEMORY_16))
        await sim.driver.advance_time(2)

    assert _run(play).placements() == {"big": "large"}


def test_deleting_a_pod_makes_room() -> None:
    """What was deleted counts no more, and who waited for the room gets it."""

    async def play(sim: Simulation) -> None:
        sim.add_nodes(workload.make_node("only", "a", workload.GENERAL_8))
        sim.add_pods(_pod("a", cpu="8"), _pod("b", cpu="8"))
        await sim.driver.run_until_idle()
        sim.server.pods.delete("a", "default")
        await sim.driver.advance_time(2)

    assert _run(play).placements() == {"b": "only"}


@pytest.mark.parametrize("seconds", [0.0, 12.5])
def test_time_goes_by_exactly_as_told(seconds: float) -> None:
    """`advance` ends at the second it was asked for, whatever timers ran on the way."""

    async def play(sim: Simulation) -> None:
        sim.add_pods(_pod("waits"))
        await sim.driver.advance_time(seconds)

    assert _run(play).time.clock.monotonic_seconds() == seconds


def test_metrics_of_a_simulated_cluster_reach_the_cache() -> None:
    """Samples of the load are what policies would read."""

    async def play(sim: Simulation) -> None:
        sim.add_nodes(*workload.make_node_fleet(1))
        sim.add_pods(_pod("a", cpu="4"))
        await sim.driver.run_until_idle()
        load = node_load.SimulatedNodeLoad(sim.time.clock, random.Random(1), lag_seconds=0)
        sim.scheduler.events.refresh_metrics(
            load.measure_samples(sim.server.nodes, sim.server.pods)
        )

    sample = _run(play).scheduler.cache.metrics.get_newest_sample(node_load.CPU_BUSY, "node-0")
    assert sample is not None
    assert sample.value > 0.2
