"""What is gone from the cluster is gone from the memory of the scheduler."""

from __future__ import annotations

import asyncio
import collections
import gc
import random
from typing import TYPE_CHECKING

import pytest

from policysched import clock as clocks
from policysched.cluster.columns import columns
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, profile, queued_pod, runtime
from policysched.plugins import defaults, registry
from policysched.scheduler import ports, scheduler
from policysched.sim import api_server, driver, virtual_time, workload
from tests import builders

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "policysched"
GPU = "example.com/gpu"
_KEPT_BY_PREEMPTION = 2 * 3 * 4
"""A pod and what is known of it, on each of three nodes, for the four shapes that asked last."""


def _framework(server: api_server.SimulatedApiServer) -> runtime.Framework:
    handle = handles.Handle(server)
    plugins = []
    for default in defaults.DEFAULT_PLUGINS:
        plugin = registry.create_built_in_registry().create_plugin(default.name, None, handle)
        assert not isinstance(plugin, registry.PluginCreationError)
        plugins.append(plugin)
    prof = profile.Profile(NAME, tuple(plugins), defaults.DEFAULT_WEIGHTS)
    return runtime.Framework(prof, random.Random(1))


class Scene:
    """A scheduler, and a cluster that its tests fill and empty."""

    def __init__(self, node_count: int) -> None:
        self.time = virtual_time.VirtualTime(clocks.ManualClock(builders.EPOCH))
        self.server = api_server.SimulatedApiServer(
            self.time.clock, random.Random(1), self.time.sleep
        )
        self.scheduler = scheduler.Scheduler(
            {NAME: _framework(self.server)},
            ports.SchedulerPorts(self.server, self.server, self.server, self.time.sleep),
            self.time.clock,
        )
        for node in workload.make_node_fleet(node_count):
            self.server.nodes.create(node)
        self.driver = driver.SimulationDriver(self.server, self.scheduler, self.time)

    async def come_and_go(self, make: Callable[[int], builders.PodBuilder], count: int) -> None:
        """Let pods come, one after the other, and go when a few others have come."""
        living: collections.deque[objects.Pod] = collections.deque()
        for number in range(count):
            pod = make(number).scheduler_name(NAME).uid("").build()
            living.append(self.server.pods.create(pod))
            if len(living) > 10:
                self._end(living.popleft())
            await self.driver.run_until_idle()
        for pod in living:
            self._end(pod)
        await self.driver.advance_time(600.0)

    def _end(self, pod: objects.Pod) -> None:
        name, namespace = pod.metadata.name, pod.metadata.namespace
        if self.server.pods.find(name, namespace) is not None:  # else it was evicted
            self.server.pods.delete(name, namespace)


def _living(*kinds: type) -> collections.Counter[str]:
    gc.collect()
    living = [each for each in gc.get_objects() if isinstance(each, kinds)]
    return collections.Counter(type(each).__name__ for each in living if not _is_example(each))


def _is_example(each: object) -> bool:
    """Return whether an object stands for all identical pods (`PodInfo.make_example`)."""
    pod = each.pod if isinstance(each, pod_shape.PodInfo) else each
    return isinstance(pod, objects.Pod) and not pod.metadata.name


def _plain(number: int) -> builders.PodBuilder:
    return builders.make_pod(f"p{number}").labels(job=f"job-{number}").requests(cpu="1m")


def _apart(number: int) -> builders.PodBuilder:
    term = builders.pod_term("kubernetes.io/hostname", {"job": f"job-{number}"})
    return _plain(number).rejects_pods(term).avoids_pods(7, term)


def _spread(number: int) -> builders.PodBuilder:
    return _plain(number).spread(f"key-{number % 7}", selector={"job": f"job-{number}"})


def _nowhere(number: int) -> builders.PodBuilder:
    return _plain(number).node_selector({"nowhere": f"n{number}"})


def _important(number: int) -> builders.PodBuilder:
    return _plain(number).priority(number).requests(cpu="7")


def _with_claim(number: int) -> builders.PodBuilder:
    return _plain(number).claim(f"claim-{number}").ephemeral("scratch")


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [_plain, _apart, _spread, _nowhere, _important, _with_claim],
    ids=lambda make: make.__name__,
)
def test_pods_that_are_gone(make: Callable[[int], builders.PodBuilder]) -> None:
    """No object of theirs is left, whatever became of them; what preemption keeps is bounded."""

    async def scenario() -> None:
        kinds = (objects.Pod, pod_shape.PodInfo, queued_pod.QueuedPodInfo)
        before = _living(*kinds)
        scene = Scene(node_count=3)
        await scene.come_and_go(make, 60)
        scene.server.events.clear()
        assert (_living(*kinds) - before).total() <= (
            _KEPT_BY_PREEMPTION if make is _important else 0
        )

    asyncio.run(scenario())


def test_nodes_that_are_gone() -> None:
    """Names, labels and taints that are new all the time leave no rows and no values."""

    async def scenario() -> None:
        scene = Scene(node_count=3)
        nodes = scene.scheduler.cache.nodes
        for number in range(3_000):
            node = builders.make_node(f"n{number}").labels(zone=f"z{number}")
            scene.server.nodes.create(node.taint("seen", str(number)).build())
            if number >= 5:
                scene.server.nodes.delete(f"n{number - 5}")
            scene.server.deliver_changes()
        await scene.come_and_go(_spread, 3)
        assert nodes.size <= 16
        assert len(nodes.taint_sets) < 1_000
        assert len(nodes.get_label_column("kubernetes.io/hostname").values) < 2_000

    asyncio.run(scenario())


def test_a_pod_waits_for_a_resource_that_no_node_has() -> None:
    """It gets its node once one brings the resource, though the answer before was kept."""

    async def scenario() -> None:
        scene = Scene(node_count=2)
        for name in ("p", "q"):
            pod = builders.make_pod(name).requests({GPU: "1"}).scheduler_name(NAME)
            scene.server.pods.create(pod.build())
        await scene.driver.run_until_idle()
        assert scene.scheduler.cache.nodes.get_resource_column_index(GPU) == columns.ABSENT
        node = builders.make_node("with-gpu").capacity({GPU: "1", "pods": "10"})
        scene.server.nodes.create(node.build())
        await scene.driver.advance_time(60.0)
        assert sorted(pod.spec.node_name for pod in scene.server.pods) == ["", "with-gpu"]

    asyncio.run(scenario())
