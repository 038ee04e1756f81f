"""The whole loop with the default plugins, on a cluster where much goes wrong at once."""

from __future__ import annotations

import asyncio
import collections
import random

import pytest

from policysched import clock as clocks
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_requests
from policysched.framework import handles, profile, runtime
from policysched.plugins import defaults, registry
from policysched.scheduler import ports, scheduler
from policysched.sim import api_server, virtual_time, workload
from tests import builders

NAME = "policysched"
NODES, PODS = 50, 200
REFUSES_OURS = objects.Taint(key="theirs", effect="NoSchedule")


def _framework(server: api_server.SimulatedApiServer, seed: int) -> runtime.Framework:
    handle = handles.Handle(server)
    plugins = []
    for default in defaults.DEFAULT_PLUGINS:
        plugin = registry.create_built_in_registry().create_plugin(default.name, None, handle)
        assert not isinstance(plugin, registry.PluginCreationError)
        plugins.append(plugin)
    prof = profile.Profile(NAME, tuple(plugins), defaults.DEFAULT_WEIGHTS)
    return runtime.Framework(prof, random.Random(seed))


class Chaos:
    """An API server, a scheduler that runs, and a random number generator that disturbs both."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.time = virtual_time.VirtualTime(clocks.ManualClock(builders.EPOCH))
        self.server = api_server.SimulatedApiServer(self.time.clock, self.rng, self.time.sleep)
        self.scheduler = scheduler.Scheduler(
            {NAME: _framework(self.server, seed)},
            ports.SchedulerPorts(self.server, self.server, self.server, self.time.sleep),
            self.time.clock,
            settings=scheduler.SchedulerSettings(max_bindings_in_flight=16),
        )
        self.workload = workload.SimulatedWorkload(self.rng, scheduler_name=NAME)
        self.bindings: collections.Counter[str] = collections.Counter()
        self.foreign_node = builders.make_node("theirs").taints(REFUSES_OURS).build()
        self.deleted: list[str] = []

    def begin(self) -> None:
        """Make the nodes, let the scheduler watch."""
        for node in (*workload.make_node_fleet(NODES), self.foreign_node):
            self.server.nodes.create(node)
        events = self.scheduler.events
        self.server.namespaces.watch_objects(events.namespaces)
        self.server.nodes.watch_objects(events.nodes)
        self.server.pods.watch_objects(events.pods)

    def arrive(self, count: int) -> None:
        """Create pods."""
        for pod in self.workload.make_pods(count):
            self.server.pods.create(pod)

    # --- disturbances

    def disturb(self) -> None:
        """Let one thing go wrong."""
        disturbance = self.rng.choice(
            [self.delete_a_pod, self.bind_as_another, self.flap_a_node, self.list_again]
        )
        disturbance()

    def delete_a_pod(self) -> None:
        """A pod goes, wherever it is on its way."""
        pod = self.rng.choice(list(self.server.pods))
        self.server.pods.delete(pod.metadata.name, pod.metadata.namespace)
        self.deleted.append(pod.metadata.name)

    def bind_as_another(self) -> None:
        """Another scheduler is faster."""
        waiting = [pod for pod in self.server.pods if not pod.spec.node_name]
        if waiting:
            pod = self.rng.choice(waiting)
            bound = builders.PodBuilder(pod).node(self.foreign_node.name)
            self.server.pods.update(bound.build())

    def flap_a_node(self) -> None:
        """A node goes and comes back."""
        node = self.rng.choice(list(self.server.nodes))
        self.server.nodes.delete(node.name)
        self.server.nodes.create(builders.NodeBuilder(node).build())

    def list_again(self) -> None:
        """The watch broke: everything so far is taken from a new list."""
        self.server.deliver_changes()
        self.scheduler.events.pods.replace(list(self.server.pods))
        self.scheduler.events.nodes.replace(list(self.server.nodes))

    # --- what must hold

    def assert_nobody_is_cramped(self) -> None:
        """No node that takes our pods has more on it than it has."""
        for node in self.server.nodes:
            if node.name == self.foreign_node.name:
                continue
            total: collections.Counter[str] = collections.Counter()
            for pod in self.server.pods:
                if pod.spec.node_name == node.name:
                    total.update(pod_requests.compute_pod_requests(pod).amounts)
            for resource, requested in total.items():
                room = pod_requests.parse_amount(resource, node.status.allocatable.get(resource, 0))
                assert requested <= room, (node.name, resource)

    def assert_books_agree(self) -> None:
        """The cache shows what the API server has; nothing is assumed or in flight any more."""
        cache = self.scheduler.cache
        placed = {pod.metadata.uid: pod.spec.node_name for pod in self.server.pods}
        assert {u: n for u, n in placed.items() if n} == {
            uid: cache.get_node_of_pod(uid)
            for uid in placed
            if cache.get_node_of_pod(uid) is not None
        }
        assert cache.pod_count == sum(bool(name) for name in placed.values())
        assert (cache.assumed_count, self.scheduler.queue.in_flight_count) == (0, 0)
        waiting = {queued.uid for queued in self.scheduler.queue.list_waiting_pods()}
        assert waiting == {uid for uid, node_name in placed.items() if not node_name}

    def assert_nobody_waits_in_vain(self) -> None:
        """A scheduler that starts anew finds no place for those that wait either."""
        cluster = builders.make_cache(self.server.nodes, self.server.pods)
        fresh = _framework(self.server, 0)
        for pod in self.server.pods:
            if not pod.spec.node_name:
                result = fresh.schedule_pod(cluster.info(pod), cluster.cache.snapshot())
                assert result.node_name is None, pod.key
                reasons = [e.note for e in self.server.events if e.pod == pod.key]
                assert reasons[-1].startswith(result.message)


@pytest.mark.parametrize("seed", range(6))
def test_every_pod_ends_where_it_should(seed: int) -> None:
    """Refused and slow bindings, deletions, a rival, flapping nodes and broken watches hurt nobody.

    Every pod that fits is bound, once; no node has more than it can hold; the cache agrees with the
    API server.
    """

    async def scenario() -> None:
        chaos = Chaos(seed)
        chaos.begin()
        running = asyncio.create_task(chaos.scheduler.run())
        chaos.server.faults.fail_share = 0.2
        for _ in range(40):
            chaos.arrive(PODS // 40)
            chaos.server.faults.delay_seconds = chaos.rng.choice([0.0, 0.05, 0.5])
            for _ in range(chaos.rng.randrange(4)):
                await chaos.time.advance(chaos.rng.random() / 5)
                chaos.disturb()
                if chaos.rng.random() < 0.7:
                    chaos.server.deliver_changes()
            chaos.assert_nobody_is_cramped()
        chaos.server.faults.fail_share = 0.0
        for _ in range(60):
            chaos.server.deliver_changes()
            await chaos.time.advance(1.0)
        await chaos.scheduler.stop()
        await running
        chaos.assert_nobody_is_cramped()
        chaos.assert_books_agree()
        bound_by_us = [e for e in chaos.server.events if e.reason == "Scheduled"]
        names = collections.Counter(event.pod for event in bound_by_us)
        assert chaos.server.bind_count == len(bound_by_us) == len(names)
        chaos.assert_nobody_waits_in_vain()
        assert len(bound_by_us) > PODS / 2

    asyncio.run(scenario())


def test_lost_answers_bind_nobody_twice() -> None:
    """When the API server binds pods and its answers are lost, the watch puts things right."""

    async def scenario() -> None:
        chaos = Chaos(seed=1)
        chaos.begin()
        running = asyncio.create_task(chaos.scheduler.run())
        chaos.server.faults.lose_answer_share = 0.5
        chaos.arrive(100)
        for _ in range(60):
            await chaos.time.advance(0.5)
            chaos.server.deliver_changes()
        await chaos.scheduler.stop()
        await running
        assert chaos.server.bind_count == len(chaos.server.pods)
        chaos.assert_books_agree()

    asyncio.run(scenario())
