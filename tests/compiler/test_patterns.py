"""Values with `*`: in selectors of nodes, pods and namespaces."""

from __future__ import annotations

import pytest

from policysched.compiler import condition_evidence
from policysched.framework import events
from policysched.lang.checked import checked
from tests import builders
from tests.compiler import desk, test_requeue

WEB = desk.node("web-1", pool="gpu-a", rack="r1")
OTHER = desk.node("web-b.c", pool="gpu")
DB = desk.node("db-web-1", pool="", rack="r2")
NODES = [WEB, OTHER, DB]
LABEL = events.ActionType.UPDATE_NODE_LABEL
ADD = events.ActionType.ADD


def _feasible(selector: str) -> list[str]:
    text = f"policy p {{ for pods nodeAffinity required {selector} }}"
    return desk.Desk(text, NODES).feasible(desk.pod())


@pytest.mark.parametrize(
    "selector, feasible",
    [
        ('nodeName = "web-*"', ["web-1", "web-b.c"]),
        ('nodeName != "web-*"', ["db-web-1"]),
        ('nodeName In (db-web-1, "*.c")', ["web-b.c", "db-web-1"]),
        ('nodeName NotIn (db-web-1, "*.c")', ["web-1"]),
        ('nodeName = "*"', ["web-1", "web-b.c", "db-web-1"]),
        ('nodeName = "*web-1"', ["web-1", "db-web-1"]),
        ('nodeName = "*1*1"', []),
        ('pool = "gpu-*"', ["web-1"]),
        ('pool = "gpu*"', ["web-1", "web-b.c"]),
        ('pool != "gpu-*"', ["web-b.c", "db-web-1"]),
        ('rack = "*"', ["web-1", "db-web-1"]),
        ('pool = "*"', ["web-1", "web-b.c", "db-web-1"]),
        ('rack != "r*"', ["web-b.c"]),
        ('not rack In (r1, "*2")', ["web-b.c"]),
    ],
)
def test_nodes(selector: str, feasible: list[str]) -> None:
    """A pattern matches the whole text; a missing label matches only negations."""
    assert _feasible(selector) == feasible


def _matches(selector: str, pod: builders.PodBuilder) -> bool:
    text = f"policy p {{ for pods where {selector} reject when requests(cpu) >= 0 }}"
    return not desk.Desk(text, [WEB]).feasible(pod)


@pytest.mark.parametrize(
    "selector, is_match",
    [
        ('app = "web-*"', True),
        ('app != "*-a"', False),
        ('tier = "*"', False),
        ('tier != "*"', True),
        ('priorityClassName = "high-*"', True),
        ('serviceAccountName = "*"', False),
        ('serviceAccountName != "ci-*"', True),
        ('ownerKind = "*"', False),
    ],
)
def test_pods(selector: str, is_match: bool) -> None:
    """A field that is unset matches no pattern."""
    pod = desk.pod(app="web-a").spec(priority_class_name="high-1", service_account_name="")
    assert _matches(selector, pod) is is_match


@pytest.mark.parametrize(
    "names, is_match",
    [('("team-*")', True), ('(shop, "*-a")', True), ('("team-b*", shop)', False)],
)
def test_namespaces(names: str, is_match: bool) -> None:
    """Of the pod, by name."""
    text = f"policy p {{ for pods in namespace {names} reject when requests(cpu) >= 0 }}"
    there = desk.Desk(text, [WEB])
    assert there.feasible(builders.make_pod("p", "team-a")) == ([] if is_match else ["web-1"])


def test_counted_pods() -> None:
    """Placed pods that match, in namespaces that match."""
    text = (
        'policy p { for pods podAntiAffinity required pods where app = "db-*" and tier != "x*" '
        'topologyKey kubernetes.io/hostname namespaces ("team-*") }'
    )
    names = ("a", "b", "c", "d", "e")
    hosts = [desk.node(name, **{"kubernetes.io/hostname": name}) for name in names]
    there = desk.Desk(text, hosts)
    there.place(
        builders.make_pod("a", "team-1").labels({"app": "db-1"}).node("a"),
        builders.make_pod("b", "team-1").labels({"app": "db"}).node("b"),
        builders.make_pod("c", "shop").labels({"app": "db-1"}).node("c"),
        builders.make_pod("d", "team-1").labels({"app": "db-1", "tier": "x1"}).node("d"),
    )
    assert there.feasible(desk.pod()) == ["b", "c", "d", "e"]
    there.place(builders.make_pod("e", "team-2").labels({"app": "db-9", "tier": "y"}).node("e"))
    assert there.feasible(desk.pod()) == ["b", "c", "d"]


def test_texts_of_a_param() -> None:
    """May be patterns, as those of the policy."""
    text = (
        'param pools: strings = "gpu-*, cpu" '
        "policy p { for pods nodeAffinity required pool In ($pools) }"
    )
    assert desk.Desk(text, NODES).feasible(desk.pod()) == ["web-1"]


def test_a_name_is_known_although_nodes_come_and_go() -> None:
    """The rows of nodes that went are used again."""
    there = desk.Desk('policy p { for pods nodeAffinity required nodeName = "web-*" }', NODES)
    for number in range(200):
        there.cache.set_node(desk.node(f"web-{number}").build())
        there.cache.set_node(desk.node(f"db-{number}").build())
        assert f"web-{number}" in there.feasible(desk.pod())
        there.cache.remove_node(f"web-{number}")
        there.cache.remove_node(f"db-{number}")
    assert there.feasible(desk.pod()) == ["web-b.c"]


def test_a_hundred_changes_that_cannot_help() -> None:
    """None of them queues the pod; a node with a name and a label that match does."""
    text = 'policy p { for pods nodeAffinity required nodeName = "web-*" and pool = "gpu-*" }'
    there = test_requeue.Waiting(text, [desk.node("web-1"), desk.node("db-1", pool="gpu-1")])
    there.begin(desk.pod())
    for number in range(100):
        assert not there.change_node(desk.node("web-1", pool=f"cpu-{number}"), LABEL)
        assert not there.change_node(desk.node(f"db-{number}", pool="gpu-2"), ADD)
    assert there.change_node(desk.node("web-2", pool="gpu-3"), ADD)
    assert there.change_node(desk.node("web-1", pool="gpu-4"), LABEL)


def test_evidence() -> None:
    """The texts that were compared."""
    text = 'policy p { for pods nodeAffinity required nodeName = "x*" and pool = "cpu*" }'
    there = desk.Desk(text, [WEB])
    (rule,) = desk.check(text).policies[0].rules
    assert isinstance(rule, checked.NodeAffinityRule)
    parts = condition_evidence.selector_parts(
        rule.selector, wanted=False, node=there.cache.snapshot().view_all_rows()
    )
    assert list(parts) == ["nodeName is web-1", "pool=gpu-a"]
