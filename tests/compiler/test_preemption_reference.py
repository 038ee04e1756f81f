"""Preemption by rule equals the scalar reference, whatever happened before."""

from __future__ import annotations

from typing import Any

import hypothesis
import hypothesis.strategies as st
import msgspec
import pytest

from policysched.cluster.objects import objects
from policysched.lang.checked import checked
from policysched.plugins.kernels import victims
from tests.compiler import strategies, test_reference
from tests.reference import policy_preemption


@st.composite
def crowds(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """Return events that make a few nodes with several pods each."""
    names = strategies.NODE_NAMES[: draw(st.integers(1, 2))]
    placed = strategies.POD_NAMES[: draw(st.integers(2, 6))]
    made = [("node", draw(strategies.nodes(name))) for name in names]
    pods = [("pod", draw(strategies.pods(p, draw(st.sampled_from(names))))) for p in placed]
    return [*made, *pods]


def _make_important(pod: objects.Pod) -> objects.Pod:
    spec = msgspec.structs.replace(pod.spec, priority=100)
    return msgspec.structs.replace(pod, spec=spec)


def _start_pod(kind: str, what: Any) -> tuple[str, Any]:
    """Give a placed pod a start of its own: Go's clock would decide between pods without one."""
    if kind == "pod":
        minute = 10 + strategies.POD_NAMES.index(what.metadata.uid)
        said = msgspec.structs.replace(what.status, start_time=f"2026-01-05T11:{minute}:00Z")
        what = msgspec.structs.replace(what, status=said)
    return kind, what


HISTORIES = (
    strategies.programs(strategies.PREEMPTION_KINDS),
    crowds(),
    st.lists(strategies.events, max_size=3),
    st.lists(strategies.pods("new").map(_make_important), min_size=1, max_size=2),
)


@test_reference.THOROUGH
@hypothesis.given(*HISTORIES)
def test_victims_equal_the_reference(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
    pods: list[objects.Pod],
) -> None:
    """Kept pods, closed nodes and victims agree in every profile, after every change."""
    _assert_same_victims(program, beginning, then, pods)


@pytest.mark.proof
@hypothesis.settings(test_reference.THOROUGH, max_examples=10_000)
@hypothesis.given(*HISTORIES)
def test_victims_in_ten_thousand_generated_clusters(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
    pods: list[objects.Pod],
) -> None:
    """As above: rare cases show in a night, not in the minutes of a change."""
    _assert_same_victims(program, beginning, then, pods)


def _assert_same_victims(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
    pods: list[objects.Pod],
) -> None:
    twin = test_reference.Twin(program)
    for event in beginning:
        twin.happen(*_start_pod(*event))
    for event in (("time", 0.0), *then):
        twin.happen(*_start_pod(*event))
        for pod in pods:
            for name in ("one", "two", ""):
                twin.assert_same(name, pod)
                _assert_same_preemption(twin, name, pod)


def _assert_same_preemption(twin: test_reference.Twin, profile_name: str, pod: objects.Pod) -> None:
    """Compare every node that preemption may consider, and the decision about the pod."""
    framework, snap = twin.frameworks[profile_name], twin.cache.snapshot()
    info = twin.shapes.make_pod_info(pod)
    result = framework.schedule_pod(info, snap)
    if result.diagnosis is None:
        return
    own, judge = twin.profiles.get(profile_name), twin.judge
    rows = victims.potential_rows(result.diagnosis, snap).tolist()
    nodes = [twin.plain.nodes[snap.nodes.names[row]] for row in rows]
    expected = {
        node.name: policy_preemption.select_victims(judge, own, pod, node)
        for node in nodes
        if not policy_preemption.closing_rules(judge, own, pod, node)
    }
    found, refused = test_reference.PREEMPTION.find_candidates(
        result.state, info, snap, result.diagnosis
    )
    ours: dict[str, Any] = {
        snap.nodes.names[row]: _read_rules(answer.reasons) for row, answer in refused.items()
    }
    for each in found:
        ours[snap.nodes.names[each.row]] = [victim.uid for victim in each.victims]
    assert ours == expected, f"{ours} {expected}"
    answer = framework.run_post_filter(result.state, info, snap, result.diagnosis)
    assert answer is not None
    is_helped = any(isinstance(each, list) for each in expected.values())
    assert bool(answer.victims) == (is_helped and policy_preemption.may_preempt(judge, own, pod))


def _read_rules(reasons: tuple[str, ...]) -> set[str] | None:
    """Return the rules of a rejection by kept pods, None for other rejections."""
    begin = "node(s) had pods kept by policy "
    rules = {each.removeprefix(begin) for each in reasons if each.startswith(begin)}
    return rules or None
