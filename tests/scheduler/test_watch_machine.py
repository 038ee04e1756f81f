"""Random watch events against a rebuild of everything from scratch."""

from __future__ import annotations

import asyncio

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from tests import builders, examples
from tests.scheduler import fakes

NODES = st.sampled_from(["n0", "n1", "n2", "n3"])
PODS = st.sampled_from([f"p{i}" for i in range(8)])
PHASES = st.sampled_from(["", "Running", "Running", "Succeeded"])


@st.composite
def pods(draw: st.DrawFn) -> builders.PodBuilder:
    """Draw a pod without node: ours or not, terminating or not."""
    pod = builders.make_pod(draw(PODS)).requests(cpu=draw(st.integers(1, 3)))
    pod = pod.labels(app=draw(st.sampled_from(["a", "b"])))
    if draw(st.booleans()):
        pod = pod.scheduler_name("other")
    return pod.terminating() if draw(st.integers(0, 4)) == 0 else pod


class WatchMachine(RuleBasedStateMachine):
    """An API server as dictionaries; every change is watched, or missed until the next list."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.world = fakes.World()
        self.nodes: dict[str, objects.Node] = {}
        self.pods: dict[str, objects.Pod] = {}
        self.version = 0
        self.world.bind.server = self._bind

    def _versioned(self, builder: builders.PodBuilder) -> objects.Pod:
        self.version += 1
        return builder.meta(resource_version=str(self.version)).build()

    def _update(self, pod: objects.Pod, *, is_watched: bool) -> None:
        self.pods[pod.metadata.uid] = pod
        if is_watched:
            self.world.pods.upsert(pod)

    # --- what happens in the cluster

    @rule(name=NODES, zone=st.sampled_from(["a", "b"]), room=st.integers(0, 3))
    def set_node(self, name: str, zone: str, room: int) -> None:
        """A node comes or changes."""
        node = builders.make_node(name).labels(zone=zone).capacity(pods=room).build()
        self.nodes[name] = node
        self.world.nodes.upsert(node)

    @rule(name=NODES)
    def delete_node(self, name: str) -> None:
        """A node goes."""
        node = self.nodes.pop(name, None)
        if node is not None:
            self.world.nodes.delete(node)

    @rule(builder=pods(), node=st.sampled_from(["", "n0", "n1", "n9"]), is_watched=st.booleans())
    def create_pod(self, builder: builders.PodBuilder, node: str, is_watched: bool) -> None:
        """A pod is created, perhaps with a node already, perhaps under an old name."""
        name = builder.pod.metadata.name
        if all(pod.metadata.name != name for pod in self.pods.values()):
            pod = builder.uid(f"{name}-{self.version}").node(node)
            self._update(self._versioned(pod), is_watched=is_watched)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), phase=PHASES, label=st.sampled_from(["a", "b"]), is_watched=st.booleans())
    def update_pod(self, data: st.DataObject, phase: str, label: str, is_watched: bool) -> None:
        """A pod is relabelled, or its kubelet reports."""
        old = data.draw(st.sampled_from(sorted(self.pods.values(), key=lambda pod: pod.key)))
        if not old.is_terminal:
            builder = builders.PodBuilder(old).labels(app=label).status(phase=phase)
            self._update(self._versioned(builder), is_watched=is_watched)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), is_watched=st.booleans())
    def delete_pod(self, data: st.DataObject, is_watched: bool) -> None:
        """A pod is deleted."""
        pod = self.pods.pop(data.draw(st.sampled_from(sorted(self.pods))))
        if is_watched:
            self.world.pods.delete(pod)

    @rule()
    def list_everything(self) -> None:
        """The watch broke; a list makes up for what was missed."""
        self.world.pods.replace(list(self.pods.values()))
        self.world.nodes.replace(list(self.nodes.values()))

    # --- what the scheduler does

    @rule(refusal=st.booleans())
    def schedule(self, refusal: bool) -> None:
        """What is ready is scheduled; bindings succeed or fail, the watch shows them later."""
        if refusal:
            self.world.bind.refusals.append("busy")
        self.world.clock.advance(1.0)
        self.loop.run_until_complete(self.world.settle())
        self.world.bind.refusals.clear()

    def _bind(self, info: pod_shape.PodInfo, node_name: str) -> str:
        """Bind a pod as an API server does; the watch will not show it before the next list."""
        pod = self.pods.get(info.uid)
        if pod is None:
            return "not found"
        if pod.spec.node_name or pod.is_terminal or pod.metadata.deletion_timestamp:
            return "conflict"
        self.pods[info.uid] = self._versioned(builders.PodBuilder(pod).node(node_name))
        return ""

    # --- what holds

    @invariant()
    def nothing_is_in_flight(self) -> None:
        """Between steps every attempt is over."""
        assert self.world.queue.in_flight_count == 0
        assert self.world.scheduler.bindings_in_flight == 0

    @invariant()
    def queue_and_cache_share_no_pod(self) -> None:
        """A pod waits, or has a place, never both."""
        for queued in self.world.queue.list_waiting_pods():
            assert self.world.cache.get_pod(queued.uid) is None

    def teardown(self) -> None:
        """After a list the columns are those of a scheduler that has just started."""
        self.loop.close()
        self.list_everything()
        fresh = caches.Cache(clocks.ManualClock(builders.EPOCH))
        shapes = pod_shape.PodShapeCache()
        for node in self.nodes.values():
            fresh.set_node(node)
        for pod in self.pods.values():
            if pod.spec.node_name and not pod.is_terminal:
                fresh.add_pod(shapes.make_pod_info(pod))
        assert _picture(self.world.cache) == _picture(fresh)
        waiting = {queued.uid for queued in self.world.queue.list_waiting_pods()}
        assert waiting == {uid for uid, pod in self.pods.items() if self._should_wait(pod)}

    def _should_wait(self, pod: objects.Pod) -> bool:
        ours = pod.spec.scheduler_name == "default-scheduler"
        # A terminating pod is dropped when it is popped, so it may be there or not.
        queued = self.world.queue.get(pod.metadata.uid) is not None
        is_there = pod.metadata.deletion_timestamp is None or queued
        return ours and not pod.spec.node_name and not pod.is_terminal and is_there


def _picture(cache: caches.Cache) -> dict[str, tuple[object, ...]]:
    columns = cache.nodes
    zone = columns.get_label_column("zone")
    return {
        name: (
            bool(columns.is_alive[row]),
            zone.values.values[zone.ids[row]] if zone.ids[row] >= 0 else None,
            int(columns.allowed_pods[row]) if columns.is_alive[row] else None,
            int(columns.pod_count[row]),
            np.trim_zeros(columns.requested[row], "b").tolist(),
            columns.nonzero_requested[row].tolist(),
            sorted(info.uid for info in cache.get_pods_on_row(row)),
        )
        for name, row in columns.row_of.items()
    }


TestWatchMachine = WatchMachine.TestCase
TestWatchMachine.settings = settings(
    max_examples=examples.scale(100), stateful_step_count=40, deadline=None
)
