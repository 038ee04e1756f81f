"""Compiled policies decide as the scalar reference does, whatever happened before."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster import snapshot
from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.compiler import compiler
from policysched.framework import cycle_state, explanation, handles, profile, runtime
from policysched.lang.checked import checked
from policysched.plugins import default_preemption
from tests import examples
from tests.compiler import strategies, time_strategies
from tests.reference import policy_claims, policy_filters, policy_pods, policy_scores, policy_world

PREEMPTION = default_preemption.DefaultPreemption(handles.Handle())
THOROUGH = hypothesis.settings(
    max_examples=examples.scale(150), suppress_health_check=[hypothesis.HealthCheck.too_slow]
)


class Twin:
    """One cluster twice: in a cache, and as plain objects."""

    def __init__(self, program: checked.CheckedProgram) -> None:
        compiled = compiler.compile_program(program)
        self.clock = clocks.ManualClock(strategies.EPOCH)
        self.cache = caches.Cache(self.clock)
        self.cache.retain_needed_metric_data(compiled.metric_needs)
        self.shapes = pod_shape.PodShapeCache(
            compiled.annotation_keys, find_claim=policy_claims.find_claim
        )
        self.plain = policy_world.World(now_seconds=strategies.START_SECONDS)
        self.judge = policy_pods.Judge(self.plain, program)
        self.frameworks = {
            each.name or "": framework(each) for each in (*compiled.profiles, compiled.others)
        }
        self.profiles = {each.name: each for each in program.profiles}

    def happen(self, kind: str, what: Any) -> None:
        """Let an event change both."""
        getattr(self, "_" + kind.replace(" ", "_"))(what)

    def _node(self, node: objects.Node) -> None:
        self.cache.set_node(node)
        self.plain.add_node(node)

    def _no_node(self, name: str) -> None:
        self.cache.remove_node(name)
        self.plain.remove_node(name)

    def _pod(self, pod: objects.Pod) -> None:
        self.cache.update_pod(self.shapes.make_pod_info(pod))
        self.plain.place(pod)

    def _no_pod(self, uid: str) -> None:
        pod = self.plain.pods.pop(uid, None)
        if pod is not None:
            self.cache.remove_pod(self.shapes.make_pod_info(pod))

    def _metric(self, what: tuple[str, dict[str, tuple[float, float]]]) -> None:
        key, samples = what
        now = self.plain.now_seconds
        taken = {name: metric_table.Sample(v, now - age) for name, (v, age) in samples.items()}
        self.cache.metrics.refresh(key, taken)
        self.plain.refresh(key, taken)
        policy_filters.refreshed(self.judge, key)

    def _time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.plain.now_seconds += seconds

    def _namespace(self, what: tuple[str, dict[str, str]]) -> None:
        name, own = what
        self.cache.set_namespace(name, own)
        self.plain.namespaces[name] = own

    def explain(self, profile_name: str, pod: objects.Pod) -> explanation.Explanation:
        """Return what the compiled policies say."""
        info = self.shapes.make_pod_info(pod)
        return self.frameworks[profile_name].explain_pod(info, self.cache.snapshot())

    def schedule(self, profile_name: str, pod: objects.Pod) -> runtime.ScheduleResult:
        """Return what the compiled policies decide."""
        info = self.shapes.make_pod_info(pod)
        return self.frameworks[profile_name].schedule_pod(info, self.cache.snapshot())

    def assert_same(self, profile_name: str, pod: objects.Pod) -> None:
        """Compare what both say about every node."""
        said = self.explain(profile_name, pod)
        own = self.profiles.get(profile_name)
        expected = {
            name: policy_filters.rejections(self.judge, own, pod, node)
            for name, node in self.plain.nodes.items()
        }
        assert {v.name: _rejections(v) for v in said.verdicts} == expected
        assert {v.name: v.first.is_success for v in said.verdicts} == {
            name: not rejections for name, rejections in expected.items()
        }
        feasible = [node for name, node in self.plain.nodes.items() if not expected[name]]
        if not feasible or own is None:
            return
        points = policy_scores.scores(self.judge, own, pod, feasible)
        assert said.scores is not None
        names = [self.cache.nodes.names[row] for row in said.scores.rows.tolist()]
        weights = self.frameworks[profile_name].profile.weights
        scored = {
            rule: dict(zip(names, (found // weights[rule]).tolist(), strict=True))
            for rule, found in said.scores.by_plugin.items()
        }
        assert scored == points
        assert all(0 <= p <= 10_000 for by_node in scored.values() for p in by_node.values())
        decided = self.schedule(profile_name, pod)
        assert decided.feasible_count == len(feasible)
        if decided.scores is not None:
            assert np.array_equal(decided.scores.totals, said.scores.totals)


def framework(compiled: compiler.CompiledPolicies) -> runtime.Framework:
    """Return a framework that runs policies and preemption, and no other plugin."""
    made = profile.Profile(
        scheduler_name=compiled.name or "",
        plugins=(*compiled.plugins, PREEMPTION),
        weights=compiled.weights,
        tolerations=compiled.tolerations,
        preemption_limits=compiled.preemption_limits,
        projection=compiled.projection,
        time_bounds=compiled.time_bounds,
    )
    return runtime.Framework(made, None)


def _rejections(verdict: explanation.NodeVerdict) -> set[policy_filters.Rejection]:
    failures = set()
    for failure in verdict.all_failures:
        assert failure.plugin == "Policy"
        assert failure.rule is not None
        assert failure.rule.line == strategies.SPAN.line
        failures.add((f"{failure.rule.policy}/{failure.rule.rule}", failure.code.value))
    return failures


@st.composite
def beginnings(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """Return events that make a cluster of some nodes, pods, samples and namespaces."""
    names = strategies.NODE_NAMES[: draw(st.integers(1, 5))]
    placed = strategies.POD_NAMES[: draw(st.integers(0, 6))]
    made = [("node", draw(strategies.nodes(name))) for name in names]
    pods = [("pod", draw(strategies.pods(p, draw(st.sampled_from(names))))) for p in placed]
    return [*made, *pods]


@dataclasses.dataclass(frozen=True)
class Moment:
    """A pod that is to be decided about under each of some profiles."""

    frameworks: list[runtime.Framework]
    info: pod_shape.PodInfo
    snap: snapshot.Snapshot

    def states(self) -> Iterator[tuple[runtime.Framework, cycle_state.CycleState]]:
        """Yield the profiles, each with a fresh state of its plugins."""
        for each in self.frameworks:
            tolerations = each.profile.tolerations(self.info.shape, self.snap)
            yield each, cycle_state.CycleState(tolerations)


@st.composite
def moments(draw: st.DrawFn) -> Moment:
    """Return any policies, a cluster with a short history, and a pod."""
    twin = Twin(draw(strategies.programs()))
    for event in (*draw(beginnings()), *draw(st.lists(strategies.events, max_size=3))):
        twin.happen(*event)
    info = twin.shapes.make_pod_info(draw(strategies.pods("new")))
    return Moment(list(twin.frameworks.values()), info, twin.cache.snapshot())


ALL_PROFILES = ("one", "two", "")
HISTORIES = (
    strategies.programs(),
    beginnings(),
    st.lists(strategies.events, max_size=5),
    st.lists(strategies.pods("new"), min_size=1, max_size=2),
)


@THOROUGH
@hypothesis.given(*HISTORIES)
def test_compiled_policies_decide_as_the_reference(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
    pods: list[objects.Pod],
) -> None:
    """Verdicts, codes and points agree in every profile, at first and after every change."""
    _compare_histories(program, beginning, then, pods, ALL_PROFILES)


@pytest.mark.proof
@hypothesis.settings(THOROUGH, max_examples=10_000)
@hypothesis.given(*HISTORIES)
def test_ten_thousand_generated_clusters_agree_with_the_reference(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
    pods: list[objects.Pod],
) -> None:
    """As above: rare cases show in a night, not in the minutes of a change."""
    _compare_histories(program, beginning, then, pods, ALL_PROFILES)


def _compare_histories(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
    pods: list[objects.Pod],
    profiles: tuple[str, ...],
) -> None:
    twin = Twin(program)
    for event in beginning:
        twin.happen(*event)
    for event in (("time", 0.0), *then):
        twin.happen(*event)
        for pod in pods:
            for name in profiles:
                twin.assert_same(name, pod)


HISTORIES_OF_TIMES = (
    time_strategies.programs(),
    beginnings(),
    time_strategies.histories(),
    st.lists(strategies.pods("new"), min_size=1, max_size=2),
)


@THOROUGH
@hypothesis.given(*HISTORIES_OF_TIMES)
def test_times_decide_as_the_reference(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
    pods: list[objects.Pod],
) -> None:
    """Waiting times and ages agree before and after each bound."""
    _compare_histories(program, beginning, then, pods, ("one",))


@pytest.mark.proof
@hypothesis.settings(THOROUGH, max_examples=10_000)
@hypothesis.given(*HISTORIES_OF_TIMES)
def test_ten_thousand_clusters_agree_with_the_reference_on_times(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
    pods: list[objects.Pod],
) -> None:
    """As above, in a night."""
    _compare_histories(program, beginning, then, pods, ("one",))


@hypothesis.given(strategies.programs(), beginnings(), strategies.pods("new"))
def test_order_of_rules_and_policies_means_nothing(
    program: checked.CheckedProgram, beginning: list[tuple[str, Any]], pod: objects.Pod
) -> None:
    """Turning every order around changes no verdict and no score."""
    forth, back = Twin(program), Twin(_turned_around(program))
    for event in beginning:
        forth.happen(*event)
        back.happen(*event)
    for name in ("one", "two", ""):
        one, other = forth.explain(name, pod), back.explain(name, pod)
        assert [_rejections(v) for v in one.verdicts] == [_rejections(v) for v in other.verdicts]
        assert one.best == other.best
        if one.scores and other.scores:
            assert np.array_equal(one.scores.totals, other.scores.totals)


def _turned_around(program: checked.CheckedProgram) -> checked.CheckedProgram:
    def turn_policy(policy: checked.CheckedPolicy) -> checked.CheckedPolicy:
        return dataclasses.replace(policy, rules=policy.rules[::-1])

    def turn(each: checked.CheckedProfile) -> checked.CheckedProfile:
        return dataclasses.replace(
            each, policies=tuple(turn_policy(policy) for policy in each.policies[::-1])
        )

    return dataclasses.replace(
        program, profiles=tuple(turn(each) for each in program.profiles[::-1])
    )
