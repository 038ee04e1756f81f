"""What the property test does not generate: pods without a profile, changes between steps."""

from __future__ import annotations

from policysched.auditing import cluster_audit
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime
from tests import builders
from tests.compiler import desk

_POLICY = """version 1
policy fast { for pods where app = web  nodeAffinity required pool = fast as pool }
"""


def _make_desk(text: str = _POLICY) -> desk.Desk:
    return desk.Desk(text, [desk.node("a", pool="slow"), desk.node("b", pool="fast")])


def _make_audit(made: desk.Desk) -> cluster_audit.ClusterAudit:
    def choose(info: pod_shape.PodInfo) -> runtime.Framework | None:
        return None if info.pod.spec.scheduler_name == "other" else made.frameworks[None]

    return cluster_audit.ClusterAudit(choose, made.cache.snapshot)


def _pod(name: str, node: str) -> builders.PodBuilder:
    return desk.pod(name, app="web").node(node)


def test_pods_of_other_schedulers_are_not_judged() -> None:
    """No profile serves them."""
    made = _make_desk()
    made.place(_pod("ours", "a"), _pod("theirs", "a").scheduler_name("other"))
    audit = _make_audit(made)
    (verdict,) = [each for step in audit.judge_in_steps() for each in step]
    assert [info.pod.metadata.name for info in verdict.pods] == ["ours"]
    assert audit.pod_count == 1


def test_a_pod_that_leaves_between_two_steps_is_not_judged() -> None:
    """The cluster may change while a running scheduler audits it in steps."""
    made = _make_desk()
    made.place(_pod("one", "a"), _pod("two", "a"))
    steps = _make_audit(made).judge_in_steps()
    next(steps)
    made.remove(_pod("one", "a"))
    (verdict,) = [each for step in steps for each in step]
    assert [info.pod.metadata.name for info in verdict.pods] == ["two"]


def test_a_pod_that_moves_between_two_steps_is_not_judged_on_its_old_node() -> None:
    """A pod of the same name on another node is another pod."""
    made = _make_desk()
    made.place(_pod("one", "a"))
    steps = _make_audit(made).judge_in_steps()
    next(steps)
    made.remove(_pod("one", "a"))
    made.place(_pod("one", "b"))
    assert [each for step in steps for each in step] == []


def test_a_pod_that_changes_between_two_steps_hides_no_identical_pods() -> None:
    """It is judged by its new labels, and the others by theirs."""
    made = _make_desk()
    made.place(_pod("one", "a"), _pod("two", "a"))
    steps = _make_audit(made).judge_in_steps()
    next(steps)
    made.remove(_pod("one", "a"))
    made.place(desk.pod("one", app="web", tier="front").node("a"))
    judged = [info for step in steps for verdict in step for info in verdict.pods]
    assert sorted(info.pod.metadata.name for info in judged) == ["one", "two"]
