"""Labels of nodes compared with values of the incoming pod, while the cluster changes."""

from __future__ import annotations

import pytest

from policysched.framework import events
from tests import builders
from tests.compiler import desk, test_requeue

OWN_NODES = "policy p {{ for pods nodeAffinity required {} missing {} }}"
TENANTS = [desk.node("a", tenant="a"), desk.node("b", tenant="b"), desk.node("s", tenant="shared")]
NO_LABEL = desk.node("n")


@pytest.mark.parametrize(
    "selector, tenant, missing, feasible",
    [
        ("tenant = pod(tenant)", "a", "reject", ["a"]),
        ("tenant = pod(tenant)", "new", "allow", []),
        ("tenant = pod(tenant)", None, "reject", []),
        ("tenant = pod(tenant)", None, "allow", ["a", "b", "s", "n"]),
        ("tenant != pod(tenant)", "a", "reject", ["b", "s", "n"]),
        ("tenant != pod(tenant)", None, "reject", []),
        ("tenant In (shared, pod(tenant))", "a", "reject", ["a", "s"]),
        ("tenant In (shared, pod(tenant))", None, "reject", ["s"]),
        ("tenant NotIn (shared, pod(tenant))", "a", "reject", ["b", "n"]),
        ("tenant NotIn (shared, pod(tenant))", None, "allow", ["a", "b", "n"]),
        ("tenant = pod(tenant) or tenant DoesNotExist", None, "reject", ["n"]),
        ("not (tenant = pod(tenant) and tenant != b)", None, "reject", ["b"]),
    ],
)
def test_a_label_of_the_node_and_one_of_the_pod(
    selector: str, tenant: str | None, missing: str, feasible: list[str]
) -> None:
    """What a pod without the label gets is what the rule says, unless the rest decides."""
    there = desk.Desk(OWN_NODES.format(selector, missing), [*TENANTS, NO_LABEL])
    labels = {} if tenant is None else {"tenant": tenant}
    assert there.feasible(builders.make_pod("p").labels(labels)) == feasible


def test_other_values_of_the_pod() -> None:
    """Annotations, the namespace and its labels are compared as labels of the pod are."""
    there = desk.Desk(
        """
        policy p {
          for pods
          nodeAffinity required rack = pod(annotation(example.com/rack)) missing allow
          reject when node(reserved Exists and reserved != pod(namespace))
          nodeAffinity required home = pod(namespaceLabel(home)) missing reject
        }
        """,
        [
            desk.node("other-rack", rack="1", home="eu"),
            desk.node("reserved", rack="2", home="eu", reserved="other"),
            desk.node("other-home", rack="2", home="us"),
            desk.node("good", rack="2", home="eu", reserved="default"),
        ],
        {"default": {"home": "eu"}},
    )
    assert there.feasible(desk.pod().annotations({"example.com/rack": "2"})) == ["good"]


def test_points_of_a_preferred_term() -> None:
    """A pod without the value gives all nodes the points of `missing`."""
    text = "policy p { for pods nodeAffinity preferred tenant = pod(tenant) missing score 30 as t }"
    there = desk.Desk(text, TENANTS)
    assert there.points(desk.pod(tenant="b"), "p/t") == {"a": 0, "b": 100, "s": 0}
    assert there.points(desk.pod(), "p/t") == {"a": 30, "b": 30, "s": 30}


def test_a_let_is_read_like_its_selector() -> None:
    """A selector with values of the pod can have a name."""
    text = (
        "let own = { tenant = pod(tenant) } policy p { for pods nodeAffinity required own or %s }"
    )
    there = desk.Desk(text % "tenant = shared missing reject", TENANTS)
    assert there.feasible(desk.pod(tenant="a")) == ["a", "s"]


# --- counted pods --------------------------------------------------------------------------------

PLACES = [desk.node("a1", zone="a"), desk.node("b1", zone="b"), desk.node("c1", zone="c")]
PLACED = (
    desk.pod("x").labels({"tenant": "x", "app": "cache"}).node("a1"),
    desk.pod("x2").labels({"tenant": "x", "app": "cache"}).node("a1"),
    desk.pod("y").labels({"tenant": "y", "app": "cache"}).node("b1"),
)


@pytest.mark.parametrize(
    "rule, tenant, feasible",
    [
        ("podAffinity required {} missing reject", "x", ["a1"]),
        ("podAffinity required {} missing reject", None, []),
        ("podAffinity required {} missing allow", None, ["a1", "b1", "c1"]),
        ("podAntiAffinity required {} missing allow", "y", ["a1", "c1"]),
        ("podAntiAffinity required {} missing allow", None, ["a1", "b1", "c1"]),
        ("topologySpread {} missing allow", "x", ["b1", "c1"]),
        ("topologySpread {} missing allow", None, ["a1", "b1", "c1"]),
    ],
)
def test_pods_whose_label_has_a_value_of_the_incoming_pod(
    rule: str, tenant: str | None, feasible: list[str]
) -> None:
    """For a pod without the value, no pod is counted."""
    counted = "pods where app = cache and tenant = pod(tenant) topologyKey zone"
    there = desk.Desk(f"policy p {{ for pods {rule.format(counted)} }}", PLACES)
    there.place(*PLACED)
    labels = {} if tenant is None else {"tenant": tenant}
    assert there.feasible(builders.make_pod("p").labels(labels)) == feasible


def test_the_first_pod_of_a_tenant_has_the_label_that_it_looks_for() -> None:
    """It may go anywhere, as with the same term in its own spec."""
    text = """
    policy p {
      for pods
      podAffinity required pods where tenant = pod(tenant) topologyKey zone missing reject
    }
    """
    there = desk.Desk(text, PLACES)
    there.place(*PLACED)
    assert there.feasible(desk.pod(tenant="new")) == ["a1", "b1", "c1"]
    assert there.feasible(desk.pod(tenant="x")) == ["a1"]


def test_a_placed_pod_repels_the_pods_that_it_names() -> None:
    """Required anti-affinity acts for the pods of the policy after they are placed, too."""
    text = """
    policy p {
      for pods where shy Exists
      podAntiAffinity required pods where app = pod(annotation(avoids))
        topologyKey zone missing allow
    }
    """
    there = desk.Desk(text, PLACES)
    there.place(desk.pod("s", shy="1").annotations({"avoids": "web"}).node("b1"))
    assert there.feasible(desk.pod(app="web")) == ["a1", "c1"]
    assert there.feasible(desk.pod(app="db")) == ["a1", "b1", "c1"]


# --- a cluster that changes ----------------------------------------------------------------------


def test_a_value_that_comes_to_a_node_later() -> None:
    """A pod that was tried before any node had its value fits as soon as one has it."""
    there = desk.Desk(OWN_NODES.format("tenant = pod(tenant)", "reject"), TENANTS)
    pod = desk.pod(tenant="new")
    assert there.feasible(pod) == []
    there.cache.set_node(desk.node("b", tenant="new").build())
    assert there.feasible(pod) == ["b"]
    there.cache.set_node(desk.node("c", tenant="new").build())
    assert there.feasible(pod) == ["b", "c"]
    there.cache.remove_node("b")
    assert there.feasible(pod) == ["c"]


def test_more_values_than_a_column_keeps() -> None:
    """A column of labels that is made anew numbers its values anew."""
    there = desk.Desk(OWN_NODES.format("tenant = pod(tenant)", "reject"), TENANTS)
    made_anew = 0
    column = there.cache.nodes.get_label_column("tenant")
    for number in range(2500):
        there.cache.set_node(desk.node("b", tenant=f"t{number}").build())
        if there.cache.nodes.get_label_column("tenant") is not column:
            column = there.cache.nodes.get_label_column("tenant")
            made_anew += 1
            assert there.feasible(desk.pod(tenant="a")) == ["a"]
            assert there.feasible(desk.pod(tenant=f"t{number}")) == ["b"]
    assert made_anew > 1


def test_labels_of_the_namespace_that_change() -> None:
    """The present labels count."""
    text = OWN_NODES.format("tenant = pod(namespaceLabel(tenant))", "reject")
    there = desk.Desk(text, TENANTS, {"default": {"tenant": "a"}})
    assert there.feasible(desk.pod()) == ["a"]
    there.cache.set_namespace("default", {"tenant": "b"})
    assert there.feasible(desk.pod()) == ["b"]
    there.cache.set_namespace("default", {})
    assert there.feasible(desk.pod()) == []


# --- waking a pod that waits ---------------------------------------------------------------------


def test_only_a_node_with_the_value_of_the_pod_wakes_it() -> None:
    """A hundred other values do not."""
    text = OWN_NODES.format("tenant = pod(tenant)", "reject")
    there = test_requeue.Waiting(text, TENANTS).begin(desk.pod(tenant="mine"))
    for number in range(100):
        other = desk.node("a", tenant=f"other-{number}")
        assert not there.change_node(other, events.ActionType.UPDATE_NODE_LABEL)
    assert there.change_node(desk.node("a", tenant="mine"), events.ActionType.UPDATE_NODE_LABEL)


def test_a_node_with_the_value_of_the_namespace_wakes_a_pod() -> None:
    """What the node was before is compared with the same value."""
    text = OWN_NODES.format("tenant = pod(namespaceLabel(tenant))", "allow")
    there = test_requeue.Waiting(text, TENANTS, {"default": {"tenant": "mine"}}).begin(desk.pod())
    changed = events.ActionType.UPDATE_NODE_LABEL
    assert not there.change_node(desk.node("a", tenant="other"), changed)
    assert there.change_node(desk.node("a", tenant="mine"), changed)


def test_only_labels_of_its_namespace_with_a_node_wake_a_pod() -> None:
    """A namespace label that no node has is no reason to try again."""
    text = OWN_NODES.format("tenant = pod(namespaceLabel(tenant))", "reject")
    namespaces = {"default": {"tenant": "nobody"}}
    there = test_requeue.Waiting(text, TENANTS, namespaces).begin(desk.pod())
    changed = events.ClusterEvent(events.EventResource.NAMESPACE, events.ActionType.UPDATE_OTHER)
    for number in range(100):
        there.cache.set_namespace("default", {"tenant": f"nobody-{number}"})
        assert not there.hint(changed)
    there.cache.set_namespace("default", {"tenant": "b"})
    assert there.hint(changed)


def test_only_a_pod_with_the_value_wakes_a_pod() -> None:
    """A hundred pods of other tenants do not help; the one of the same tenant does."""
    text = """
    policy p {
      for pods
      podAffinity required pods where app = cache and tenant = pod(tenant)
        topologyKey zone missing reject
    }
    """
    there = test_requeue.Waiting(text, PLACES).begin(desk.pod(tenant="mine"))
    for number in range(100):
        other = desk.pod(f"o{number}").labels({"app": "cache", "tenant": f"t{number}"}).node("a1")
        assert not there.add_pod(other)
    mine = desk.pod("m").labels({"app": "cache", "tenant": "mine"}).node("b1")
    assert there.add_pod(mine)
