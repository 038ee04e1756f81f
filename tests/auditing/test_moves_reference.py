"""After each planned move, the scalar reference sees no violation that was not there before."""

from __future__ import annotations

from typing import Any

import hypothesis
import hypothesis.strategies as st
import msgspec
import pytest

from policysched.auditing import (
    cluster_audit,
    loop_guard,
    move_exclusions,
    move_planning,
)
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime
from policysched.lang.checked import checked
from tests import builders
from tests.auditing import violators
from tests.compiler import strategies, test_reference
from tests.reference import policy_audit


@st.composite
def _wide_clusters(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """Return events that make several nodes, of which a violator may find another one."""
    names = strategies.NODE_NAMES[: draw(st.integers(3, 5))]
    placed = strategies.POD_NAMES[: draw(st.integers(2, 6))]
    made = [("node", draw(strategies.nodes(name))) for name in names]
    pods = [("pod", draw(strategies.pods(p, draw(st.sampled_from(names))))) for p in placed]
    return [*made, *pods]


_HISTORIES = (
    strategies.programs(strategies.FILTER_KINDS),
    _wide_clusters(),
    st.lists(strategies.events, max_size=3),
)


@pytest.mark.slow
@test_reference.THOROUGH
@hypothesis.given(*_HISTORIES)
def test_moves_cause_no_violation(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
) -> None:
    """The moved pod is in order, and no other pod violates a rule that it did not violate."""
    _check_moves(program, beginning, then)


@pytest.mark.proof
@hypothesis.settings(test_reference.THOROUGH, max_examples=5_000)
@hypothesis.given(*_HISTORIES)
def test_moves_in_five_thousand_generated_clusters(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
) -> None:
    """As above: rare cases show in a night, not in the minutes of a change."""
    _check_moves(program, beginning, then)


def _check_moves(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
) -> None:
    for name in ("one", "two", ""):
        twin = test_reference.Twin(program)
        for event in (*beginning, *then):
            twin.happen(*_give_owner(*event))
        if name in twin.frameworks:
            _check_moves_of_profile(twin, name)


def _give_owner(kind: str, what: Any) -> tuple[str, Any]:
    """Let each placed pod belong to a ReplicaSet, which would create it again."""
    if kind == "pod":
        owner = objects.OwnerReference("apps/v1", "ReplicaSet", "web", "uid-web", controller=True)
        metadata = msgspec.structs.replace(what.metadata, owner_references=(owner,))
        what = msgspec.structs.replace(what, metadata=metadata)
    return kind, what


def _check_moves_of_profile(twin: test_reference.Twin, name: str) -> None:
    def choose(info: pod_shape.PodInfo) -> runtime.Framework:
        del info
        return twin.frameworks[name]

    limits = move_exclusions.MoveLimits(max_per_workload=9, moves_system_pods=True)
    exclusions = move_exclusions.MoveExclusions(limits, twin.cache.budgets)
    guard = loop_guard.LoopGuard((), violators.DAY)
    planner = move_planning.MovePlanner(twin.cache, choose, exclusions, guard, builders.EPOCH)
    found = cluster_audit.audit_cluster(choose, twin.cache.snapshot).violations
    before = _find_violations(twin, name)
    for violator in move_planning.list_violators(found):
        uid, move = violator.pod.uid, planner.plan_move(violator)
        if isinstance(move, move_planning.PlannedMove):
            pod = twin.plain.pods[uid]
            spec = msgspec.structs.replace(pod.spec, node_name=move.target)
            twin.plain.pods[uid] = msgspec.structs.replace(pod, spec=spec)
        after = _find_violations(twin, name)
        if isinstance(move, move_planning.PlannedMove):
            assert move.target != violator.node
            assert after[uid] == set()
        assert all(rules <= before[uid] for uid, rules in after.items())
        before = after


def _find_violations(twin: test_reference.Twin, name: str) -> dict[str, set[str]]:
    """Return the rules that each pod violates, by the reference."""
    profile = twin.profiles.get(name)
    return {
        pod.metadata.uid: policy_audit.violated_rules(twin.judge, profile, pod)
        for pod in list(twin.plain.pods.values())
        if pod.spec.node_name in twin.plain.nodes and pod.metadata.deletion_timestamp is None
    }
