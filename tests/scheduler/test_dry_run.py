"""Beside another scheduler: each of its decisions is compared with what ours would have been."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, runtime, status
from policysched.plugins import names
from policysched.scheduler import dry_run
from tests import builders
from tests.scheduler import fakes
from tests.scheduler import test_shadow_decisions as scenes

NAME = scenes.NAME
Outcome = dry_run.ComparisonOutcome
NOW = "policy now {{ for pods {rule} }}"


class Beside:
    """A scheduler that only compares, and a cluster in which somebody else decides."""

    def __init__(self, rule: str = "", **nodes: dict[str, str]) -> None:
        self.world = scenes.World(NOW.format(rule=rule), seed=1)
        self.dry_run = dry_run.DryRunComparer(
            self.world.scheduler.cache,
            self.world.scheduler.find_framework,
            self.world.fake.clock,
            5,
        )
        self.dry_run.is_on = True
        self.world.fake.pods.before_placed = self.dry_run.compare_bound_pod
        for name, labels in nodes.items():
            self.world.fake.nodes.upsert(scenes.node(name, **labels))

    def binds(self, pod: builders.PodBuilder, node_name: str) -> dry_run.SchedulerComparison | None:
        """Let the other scheduler bind a pod; return the difference that was noted."""
        before = len(self.dry_run.differences)
        self.world.fake.pods.upsert(pod.build())
        self.world.fake.pods.upsert(pod.node(node_name).build())
        found = self.dry_run.differences
        return found[-1] if len(found) > before else None

    def look(self) -> dict[str, Outcome]:
        """Look at the pods that wait."""
        waiting = self.world.scheduler.queue.list_waiting_pods()
        for _ in self.dry_run.compare_pending_pods(each.info for each in waiting):
            pass
        return {each.pod: each.outcome for each in self.dry_run.waiting.values()}

    @property
    def placed(self) -> dict[Outcome, int]:
        """Outcomes of pods that were bound."""
        return {outcome: count for (_, outcome), count in self.dry_run.placed.items()}


A, B = {"disk": "ssd"}, {"disk": "hdd"}
CASES: Sequence[tuple[str, str, str, Outcome]] = [
    ("ours is the only one", "nodeAffinity required disk = ssd", "n1", Outcome.SAME_NODE),
    ("ours is better", "nodeAffinity preferred disk = hdd weight 9", "n1", Outcome.OTHER_NODE),
    ("theirs is ruled out", "nodeAffinity required disk = hdd", "n1", Outcome.OTHER_NODE),
    ("all are ruled out", "nodeAffinity required disk = tape", "n1", Outcome.LEFT_PENDING),
]


@pytest.mark.parametrize(
    "rule, node_name, expected", [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_a_pod_that_the_other_scheduler_placed(
    rule: str, node_name: str, expected: Outcome
) -> None:
    """It is compared once, when it is bound."""
    beside = Beside(rule, n1=A, n2=B)
    beside.binds(scenes.web("a"), node_name)
    assert beside.placed == {expected: 1}
    assert beside.look() == {}


def test_one_of_several_equal_nodes_agrees() -> None:
    """Both schedulers break ties by chance, so any of the best is as good."""
    beside = Beside("", n1=A, n2=A, n3=A)
    for number in range(12):
        beside.binds(scenes.web(f"p{number}").requests(cpu="0"), f"n{number % 3 + 1}")
    assert set(beside.placed) <= dry_run.AGREEMENT
    assert beside.placed[Outcome.EQUAL_NODE] > 0
    assert len(beside.dry_run.differences) == 0


def test_decisions_follow_what_the_other_scheduler_did() -> None:
    """Every pod is decided about the cluster as the other one made it, not as we would have."""
    beside = Beside("", n1=A, n2=A)
    for number in range(4):
        beside.binds(scenes.web(f"p{number}"), "n1")
    assert beside.placed[Outcome.OTHER_NODE] >= 2
    difference = beside.binds(scenes.web("last"), "n1")
    assert difference is not None
    assert difference.our_node == "n2"
    assert beside.world.scheduler.cache.assumed_count == 0


def test_a_difference_says_what_makes_it() -> None:
    """The points of both nodes, or what rules theirs out; not more often than once in a while."""
    beside = Beside("nodeAffinity preferred disk = hdd weight 9 as hdd", n1=A, n2=B)
    found = beside.binds(scenes.web("a"), "n1")
    assert found is not None
    assert (found.their_node, found.our_node) == ("n1", "n2")
    assert found.why.endswith("(now/hdd +900)")
    assert found.why.startswith("n2 has ")
    soon = beside.binds(scenes.web("b"), "n1")
    assert soon is not None
    assert soon.why == ""
    beside.world.fake.clock.advance(2)
    later = beside.binds(scenes.web("c"), "n1")
    assert later is not None
    assert later.why.startswith("n2 has ")


def test_a_node_that_is_ruled_out_is_told_with_the_reason() -> None:
    """As in an event, with the plugin that says so."""
    found = Beside("nodeAffinity required disk = hdd as hdd", n1=A, n2=B).binds(
        scenes.web("a"), "n1"
    )
    assert found is not None
    assert found.why == "n1 is rejected by Policy: node(s) didn't match policy now/hdd"


def _refused(pod: builders.PodBuilder) -> builders.PodBuilder:
    condition = objects.Condition("PodScheduled", "False", "Unschedulable", "0/1 nodes")
    return pod.status(conditions=(condition,))


def test_pods_that_the_other_scheduler_left_pending() -> None:
    """Those that it refused, and those of which it said nothing for a while."""
    beside = Beside("nodeAffinity required disk = ssd", n1=A)
    pods = beside.world.fake.pods
    pods.upsert(_refused(scenes.web("fits")).build())
    pods.upsert(_refused(scenes.web("large").requests(cpu="64")).build())
    created = "2026-01-05T11:58:00Z"
    pods.upsert(scenes.web("old").meta(creation_timestamp=created).build())
    pods.upsert(scenes.web("new").meta(creation_timestamp="2026-01-05T11:59:30Z").build())
    pods.upsert(scenes.web("gated").gates("later").meta(creation_timestamp=created).build())
    assert beside.look() == {
        "default/fits": Outcome.WOULD_PLACE,
        "default/large": Outcome.BOTH_PENDING,
        "default/old": Outcome.WOULD_PLACE,
    }
    beside.look()
    assert len(beside.dry_run.differences) == 2
    beside.binds(scenes.web("fits"), "n1")
    assert set(beside.look()) == {"default/large", "default/old"}
    assert beside.placed == {Outcome.SAME_NODE: 1}


def test_a_nomination_that_only_announces_the_binding_does_not_decide() -> None:
    """Else every pod would agree whose node is written before it is bound."""
    beside = Beside("nodeAffinity preferred disk = hdd weight 9", n1=A, n2=B)
    beside.binds(scenes.web("told").nominated("n1"), "n1")
    assert beside.placed == {Outcome.OTHER_NODE: 1}
    beside.binds(_refused(scenes.web("preempting").nominated("n1")), "n1")
    assert beside.placed == {Outcome.OTHER_NODE: 1, Outcome.SAME_NODE: 1}


def test_pods_of_others_and_pods_that_never_waited_are_left_out() -> None:
    """Static pods come with a node; other schedulers' pods are not ours to judge."""
    beside = Beside("", n1=A)
    beside.binds(scenes.web("foreign").scheduler_name("somebody"), "n1")
    beside.world.fake.pods.upsert(scenes.web("static").node("n1").build())
    assert beside.placed == {}


def test_nothing_is_compared_before_everything_is_listed() -> None:
    """Decisions about half a cluster would say nothing."""
    beside = Beside("", n1=A)
    beside.dry_run.is_on = False
    beside.binds(scenes.web("a"), "n1")
    assert beside.placed == {}


class Raises:
    """A plugin that breaks."""

    name = names.NODE_NAME

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: Any
    ) -> status.NodeStatuses:
        """Break."""
        raise RuntimeError("broken")


def test_a_plugin_that_breaks_does_not_stop_the_watch() -> None:
    """The pod is counted in the cache as ever, and the failure is told."""
    beside = Beside("", n1=A)
    plugins: tuple[interface.Plugin, ...] = (fakes.Sort(), Raises())
    broken: runtime.Framework = fakes.World.framework(plugins)
    beside.world.scheduler.set_profiles({NAME: broken})
    found = beside.binds(scenes.web("a"), "n1")
    assert found is not None
    assert found.outcome is Outcome.FAILED
    assert found.why.endswith("failed at Filter: RuntimeError: broken")
    assert beside.world.scheduler.cache.get_node_of_pod("uid-default-a") == "n1"


def test_a_gate_that_breaks_does_not_stop_the_comparison() -> None:
    """Its pods are left out until it answers again."""
    beside = Beside("", n1=A)
    gate = fakes.Odd("pre_enqueue", None)
    framework = fakes.World.framework((fakes.Sort(), gate))
    beside.world.fake.pods.upsert(_refused(scenes.web("a")).build())
    beside.world.scheduler.set_profiles({NAME: framework})
    assert beside.look() == {}
    gate.recover()
    assert beside.look() == {"default/a": Outcome.WOULD_PLACE}


def test_only_so_many_differences_are_kept() -> None:
    """The latest ones, whatever the cluster."""
    beside = Beside("nodeAffinity required disk = tape", n1=A)
    order = random.Random(5).sample(range(100), 9)
    for number in order:
        beside.binds(scenes.web(f"p{number}").requests(cpu="0"), "n1")
    kept = [each.pod for each in beside.dry_run.differences]
    assert kept == [f"default/p{number}" for number in order[-5:]]
