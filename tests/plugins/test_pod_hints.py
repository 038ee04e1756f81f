"""Which events bring back a pod that InterPodAffinity or PodTopologySpread rejected."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import objects, selectors
from policysched.cluster.pods import owner_selectors
from policysched.plugins.inter_pod_affinity import inter_pod_affinity
from policysched.plugins.pod_topology_spread import pod_topology_spread, spread_constraints
from tests.builders import (
    PodBuilder,
    expression,
    label_selector,
    make_cache,
    make_node,
    make_pod,
    node_term,
    pod_term,
)
from tests.plugins import hinting
from tests.plugins.hinting import Action

waiting = make_pod("waiting").labels(app="web")
db = make_pod("db").labels(app="db").node("n1")
cache = make_pod("cache").labels(app="cache").node("n1")
near_db = waiting.requires_pods(pod_term("zone", {"app": "db"}))
near_both = waiting.requires_pods(
    pod_term("zone", {"app": "db"}), pod_term("zone", {"tier": "data"})
)
away = waiting.rejects_pods(pod_term("zone", {"app": "db"}), pod_term("rack", {"app": "cache"}))
repelling = make_pod("x").node("n1").rejects_pods(pod_term("zone", {"app": "web"}))
near_self = waiting.requires_pods(pod_term("zone", {"app": "web"}))
in_teams = waiting.requires_pods(pod_term("zone", {"app": "db"}, namespace_selector={"team": "a"}))
node = make_node("n2")


def namespace(name: str, **labels: str) -> objects.Namespace:
    """Return a namespace."""
    return objects.Namespace(metadata=objects.ObjectMeta(name=name, labels=labels))


def namespace_changed(old: objects.Namespace | None, new: objects.Namespace) -> hinting.Happening:
    """A namespace appears or changes."""
    action = Action.UPDATE_OTHER if old else Action.ADD
    return hinting.Happening(hinting.Resource.NAMESPACE, action, old, new)


def node_relabelled(**labels: str) -> hinting.Happening:
    """A node in zone a, rack 1 gets other labels."""
    before = node.labels(zone="a", rack="1")
    after = before.labels(**labels)
    return hinting.node_updated(Action.UPDATE_NODE_LABEL, before, after)


AFFINITY = [
    pytest.param(near_db, hinting.pod_added(db), True, id="matching pod added"),
    pytest.param(near_db, hinting.pod_added(cache), False, id="other pod added"),
    pytest.param(near_db, hinting.pod_added(make_pod("db").labels(app="db")), False, id="unplaced"),
    pytest.param(near_both, hinting.pod_added(db), False, id="pod that matches one of two terms"),
    pytest.param(near_both, hinting.pod_added(db.labels(tier="data")), True, id="both terms"),
    pytest.param(
        near_db, hinting.pod_relabelled(cache, cache.labels(app="db")), True, id="relabel"
    ),
    pytest.param(near_db, hinting.pod_relabelled(db, cache), False, id="stops to match"),
    pytest.param(near_db, hinting.pod_deleted(db), False, id="matching pod deleted"),
    pytest.param(near_self, hinting.pod_deleted(waiting.node("n1")), True, id="last of a series"),
    pytest.param(away, hinting.pod_deleted(db), True, id="first repelled pod deleted"),
    pytest.param(away, hinting.pod_deleted(cache), True, id="second repelled pod deleted"),
    pytest.param(away, hinting.pod_deleted(make_pod("x").node("n1")), False, id="other deleted"),
    pytest.param(away, hinting.pod_relabelled(db, db.labels(app="x")), True, id="stops repelling"),
    pytest.param(away, hinting.pod_added(db), False, id="repelled pod added"),
    pytest.param(waiting, hinting.pod_deleted(repelling), True, id="repelling pod deleted"),
    pytest.param(make_pod("w"), hinting.pod_deleted(repelling), False, id="repels others"),
    pytest.param(
        waiting,
        hinting.own_change(Action.UPDATE_POD_LABEL, waiting, waiting.labels(app="x")),
        True,
        id="own labels",
    ),
    pytest.param(near_db, hinting.node_added(node.labels(zone="b")), True, id="node in a zone"),
    pytest.param(near_db, hinting.node_added(node), False, id="node without the key"),
    pytest.param(away, hinting.node_added(node), True, id="node for a repelled pod"),
    pytest.param(waiting, hinting.node_added(node), True, id="node without repelling pods"),
    pytest.param(near_db, node_relabelled(zone="b"), True, id="node changes zone"),
    pytest.param(near_db, node_relabelled(rack="2"), False, id="node changes rack"),
    pytest.param(away, node_relabelled(rack="2"), True, id="repelled in racks, node changes rack"),
    pytest.param(waiting, node_relabelled(zone="b"), True, id="repelled by a pod in the zone"),
    pytest.param(waiting, node_relabelled(rack="2"), False, id="repelled elsewhere"),
    pytest.param(
        in_teams, namespace_changed(namespace("t"), namespace("t", team="a")), True, id="joins"
    ),
    pytest.param(
        in_teams, namespace_changed(namespace("t"), namespace("t", team="b")), False, id="no match"
    ),
    pytest.param(in_teams, namespace_changed(None, namespace("t")), False, id="new namespace"),
    pytest.param(
        near_db, namespace_changed(None, namespace("t", team="a")), False, id="no selector"
    ),
    pytest.param(
        waiting,
        namespace_changed(namespace("default"), namespace("default", a="b")),
        True,
        id="own namespace, that placed pods may select",
    ),
]


@pytest.mark.parametrize("pod, happening, expected", AFFINITY)
def test_inter_pod_affinity(pod: PodBuilder, happening: hinting.Happening, expected: bool) -> None:
    """Pods that come to match, go or stop to repel help, and nodes that change domain."""
    first = make_node("n1").labels(zone="a")
    cluster = make_cache([first], [repelling.meta(name="y", uid="y")])
    plugin = inter_pod_affinity.InterPodAffinity()
    assert hinting.would_queue(plugin, pod, happening, cluster) == expected


spread = waiting.spread("zone", selector={"app": "web"})
web = make_pod("web").labels(app="web").node("n1")
other = make_pod("other").labels(app="other").node("n1")
in_zone = node.labels(zone="a")
on_ssd = spread.requires_nodes(node_term(expression("disk", "In", "ssd")))
honoring = waiting.spread("zone", selector={"app": "web"}, node_taints_policy="Honor")

SPREAD = [
    pytest.param(spread, hinting.pod_added(web), True, id="counted pod added"),
    pytest.param(spread, hinting.pod_added(other), False, id="other pod added"),
    pytest.param(spread, hinting.pod_deleted(web), True, id="counted pod deleted"),
    pytest.param(spread, hinting.pod_deleted(web.meta(namespace="prod")), False, id="namespace"),
    pytest.param(spread, hinting.pod_deleted(waiting), False, id="never placed"),
    pytest.param(spread, hinting.pod_relabelled(other, web), True, id="comes to count"),
    pytest.param(spread, hinting.pod_relabelled(web, web.labels(a="b")), False, id="still counts"),
    pytest.param(
        spread,
        hinting.own_change(Action.UPDATE_POD_LABEL, spread, spread.labels(app="x")),
        True,
        id="no longer counts itself",
    ),
    pytest.param(
        spread,
        hinting.own_change(Action.UPDATE_POD_LABEL, spread, spread.labels(a="b")),
        False,
        id="own label that no constraint selects",
    ),
    pytest.param(
        honoring,
        hinting.own_change(Action.UPDATE_POD_TOLERATION, honoring, honoring.tolerates("x")),
        True,
        id="own toleration, taints honored",
    ),
    pytest.param(
        spread,
        hinting.own_change(Action.UPDATE_POD_TOLERATION, spread, spread.tolerates("x")),
        False,
        id="own toleration, taints ignored",
    ),
    pytest.param(spread, hinting.node_added(in_zone), True, id="node with the key added"),
    pytest.param(spread, hinting.node_added(node), False, id="node without the key added"),
    pytest.param(
        spread,
        hinting.Happening(hinting.Resource.NODE, Action.DELETE, in_zone, None),
        True,
        id="node with the key deleted",
    ),
    pytest.param(
        spread,
        hinting.Happening(hinting.Resource.NODE, Action.DELETE, node, None),
        False,
        id="node without the key deleted",
    ),
    pytest.param(
        spread,
        hinting.node_updated(Action.UPDATE_NODE_LABEL, in_zone, in_zone.labels(zone="b")),
        True,
        id="node changes zone",
    ),
    pytest.param(
        spread,
        hinting.node_updated(Action.UPDATE_NODE_LABEL, in_zone, in_zone.labels(rack="b")),
        False,
        id="node changes rack",
    ),
    pytest.param(
        on_ssd,
        hinting.node_updated(Action.UPDATE_NODE_LABEL, in_zone, in_zone.labels(disk="ssd")),
        True,
        id="node comes to match node affinity",
    ),
    pytest.param(
        spread,
        hinting.node_updated(Action.UPDATE_NODE_TAINT, in_zone, in_zone.taint("x")),
        False,
        id="taint, taints ignored",
    ),
    pytest.param(
        honoring,
        hinting.node_updated(Action.UPDATE_NODE_TAINT, in_zone, in_zone.taint("x")),
        True,
        id="taint, taints honored",
    ),
]


@pytest.mark.parametrize("pod, happening, expected", SPREAD)
def test_pod_topology_spread(pod: PodBuilder, happening: hinting.Happening, expected: bool) -> None:
    """Pods that count coming or going help, and nodes that change or leave a domain."""
    plugin = pod_topology_spread.PodTopologySpread(owner_selectors.OwnerSelectors())
    assert hinting.would_queue(plugin, pod, happening) == expected


def test_default_constraints_count_in_hints() -> None:
    """A pod under default constraints waits for pods that its service selects."""
    owners = owner_selectors.OwnerSelectors()
    selector = selectors.from_label_selector(label_selector(app="web"))
    owners.set_selector(owner_selectors.OwnerKind.SERVICE, "default", "web", selector)
    zone = objects.TopologySpreadConstraint(max_skew=1, topology_key="zone")
    defaults = spread_constraints.SpreadDefaults((zone,), is_system=False)
    plugin = pod_topology_spread.PodTopologySpread(owners, defaults)
    assert hinting.would_queue(plugin, waiting, hinting.pod_deleted(web))
    assert not hinting.would_queue(plugin, waiting, hinting.pod_deleted(other))
