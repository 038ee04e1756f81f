"""Decisions beside the real ones: what they count, that they change nothing and cost little."""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, handles, interface, runtime, shadow, status
from policysched.lang import source
from policysched.profiles import policies
from policysched.scheduler import ports, shadow_decisions
from tests import builders, examples
from tests.compiler import strategies
from tests.extenders import scripted_calls
from tests.scheduler import fakes

NAME = "default-scheduler"
Outcome = shadow.Outcome


class Binder:
    """Takes every binding and writes it down."""

    def __init__(self) -> None:
        self.bound: list[tuple[str, str]] = []

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> handles.BindError | None:
        """Bind."""
        self.bound.append((pod.key, node_name))
        return None


class World:
    """A scheduler by policies with all built-in plugins, and what is decided beside it."""

    def __init__(
        self, text: str, seed: int | None = None, extenders: ports.Extenders | None = None
    ) -> None:
        self.fake = fakes.World(extenders=extenders)
        self.scheduler = self.fake.scheduler
        self.binder = Binder()
        cache = self.scheduler.cache
        handle = handles.Handle(self.binder, cache.owners, self.scheduler.preemptions)
        texts = [source.SourceText("test.policy", text)]
        self.profiles = policies.require_profiles(
            policies.make_profiles(policies.make_policy_set_from_texts(texts, {}, NAME), handle)
        )
        rng = None if seed is None else random.Random(seed)
        frameworks = {name: runtime.Framework(p, rng) for name, p in self.profiles.by_name.items()}
        self.scheduler.set_profiles(
            frameworks, self.profiles.annotation_keys, self.profiles.metric_needs
        )
        self.is_busy = False
        self.shadows = self.beside(self.profiles.shadows)

    def beside(self, candidates: shadow_decisions.Candidates) -> shadow_decisions.ShadowDecisions:
        """Listen with candidates."""
        made = shadow_decisions.ShadowDecisions(
            lambda: candidates, self.fake.pods, self.fake.clock, lambda: self.is_busy
        )
        self.scheduler.decisions.listeners.append(made.repeat_with_candidates)
        return made

    def outcomes(self, policy: str) -> dict[Outcome, int]:
        """Return what was counted of a policy."""
        return dict(self.shadows.tallies[NAME, policy].outcomes)


def play(world: World, *pods: builders.PodBuilder) -> None:
    """Let pods arrive, one after the other."""

    async def scenario() -> None:
        for pod in pods:
            world.fake.add_pod(pod)
            await world.fake.settle()

    fakes.play(scenario())


def node(name: str, **labels: str) -> objects.Node:
    """Return a node with room."""
    return builders.make_node(name).labels(labels).capacity(cpu="4", memory="8Gi", pods=10).build()


def web(name: str) -> builders.PodBuilder:
    """Begin a pod of the application."""
    return builders.make_pod(name).labels(app="web").requests(cpu="1")


OUTCOMES: Sequence[tuple[str, str, Outcome]] = [
    ("same node", "nodeAffinity required disk = ssd", Outcome.SAME_NODE),
    ("a node as good as the one it has", "tolerate x", Outcome.SAME_NODE),
    ("another node is better", "nodeAffinity preferred disk = hdd weight 100", Outcome.OTHER_NODE),
    ("its node is ruled out", "nodeAffinity required disk = hdd", Outcome.OTHER_NODE),
    ("no node is left", "nodeAffinity required disk = tape", Outcome.NEWLY_UNSCHEDULABLE),
]


@pytest.mark.parametrize("rule, expected", [c[1:] for c in OUTCOMES], ids=[c[0] for c in OUTCOMES])
def test_an_outcome_of_a_placed_pod(rule: str, expected: Outcome) -> None:
    """The pod goes to the node with `ssd`; each candidate says what it would have done."""
    world = World(
        "policy now { for pods nodeAffinity preferred disk = ssd weight 50 }"
        f"policy next {{ mode shadow for pods {rule} }}"
    )
    for name, disk in (("n1", "ssd"), ("n2", "hdd")):
        world.fake.nodes.upsert(node(name, disk=disk))
    play(world, web("a"))
    assert world.binder.bound == [("default/a", "n1")]
    assert world.outcomes("next") == {expected: 1}


@pytest.mark.parametrize(
    "accepted, expected", [(["n2"], Outcome.SAME_NODE), ([], Outcome.STILL_UNSCHEDULABLE)]
)
def test_answers_of_extenders_count_in_both_decisions(
    accepted: list[str], expected: Outcome
) -> None:
    """A policy without effect changes nothing, although n1 would be better without extenders."""
    script = scripted_calls.ScriptedCalls({"filter": {"NodeNames": accepted}})
    extender = (scripted_calls.make_settings(filter_verb="filter"), script)
    world = World(
        "policy now { for pods nodeAffinity preferred disk = ssd weight 50 }"
        "policy next { mode shadow for pods nodeAffinity required disk Exists }",
        extenders=scripted_calls.make_chain(extender),
    )
    for name, disk in (("n1", "ssd"), ("n2", "hdd")):
        world.fake.nodes.upsert(node(name, disk=disk))
    play(world, web("a"))
    assert world.outcomes("next") == {expected: 1}
    assert len(script.requests) == 1


def test_outcomes_of_pods_that_wait() -> None:
    """A pod that fits nowhere would fit with the policy, or would not either."""
    world = World(
        "policy now { for pods nodeAffinity required disk = tape as tape }"
        "policy loose { mode shadow for pods disable now.tape }"
        "policy tight { mode shadow for pods reject when node(disk Exists) }"
    )
    world.fake.nodes.upsert(node("n1", disk="ssd"))
    play(world, web("a"))
    assert world.binder.bound == []
    assert world.outcomes("loose") == {Outcome.NEWLY_SCHEDULABLE: 1}
    assert world.outcomes("tight") == {Outcome.STILL_UNSCHEDULABLE: 1}
    (change,) = world.shadows.tallies[NAME, "loose"].changes
    assert (change.pod, change.node_name, change.verdict.node_name) == ("default/a", None, "n1")


def test_only_pods_that_the_policy_concerns_are_decided_again() -> None:
    """Others count for nothing and cost nothing."""
    world = World("policy next { mode shadow for pods where app = db nodeAffinity required a = b }")
    world.fake.nodes.upsert(node("n1"))
    play(world, web("a"), builders.make_pod("b").labels(app="db"))
    tally = world.shadows.tallies[NAME, "next"]
    assert dict(tally.outcomes) == {Outcome.NEWLY_UNSCHEDULABLE: 1}
    assert (tally.decided, tally.changed) == (1, 1)
    (change,) = tally.changes
    assert change.verdict.message.startswith("0/1 nodes are available")


class Raises:
    """A rule that breaks."""

    name = "Raises"

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: Any
    ) -> status.NodeStatuses:
        """Break."""
        raise RuntimeError("broken")


class Errs(Raises):
    """A rule that answers with an error."""

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: Any
    ) -> status.NodeStatuses:
        """Say that something went wrong."""
        failed = status.Status(status.Code.ERROR, ("no idea",))
        return status.NodeStatuses.where(nodes.allowed_pods >= 0, failed)


@pytest.mark.parametrize("plugin", [Raises(), Errs()], ids=["raises", "answers an error"])
def test_a_candidate_that_fails_is_counted_and_hurts_nobody(plugin: interface.Plugin) -> None:
    """The pod is bound as ever, and the failures are there to be seen."""
    world = World("policy now { for pods }")
    framework = fakes.World.framework((plugin,))
    broken = shadow.Candidate("broken", framework, lambda *_: True)
    world.shadows = world.beside({NAME: (broken,)})
    world.fake.nodes.upsert(node("n1"))
    play(world, web("a"), web("b"))
    assert world.binder.bound == [("default/a", "n1"), ("default/b", "n1")]
    tally = world.shadows.tallies[NAME, "broken"]
    assert dict(tally.outcomes) == {Outcome.FAILED: 2}
    assert (tally.decided, tally.changed, len(tally.changes)) == (0, 0, 0)


class Slow(fakes.Room):
    """A rule that takes its time, and nothing of which is kept."""

    reads = interface.Reads.ANYTHING

    def __init__(self, world: World, seconds: float) -> None:
        self.world, self.seconds = world, seconds

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: Any
    ) -> status.NodeStatuses:
        """Let time go by."""
        self.world.fake.clock.advance(self.seconds)
        return super().filter(state, pod, nodes)


def _slow_world(seconds: float) -> World:
    world = World("policy now { for pods }")
    framework = fakes.World.framework((Slow(world, seconds),))
    world.shadows = world.beside({NAME: (shadow.Candidate("slow", framework, lambda *_: True),)})
    world.fake.nodes.upsert(node("n1"))
    return world


def test_while_pods_wait_candidates_take_a_tenth_of_the_time() -> None:
    """Decisions beyond are left out and counted; nothing is left out while nobody waits."""
    world = _slow_world(0.02)
    world.is_busy = True

    async def scenario() -> None:
        for number in range(200):
            world.fake.add_pod(builders.make_pod(f"p{number}"))
            await world.fake.settle()
            world.fake.clock.advance(0.01)

    fakes.play(scenario())
    tally = world.shadows.tallies[NAME, "slow"]
    assert tally.decided + tally.skipped == 200
    elapsed_seconds = (world.fake.clock.now() - builders.EPOCH).total_seconds()
    share = shadow_decisions.BUSY_SHARE
    assert share * elapsed_seconds * 0.9 < tally.seconds < share * elapsed_seconds + 0.1
    world.is_busy = False
    play(world, builders.make_pod("last"))
    assert tally.decided + tally.skipped == 201
    assert tally.skipped == 200 - (tally.decided - 1)


def test_what_is_counted_is_about_the_policies_in_use() -> None:
    """Other policies begin at nothing."""
    world = World("policy next { mode shadow for pods nodeAffinity required a = b }")
    world.fake.nodes.upsert(node("n1"))
    current: list[shadow_decisions.Candidates] = [world.profiles.shadows]
    made = shadow_decisions.ShadowDecisions(
        lambda: current[-1], world.fake.pods, world.fake.clock, lambda: False
    )
    world.scheduler.decisions.listeners.append(made.repeat_with_candidates)
    play(world, web("a"))
    assert made.tallies[NAME, "next"].changed == 1
    world.fake.clock.advance(60)
    current.append(dict(world.profiles.shadows))
    made.refresh_candidates()
    assert made.tallies[NAME, "next"].changed == 0
    assert made.tallies[NAME, "next"].since == builders.EPOCH + datetime.timedelta(seconds=60)


# --- whatever happens ----------------------------------------------------------------------------

RULES = (
    "nodeAffinity required zone = a",
    "nodeAffinity preferred disk = ssd weight 100",
    "podAntiAffinity required self topologyKey kubernetes.io/hostname",
    "podAffinity preferred self topologyKey zone weight 40",
    "topologySpread self topologyKey zone maxSkew 1 whenUnsatisfiable DoNotSchedule",
    "reject when free(cpu) < 2",
    "tolerate dedicated, tier",
    "score MostAllocated(cpu: 1) weight 100",
    "reject when not node(disk Exists)",
    "disable now.near",
)
NOW = """
policy now {
  for pods where app = web
  nodeAffinity preferred disk = hdd weight 20 as near
  podAntiAffinity preferred self topologyKey zone weight 30
}
"""


@hypothesis.settings(max_examples=examples.scale(60), deadline=None)
@hypothesis.given(
    st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(strategies.NODE_NAMES).flatmap(strategies.nodes), max_size=5),
    st.lists(
        st.sampled_from(tuple(f"p{i}" for i in range(12))).flatmap(strategies.pods),
        max_size=12,
        unique_by=lambda pod: pod.metadata.name,
    ),
    st.integers(0, 3),
)
def test_placements_are_the_same_with_and_without_shadow_policies(
    rules: list[str], nodes: list[objects.Node], pods: list[objects.Pod], seed: int
) -> None:
    """Every binding, nomination, condition and event is the same, ties of chance too."""
    shadows = "".join(
        f"policy next{n} {{ mode shadow for pods {rule} }}" for n, rule in enumerate(rules)
    )
    worlds = [World(NOW, seed), World(NOW + shadows, seed)]
    for world in worlds:
        for each in nodes:
            world.fake.nodes.upsert(each)
        _let_arrive(world, pods)
    without, beside = ((w.binder.bound, w.fake.recorder.nominations) for w in worlds)
    assert beside == without
    told, told_beside = (
        [(pod, c.reason, c.message, n) for pod, c, n in w.fake.recorder.conditions] for w in worlds
    )
    assert told_beside == told
    counted = sum(tally.decided for tally in worlds[1].shadows.tallies.values())
    assert counted == sum(len(w.scheduler.decisions) * len(rules) for w in worlds[1:])


def _let_arrive(world: World, pods: list[objects.Pod]) -> None:
    async def scenario() -> None:
        for number, pod in enumerate(pods):
            if pod.metadata.deletion_timestamp is None:
                world.fake.pods.upsert(pod)
            if number % 2:
                await world.fake.settle()
                world.fake.clock.advance(30)
        await world.fake.settle()

    fakes.play(scenario())
