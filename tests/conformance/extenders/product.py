"""policysched with the extenders of a case: its own scheduler, with an API server that takes notes.

The objects of a case arrive once, as from watches. Each pending pod is tried once, in the order of
the queue. As in the oracle, what the scheduler writes is noted, and only effects on other pods are
shown to it: victims are gone, and pods lose their nomination.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import orjson

from policysched import clock as clocks
from policysched.app import extenders as connections
from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.config import config as configs
from policysched.extenders import settings
from policysched.framework import handles, interface, runtime
from policysched.framework.scoring import score_table
from policysched.inputs import cluster_file
from policysched.lang import source
from policysched.profiles import policies
from policysched.scheduler import decisions, ports
from policysched.scheduler import scheduler as schedulers
from tests.conformance import product
from tests.conformance.extenders import outcomes, script

_ATTEMPT_SECONDS = 20
"""When an attempt counts as hanging."""


async def extend(case: script.Json) -> list[outcomes.PodOutcome]:
    """Return what policysched makes of each pending pod of a case."""
    clock = clocks.ManualClock(datetime.datetime(2026, 1, 20, tzinfo=datetime.UTC))
    given = case["config"]["extenders"]
    configured = msgspec.convert(given, tuple[settings.ExtenderSettings, ...])
    async with connections.connect_extenders(configured, clock, lambda: None) as connected:
        assert connected is not None
        world = _World(case, clock, configs.Config(extenders=configured), connected)
        return [await world.try_next_pod() for _ in range(world.pending_count)]


@dataclasses.dataclass
class _Notes:
    """What the scheduler writes about one attempt; all ports of the scheduler, and its binder.

    Attributes:
        bound: keys of pods that the API server bound.
        nominations: by pod key, what was written last.
        evicted: keys of victims.
        result: the decision with all that is valid in its cycle only.
    """

    bound: list[str] = dataclasses.field(default_factory=list)
    conditions: dict[str, ports.PodCondition] = dataclasses.field(default_factory=dict)
    nominations: dict[str, str] = dataclasses.field(default_factory=dict)
    evicted: list[str] = dataclasses.field(default_factory=list)
    result: dict[str, Any] = dataclasses.field(default_factory=dict)

    def clear(self) -> None:
        """Begin a new attempt."""
        for noted in (self.bound, self.conditions, self.nominations, self.evicted, self.result):
            noted.clear()

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> None:
        """Bind a pod."""
        self.bound.append(pod.key)

    def set_condition(
        self,
        pod: pod_shape.PodInfo,
        condition: ports.PodCondition,
        nominated_node_name: str | None = None,
    ) -> None:
        """Write a condition."""
        self.conditions[pod.key] = condition
        if nominated_node_name is not None:
            self.nominate(pod, nominated_node_name)

    def nominate(self, pod: pod_shape.PodInfo, node_name: str) -> None:
        """Write a nomination, unless the pod has it already."""
        if pod.pod.status.nominated_node_name != node_name:
            self.nominations[pod.key] = node_name

    async def evict(self, victim: pod_shape.PodInfo, condition: ports.PodCondition) -> bool:
        """Evict a pod."""
        self.evicted.append(victim.key)
        return True

    def record(self, *args: Any, **options: Any) -> None:
        """Ignore an event."""

    def note_decision(
        self,
        decision: decisions.SchedulingDecision,
        result: runtime.ScheduleResult,
        snap: snapshot.Snapshot,
    ) -> None:
        """Note what is valid in the cycle only."""
        names = snap.nodes.names
        if result.scores is not None:
            totals = zip(result.scores.rows.tolist(), result.scores.totals.tolist(), strict=True)
            self.result["totals"] = {names[row]: score_table.points(each) for row, each in totals}
            self.result["feasible"] = tuple(sorted(self.result["totals"]))
        elif result.node_name is not None:
            self.result["feasible"] = (result.node_name,)
        if result.diagnosis is not None:
            self.result["statuses"] = dict(_statuses(result.diagnosis, snap))
            plugins = result.diagnosis.unschedulable_plugins | result.diagnosis.pending_plugins
            self.result["plugins"] = tuple(sorted(plugins))


def _statuses(
    diagnosis: interface.Diagnosis, snap: snapshot.Snapshot
) -> Iterator[tuple[str, outcomes.NodeStatus]]:
    for row, name in enumerate(snap.nodes.names):
        if not snap.is_alive[row]:
            continue
        answer = diagnosis.pre_filter or diagnosis.statuses[diagnosis.ids.item(row)]
        yield (
            name,
            outcomes.NodeStatus(
                code=answer.code.value,
                reasons=tuple(answer.reasons),
                plugin="" if answer.plugin == "Extender" else answer.plugin,
            ),
        )


class _World:
    """A scheduler in a cluster."""

    def __init__(
        self,
        case: script.Json,
        clock: clocks.ManualClock,
        configuration: configs.Config,
        connected: connections.ConnectedExtenders,
    ) -> None:
        self._notes = _Notes()
        self._scheduler = schedulers.Scheduler(
            {},
            ports.SchedulerPorts(self._notes, self._notes, self._notes, extenders=connected.chain),
            clock,
        )
        self._scheduler.decisions.listeners.append(self._notes.note_decision)
        self._ended = asyncio.Event()
        self._latest: decisions.SchedulingDecision | None = None
        self._scheduler.decisions.end_listeners.append(self._end)
        self._use_profile(product.policy_text(case["config"]), configuration, clock)
        self._connected = connected
        self._texts: Mapping[tuple[str, str, str], bytes] = {
            (item["kind"], meta.get("namespace", ""), meta["name"]): orjson.dumps(item)
            for item in case["cluster"]["items"]
            for meta in (item["metadata"],)
        }
        self.pending_count = self._add_objects(case)

    def _use_profile(
        self, policy: str, configuration: configs.Config, clock: clocks.ManualClock
    ) -> None:
        scheduler, cache = self._scheduler, self._scheduler.cache
        handle = handles.Handle(
            self._notes,
            cache.owners,
            scheduler.preemptions,
            cache.storage,
            cache.budgets,
            cache.devices,
            clock=clock,
            start_task=scheduler.start_task,
            waiting_pods=scheduler.waiting_pods,
        )
        texts = [source.SourceText("case", policy)]
        found = policies.make_policy_set_from_texts(texts, {}, configuration=configuration)
        made = policies.require_profiles(policies.make_profiles(found, handle))
        frameworks = {
            name: runtime.Framework(each, None, has_extenders=True)
            for name, each in made.by_name.items()
        }
        scheduler.set_profiles(frameworks, made.annotation_keys, made.metric_needs)

    def _add_objects(self, case: script.Json) -> int:
        """Let the watches show all objects; return the number of pending pods."""
        found = cluster_file.parse_cluster(orjson.dumps(case["cluster"]), "case")
        events = self._scheduler.events
        for namespace in found.namespaces:
            events.namespaces.upsert(namespace)
        for budget in found.budgets:
            events.budgets.upsert(budget)
        for node in found.nodes:
            if self._connected.nodes is not None:
                self._connected.nodes.keep(node, self._read_later("Node", "", node.name))
            events.nodes.upsert(node)
        alive = [pod for pod in found.pods if not pod.is_terminal]
        self._uids = {pod.key: pod.metadata.uid for pod in alive}
        for pod in alive:
            meta = pod.metadata
            read_text = self._read_later("Pod", meta.namespace, meta.name)
            self._connected.pods.keep(pod, read_text)
            events.pods.upsert(pod)
        return sum(not pod.spec.node_name for pod in alive)

    def _end(self, decision: decisions.SchedulingDecision) -> None:
        self._latest = decision
        self._ended.set()

    async def try_next_pod(self) -> outcomes.PodOutcome:
        """Let the scheduler try one pod, and wait for the end of its binding."""
        self._notes.clear()
        self._ended.clear()
        async with asyncio.timeout(_ATTEMPT_SECONDS):
            assert self._scheduler.schedule_one()
            await self._ended.wait()
            while self._scheduler._tasks:  # evictions
                await asyncio.gather(*self._scheduler._tasks)
        assert self._latest is not None
        outcome = self._outcome(self._latest)
        self._show_changes(outcome)
        return outcome

    def _outcome(self, decision: decisions.SchedulingDecision) -> outcomes.PodOutcome:
        notes, pod = self._notes, decision.pod
        condition = notes.conditions.get(pod)
        is_bound = condition is None
        others = (key for key, node in notes.nominations.items() if key != pod and not node)
        return outcomes.PodOutcome(
            pod=pod,
            node=decision.node_name,
            reason="" if condition is None else condition.reason,
            message="" if condition is None else condition.message,
            nominated=notes.nominations.get(pod),
            cleared=tuple(sorted(others)),
            victims=tuple(sorted(notes.evicted)),
            is_bound=is_bound,
            binder=("api" if pod in notes.bound else "extender") if is_bound else "",
            **notes.result,
        )

    def _show_changes(self, outcome: outcomes.PodOutcome) -> None:
        """Let the watch show the effects on other pods."""
        pods = self._scheduler.events.pods
        for key in outcome.victims:
            pods.delete(self._find_pod(key))
        for key in outcome.cleared:
            pod = self._find_pod(key)
            status = msgspec.structs.replace(pod.status, nominated_node_name="")
            self._keep_text_without_nomination(pod)
            pods.upsert(msgspec.structs.replace(pod, status=status))

    def _keep_text_without_nomination(self, pod: objects.Pod) -> None:
        item = orjson.loads(self._texts["Pod", pod.metadata.namespace, pod.metadata.name])
        del item["status"]["nominatedNodeName"]
        self._connected.pods.keep(pod, lambda: orjson.dumps(item))

    def _read_later(self, kind: str, namespace: str, name: str) -> Callable[[], bytes]:
        return lambda: self._texts[kind, namespace, name]

    def _find_pod(self, key: str) -> objects.Pod:
        found = self._scheduler.events.pods.current(self._uids[key])
        assert found is not None
        return found.pod
