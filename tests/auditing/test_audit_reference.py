"""The audit of all pods together equals the scalar reference about one pod after the other."""

from __future__ import annotations

from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from policysched.auditing import cluster_audit
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime
from policysched.lang.checked import checked
from tests.compiler import strategies, test_preemption_reference, test_reference, time_strategies
from tests.reference import policy_audit

_BEGINNINGS = st.one_of(test_reference.beginnings(), test_preemption_reference.crowds())
_HISTORIES = (
    strategies.programs(strategies.FILTER_KINDS),
    _BEGINNINGS,
    st.lists(strategies.events, max_size=4),
)
_HISTORIES_OF_TIMES = (time_strategies.programs(), _BEGINNINGS, time_strategies.histories())


@pytest.mark.slow
@test_reference.THOROUGH
@hypothesis.given(*_HISTORIES)
def test_violations_equal_the_reference(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
) -> None:
    """The violated rules agree for each pod in every profile, after every change."""
    _compare(program, beginning, then)


@pytest.mark.proof
@hypothesis.settings(test_reference.THOROUGH, max_examples=10_000)
@hypothesis.given(*_HISTORIES)
def test_violations_in_ten_thousand_generated_clusters(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
) -> None:
    """As above: rare cases show in a night, not in the minutes of a change."""
    _compare(program, beginning, then)


@pytest.mark.slow
@test_reference.THOROUGH
@hypothesis.given(*_HISTORIES_OF_TIMES)
def test_rules_about_an_attempt_are_no_violations(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
) -> None:
    """Waiting times and ages of pods are not audited; ages of nodes are."""
    _compare(program, beginning, then)


def _compare(
    program: checked.CheckedProgram,
    beginning: list[tuple[str, Any]],
    then: list[tuple[str, Any]],
) -> None:
    twin = test_reference.Twin(program)
    for event in beginning:
        twin.happen(*event)
    for event in (("time", 0.0), *then):
        twin.happen(*event)
        for name in twin.frameworks:
            _compare_profile(twin, name)


def _compare_profile(twin: test_reference.Twin, profile_name: str) -> None:
    """Compare the rules that each pod violates, and the state of the cluster afterwards."""
    before = _count_pods(twin)
    found = _find_violated_rules(twin, profile_name)
    expected = {
        pod.metadata.uid: policy_audit.violated_rules(
            twin.judge, twin.profiles.get(profile_name), pod
        )
        for pod in list(twin.plain.pods.values())
        if pod.spec.node_name in twin.plain.nodes and pod.metadata.deletion_timestamp is None
    }
    assert found == {uid: rules for uid, rules in expected.items() if rules}
    assert _count_pods(twin) == before


def _find_violated_rules(twin: test_reference.Twin, profile_name: str) -> dict[str, set[str]]:
    """Return the rules that each pod violates, by uid; evidence must not fail."""

    def choose(info: pod_shape.PodInfo) -> runtime.Framework:
        del info
        return twin.frameworks[profile_name]

    result = cluster_audit.audit_cluster(choose, twin.cache.snapshot)
    found: dict[str, set[str]] = {}
    for each in result.violations:
        for info in each.pods:
            found.setdefault(info.uid, set()).add(each.rule.head.name)
    return found


def _count_pods(twin: test_reference.Twin) -> list[list[str]]:
    """Return the uids on each row: an audit supposes only for a moment that pods are gone."""
    snap = twin.cache.snapshot()
    return [[info.uid for info in snap.placed.get_pods(row)] for row in range(snap.size)]
