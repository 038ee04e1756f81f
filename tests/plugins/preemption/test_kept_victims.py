"""What equal preemptors have found out about nodes is what each would find out by itself."""

from __future__ import annotations

import random

import pytest

from policysched.cluster.objects import disruption_budgets, objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, profile, runtime
from policysched.plugins import default_preemption, node_resources_fit, node_unschedulable
from tests import builders

_NODES = 6
_STEPS = 60


class _World:
    """A full cluster that changes by chance, and two frameworks that look at it.

    Attributes:
        keeping, forgetful: the one keeps answers for equal pods, the other does not.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        nodes = [_node(f"n{n}", 4, unschedulable=False) for n in range(_NODES)]
        self._cluster = builders.make_cache(nodes, [])
        self.cache = self._cluster.cache
        self._running: list[pod_shape.PodInfo] = []
        self._made = 0
        self.keeping, self.forgetful = self._framework(128), self._framework(0)
        for _ in range(3 * _NODES):
            self.add_pod()

    def _framework(self, shapes_kept: int) -> runtime.Framework:
        handle = handles.Handle(
            handles.NoBinder(), budgets=self.cache.budgets, rng=random.Random(1)
        )
        plugins = (
            node_unschedulable.NodeUnschedulable(),
            node_resources_fit.NodeResourcesFit(),
            default_preemption.DefaultPreemption(handle),
        )
        prof = profile.Profile("s", plugins, {"NodeResourcesFit": 1})
        return runtime.Framework(prof, random.Random(1), shapes_kept=shapes_kept)

    def _pod(self, prefix: str) -> builders.PodBuilder:
        self._made += 1
        chance = self._chance
        pod = builders.make_pod(f"{prefix}{self._made}").labels(app=chance.choice("ab"))
        return pod.requests(cpu=str(chance.randint(1, 2)))

    def add_pod(self) -> None:
        """Let a pod run somewhere."""
        chance = self._chance
        start = f"2026-01-05T1{chance.randint(0, 3)}:00:00Z"
        pod = self._pod("p").node(f"n{chance.randrange(_NODES)}").priority(chance.randint(0, 2))
        self._running.append(self._cluster.info(pod.status(start_time=start)))
        self.cache.add_pod(self._running[-1])

    def change(self) -> None:
        """Let something happen that may or may not matter to preemptors."""
        chance, number = self._chance, self._chance.randrange(6)
        if number == 0 or not self._running:
            self.add_pod()
        elif number == 1:
            victim = self._running.pop(chance.randrange(len(self._running)))
            self.cache.remove_pod(victim)
        elif number == 2:
            self._start_later()
        elif number == 3:
            name = f"n{chance.randrange(_NODES)}"
            changed = _node(name, chance.randint(2, 5), unschedulable=chance.random() < 0.3)
            self.cache.set_node(changed.build())
        elif number == 4:
            self._set_budget()
        else:
            waiting = self._cluster.info(self._pod("w").priority(chance.randint(3, 6)))
            self.cache.nominated.nominate(waiting, f"n{chance.randrange(_NODES)}")

    def _start_later(self) -> None:
        """Replace a pod by a version that counts the same, but started at another time."""
        at = self._chance.randrange(len(self._running))
        old = self._running[at].pod
        status = builders.make_pod("x").status(start_time="2026-01-05T15:00:00Z").build().status
        pod = objects.Pod(metadata=old.metadata, spec=old.spec, status=status)
        self._running[at] = self._cluster.info(pod)
        self.cache.update_pod(self._running[at])

    def _set_budget(self) -> None:
        allowed = disruption_budgets.BudgetStatus(disruptions_allowed=self._chance.randint(0, 1))
        selector = builders.label_selector(app=self._chance.choice("ab"))
        self.cache.budgets.set(
            disruption_budgets.PodDisruptionBudget(
                metadata=objects.ObjectMeta(name="b", namespace="default"),
                spec=disruption_budgets.BudgetSpec(selector=selector),
                status=allowed,
            )
        )

    def preemptor(self) -> pod_shape.PodInfo:
        """Return a pod equal to some before, most of the time."""
        self._made += 1
        pod = builders.make_pod(f"h{self._made}").requests(cpu=str(self._chance.randint(3, 4)))
        return self._cluster.info(pod.priority(5))

    def decide(self, framework: runtime.Framework, pod: pod_shape.PodInfo) -> object:
        """Return where the pod goes, or who has to leave which node for it, and what is said."""
        snap = self.cache.snapshot()
        result = framework.schedule_pod(pod, snap)
        if result.diagnosis is None:
            return result.node_name, result.message
        room = framework.run_post_filter(result.state, pod, snap, result.diagnosis)
        assert room is not None
        victims = [victim.key for victim in room.victims]
        return result.message, room.status, room.nominated_node_name, victims


def _node(name: str, cpus: int, *, unschedulable: bool) -> builders.NodeBuilder:
    node = builders.make_node(name).capacity(cpu=str(cpus), memory="8Gi", pods=10)
    return node.unschedulable() if unschedulable else node


@pytest.mark.parametrize("seed", range(12))
def test_kept_answers_are_those_of_each_pod_alone(seed: int) -> None:
    """Whatever pods, nodes, budgets, times and nominations do between two preemptors."""
    world = _World(seed)
    for _ in range(_STEPS):
        world.change()
        pod = world.preemptor()
        assert world.decide(world.keeping, pod) == world.decide(world.forgetful, pod)
