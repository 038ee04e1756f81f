"""Preemption with the default plugins, where much goes wrong at once, in virtual time."""

from __future__ import annotations

import asyncio
import collections
import random
import re
from collections.abc import Callable

import msgspec
import pytest

from policysched import clock as clocks
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_requests
from policysched.framework import handles, profile, runtime
from policysched.plugins import defaults, registry
from policysched.scheduler import ports, scheduler
from policysched.sim import api_server, virtual_time
from tests import builders

NAME = "policysched"
NODES = 6
CPU_MILLI = 4000
PREEMPTED = re.compile(r"Preempted by pod (?P<uid>\S+) on node (?P<node>[\w-]+)")


def _framework(handle: handles.Handle, seed: int) -> runtime.Framework:
    plugins = []
    for default in defaults.DEFAULT_PLUGINS:
        plugin = registry.create_built_in_registry().create_plugin(default.name, None, handle)
        assert not isinstance(plugin, registry.PluginCreationError)
        plugins.append(plugin)
    prof = profile.Profile(NAME, tuple(plugins), defaults.DEFAULT_WEIGHTS)
    return runtime.Framework(prof, random.Random(seed))


class Chaos:
    """An API server whose pods take a while to end, a scheduler that runs, and what disturbs both.

    Attributes:
        victims: (victim's key, uid of the preemptor, node) in the order of their evictions.
        needless: evictions for pods that had a place already.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.time = virtual_time.VirtualTime(clocks.ManualClock(builders.EPOCH))
        self.server = api_server.SimulatedApiServer(self.time.clock, self.rng, self.time.sleep)
        self.server.terminations.grace_seconds = lambda _pod: self.rng.choice([0.0, 2.0, 20.0])
        self.scheduler = self._new_scheduler(seed)
        self.victims: list[tuple[str, str, str]] = []
        self.needless: list[str] = []
        self._numbers = iter(range(10_000))
        for number in range(NODES):
            node = builders.make_node(f"n{number}").capacity(cpu=f"{CPU_MILLI}m", pods=20)
            self.server.nodes.create(node.build())
        self._watch()

    def _new_scheduler(self, seed: int) -> scheduler.Scheduler:
        outside = ports.SchedulerPorts(self, self.server, self.server, self.time.sleep)
        made = scheduler.Scheduler({}, outside, self.time.clock)
        cache = made.cache
        handle = handles.Handle(
            self.server,
            cache.owners,
            made.preemptions,
            cache.storage,
            cache.budgets,
            rng=self.rng,
        )
        made.set_profiles({NAME: _framework(handle, seed)})
        return made

    def _watch(self) -> None:
        events = self.scheduler.events
        self.server.namespaces.watch_objects(events.namespaces)
        self.server.nodes.watch_objects(events.nodes)
        self.server.pods.watch_objects(events.pods)

    def restart(self) -> None:
        """Put a new scheduler, which knows nothing, in the place of one that was stopped."""
        self.server.deliver_changes()
        self.scheduler = self._new_scheduler(seed=2)
        self._watch()

    def record(
        self,
        pod: object,
        event_type: ports.EventType,
        reason: str,
        action: str,
        note: str,
        reporting_controller: str,
        *,
        equal_by: str | None = None,
    ) -> None:
        """Look at evictions at the moment when they are told."""
        found = PREEMPTED.match(note)
        if found is not None:
            self.victims.append((str(getattr(pod, "uid", "")), found["uid"], found["node"]))
            preemptor = {one.metadata.uid: one for one in self.server.pods}.get(found["uid"])
            if preemptor is not None and preemptor.spec.node_name:
                self.needless.append(note)

    # --- what happens

    def arrive(self, priority: int | None = None) -> objects.Pod:
        """Create a pod of some size and priority, one in ten of which preempts nobody."""
        number = next(self._numbers)
        priority = self.rng.randrange(5) if priority is None else priority
        cpu = self.rng.choice([500, 1000, 1500, 2500])
        builder = builders.make_pod(f"p{number}").uid("").scheduler_name(NAME)
        policy = "Never" if self.rng.random() < 0.1 else "PreemptLowerPriority"
        built = builder.requests(cpu=f"{cpu}m").priority(priority).spec(preemption_policy=policy)
        return self.server.pods.create(built.build())

    def disturb(self) -> None:
        """Let one thing go wrong."""
        what: list[Callable[[], object]] = [self.delete_a_pod, self.end_a_pod, self.list_again]
        self.rng.choice(what)()

    def delete_a_pod(self) -> None:
        """A pod goes at once, wherever it is on its way."""
        pods = list(self.server.pods)
        if pods:
            pod = self.rng.choice(pods)
            self.server.pods.delete(pod.metadata.name, pod.metadata.namespace)

    def end_a_pod(self) -> None:
        """Somebody else deletes a pod gracefully."""
        pods = list(self.server.pods)
        if pods:
            self.server.terminations.begin_deletion(self.rng.choice(pods))

    def list_again(self) -> None:
        """The watch broke: everything so far is taken from a new list."""
        self.server.deliver_changes()
        self.scheduler.events.pods.replace(list(self.server.pods))

    async def pass_time(self, seconds: float) -> None:
        """Let time go by and the watch tell everything."""
        for _ in range(max(1, int(seconds * 4))):
            self.server.deliver_changes()
            await self.time.advance(min(seconds, 0.25))

    # --- what must hold

    def assert_nobody_is_cramped(self) -> None:
        """No node has more on it than it has, terminating pods counted."""
        used: collections.Counter[str] = collections.Counter()
        for pod in self.server.pods:
            if pod.spec.node_name:
                used[pod.spec.node_name] += pod_requests.compute_pod_requests(pod).amounts["cpu"]
        assert all(milli <= CPU_MILLI for milli in used.values()), used

    def assert_books_agree(self) -> None:
        """The scheduler holds what the API server holds; nothing is on its way any more."""
        cache = self.scheduler.cache
        placed = {p.metadata.uid: p.spec.node_name for p in self.server.pods if p.spec.node_name}
        waiting = {p.metadata.uid for p in self.server.pods if not p.spec.node_name}
        assert placed == {uid: cache.get_node_of_pod(uid) for uid in placed}
        assert (cache.pod_count, cache.assumed_count) == (len(placed), 0)
        assert self.scheduler.queue.in_flight_count == 0
        assert {queued.uid for queued in self.scheduler.queue.list_waiting_pods()} == waiting
        assert not any(self.scheduler.preemptions.is_running(uid) for uid in waiting)
        for pod in self.server.pods:
            known = self.scheduler.queue.nominator.get_nominated_node(pod.metadata.uid) or ""
            assert pod.status.nominated_node_name == known, pod.key

    def assert_no_priority_is_inverted(self) -> None:
        """A fresh scheduler finds no place for those that wait, whoever less important left."""
        cluster = builders.make_cache(self.server.nodes, self.server.pods)
        fresh = _framework(handles.Handle(self.server), 0)
        for pod in self.server.pods:
            if pod.spec.node_name:
                continue
            info, snap = cluster.info(_without_nomination(pod)), cluster.cache.snapshot()
            result = fresh.schedule_pod(info, snap)
            assert result.node_name is None, pod.key
            assert result.diagnosis is not None
            made_room = fresh.run_post_filter(result.state, info, snap, result.diagnosis)
            assert made_room is not None
            assert not made_room.status.is_success, (pod.key, made_room)

    def assert_evictions_made_sense(self) -> None:
        """Nobody was evicted twice for the same pod, or for a pod that had a place."""
        counts = collections.Counter((uid, preemptor) for uid, preemptor, _ in self.victims)
        assert [pair for pair, count in counts.items() if count > 1] == []
        assert self.needless == []


def _without_nomination(pod: objects.Pod) -> objects.Pod:
    told = msgspec.structs.replace(pod.status, nominated_node_name="")
    return msgspec.structs.replace(pod, status=told)


@pytest.mark.parametrize("seed", range(8))
def test_the_important_run_whatever_goes_wrong(seed: int) -> None:
    """Neither failures nor delays, deletions, broken watches or restarts invert priorities.

    In the end nobody waits for whom there would be room, or for whom less important pods could
    leave; nobody was evicted twice for the same pod, or for one that had a place.
    """

    async def scenario() -> None:
        chaos = Chaos(seed)
        running = asyncio.create_task(chaos.scheduler.run())
        chaos.server.faults.fail_share = 0.1
        chaos.server.eviction_faults.fail_share = 0.2
        for _ in range(60):
            chaos.arrive()
            chaos.server.faults.delay_seconds = chaos.rng.choice([0.0, 0.05, 0.5])
            chaos.server.eviction_faults.delay_seconds = chaos.rng.choice([0.0, 0.05, 1.0])
            await chaos.time.advance(chaos.rng.random())
            if chaos.rng.random() < 0.5:
                chaos.disturb()
            if chaos.rng.random() < 0.7:
                chaos.server.deliver_changes()
            chaos.assert_nobody_is_cramped()
            if chaos.rng.random() < 0.04:
                await chaos.scheduler.stop(grace_seconds=0.0)
                await running
                chaos.restart()
                running = asyncio.create_task(chaos.scheduler.run())
        chaos.server.faults.fail_share = chaos.server.eviction_faults.fail_share = 0.0
        await chaos.pass_time(120)
        await chaos.scheduler.stop()
        await running
        assert chaos.victims
        chaos.assert_nobody_is_cramped()
        chaos.assert_books_agree()
        chaos.assert_evictions_made_sense()
        chaos.assert_no_priority_is_inverted()

    asyncio.run(scenario())


@pytest.mark.parametrize("seed", range(4))
def test_in_calm_weather_no_eviction_is_wasted(seed: int) -> None:
    """Each preemptor evicts on one node, once, and is bound there."""

    async def scenario() -> None:
        chaos = Chaos(seed)
        running = asyncio.create_task(chaos.scheduler.run())
        for priority in (0, 1, 2):
            for _ in range(8):
                chaos.arrive(priority)
                await chaos.pass_time(25)
        await chaos.pass_time(60)
        await chaos.scheduler.stop()
        await running
        nodes: dict[str, set[str]] = collections.defaultdict(set)
        for _, preemptor, node_name in chaos.victims:
            nodes[preemptor].add(node_name)
        assert nodes
        bound = {pod.metadata.uid: pod.spec.node_name for pod in chaos.server.pods}
        gone = {victim for victim, _, _ in chaos.victims}
        assert nodes == {uid: {bound[uid]} if uid not in gone else nodes[uid] for uid in nodes}
        chaos.assert_evictions_made_sense()
        chaos.assert_no_priority_is_inverted()

    asyncio.run(scenario())


def test_a_stream_of_lesser_pods_does_not_take_the_room() -> None:
    """While victims end, less important pods keep coming; the room stays the preemptor's.

    They wait until it is bound, though the attempts of many come before its own.
    """

    async def scenario() -> None:
        chaos = Chaos(seed=1)
        chaos.server.terminations.grace_seconds = lambda _pod: 15.0
        running = asyncio.create_task(chaos.scheduler.run())
        for number in range(NODES):
            chaos.server.pods.create(_large(f"v{number}", 1).build())
        await chaos.pass_time(5)
        high = chaos.server.pods.create(_large("high", 5).build())
        for number in range(60):
            chaos.server.pods.create(_large(f"low{number}", 0).build())
            await chaos.pass_time(0.5)
        await chaos.pass_time(5)
        await chaos.scheduler.stop()
        await running
        bound = chaos.server.pods.get("high", "default")
        assert bound.spec.node_name == {node for _, _, node in chaos.victims}.pop()
        assert [preemptor for _, preemptor, _ in chaos.victims] == [high.metadata.uid]
        others = [pod for pod in chaos.server.pods if pod.metadata.name.startswith("low")]
        assert not any(pod.spec.node_name for pod in others)

    asyncio.run(scenario())


def _large(name: str, priority: int) -> builders.PodBuilder:
    """Return a pod that needs a node for itself."""
    builder = builders.make_pod(name).uid("").scheduler_name(NAME)
    return builder.requests(cpu=f"{CPU_MILLI}m").priority(priority)


def test_a_restart_loses_no_room_and_evicts_nobody_twice() -> None:
    """A new scheduler finds nominations and terminating victims, and waits for these."""

    async def scenario() -> None:
        chaos = Chaos(seed=1)
        chaos.server.terminations.grace_seconds = lambda _pod: 15.0
        running = asyncio.create_task(chaos.scheduler.run())
        for number in range(NODES):
            chaos.server.pods.create(_large(f"v{number}", 1).build())
        await chaos.pass_time(5)
        high = chaos.server.pods.create(_large("high", 5).build())
        await chaos.pass_time(3)
        assert [preemptor for _, preemptor, _ in chaos.victims] == [high.metadata.uid]
        await chaos.scheduler.stop()
        await running
        chaos.restart()
        running = asyncio.create_task(chaos.scheduler.run())
        chaos.server.pods.create(_large("low", 0).build())
        await chaos.pass_time(30)
        await chaos.scheduler.stop()
        await running
        ((_, _, node_name),) = chaos.victims
        assert chaos.server.pods.get("high", "default").spec.node_name == node_name
        assert chaos.server.pods.get("low", "default").spec.node_name == ""

    asyncio.run(scenario())
