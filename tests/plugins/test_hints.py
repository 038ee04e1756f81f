"""Which events bring back a pod that a plugin rejected, and which do not."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.cluster.objects import objects
from policysched.framework import events
from policysched.plugins import (
    node_name,
    node_ports,
    node_resources_fit,
    node_unschedulable,
    pod_groups,
    scheduling_gates,
    taint_toleration,
)
from policysched.plugins.node_affinity import node_affinity
from tests.builders import (
    PodBuilder,
    expression,
    make_cache,
    make_node,
    make_pod,
    node_term,
)
from tests.plugins import asking, hinting
from tests.plugins.hinting import Action

waiting = make_pod("waiting").labels(app="web").requests(cpu="1")
placed = make_pod("placed").node("n1").requests(cpu="1", memory="1Gi")
node = make_node("n1")
large = node.capacity(cpu="4", memory="8Gi")
tainted = node.taint("dedicated")

UNSCHEDULABLE = [
    pytest.param(hinting.node_added(node), True, id="schedulable node added"),
    pytest.param(hinting.node_added(node.unschedulable()), False, id="cordoned node added"),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_TAINT, node.unschedulable(), node),
        True,
        id="node uncordoned",
    ),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_TAINT, node, tainted), False, id="other taint"
    ),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_LABEL, node, node.labels(a="b")), False, id="label"
    ),
    pytest.param(
        hinting.own_change(
            Action.UPDATE_POD_TOLERATION,
            waiting,
            waiting.tolerates("node.kubernetes.io/unschedulable"),
        ),
        True,
        id="own toleration of cordoned nodes",
    ),
    pytest.param(
        hinting.own_change(Action.UPDATE_POD_TOLERATION, waiting, waiting.tolerates("dedicated")),
        False,
        id="own toleration of something else",
    ),
    pytest.param(hinting.pod_deleted(placed), False, id="pod deleted"),
]


@pytest.mark.parametrize("happening, expected", UNSCHEDULABLE)
def test_node_unschedulable(happening: hinting.Happening, expected: bool) -> None:
    """Only a node that takes pods again, or a toleration, helps."""
    plugin = node_unschedulable.NodeUnschedulable()
    assert hinting.would_queue(plugin, waiting, happening) == expected


TAINTS = [
    pytest.param(hinting.node_added(node), True, id="node without taints added"),
    pytest.param(hinting.node_added(tainted), False, id="tainted node added"),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_TAINT, tainted, node), True, id="taint removed"
    ),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_TAINT, tainted.taint("b"), tainted),
        False,
        id="one of two taints removed",
    ),
    pytest.param(
        hinting.node_updated(
            Action.UPDATE_NODE_TAINT, node, node.taint("a", effect="PreferNoSchedule")
        ),
        False,
        id="tolerated before and after",
    ),
    pytest.param(
        hinting.own_change(Action.UPDATE_POD_TOLERATION, waiting, waiting.tolerates("dedicated")),
        True,
        id="own toleration",
    ),
    pytest.param(
        hinting.own_change(
            Action.UPDATE_POD_TOLERATION, make_pod("other"), make_pod("other").tolerates("x")
        ),
        False,
        id="toleration of another pod",
    ),
]


@pytest.mark.parametrize("happening, expected", TAINTS)
def test_taint_toleration(happening: hinting.Happening, expected: bool) -> None:
    """Only nodes whose taints became tolerated help."""
    plugin = taint_toleration.TaintToleration()
    assert hinting.would_queue(plugin, waiting, happening) == expected


def test_taint_toleration_knows_tolerations_of_policies() -> None:
    """A taint that a policy tolerates does not keep the hint from queueing."""
    plugin = taint_toleration.TaintToleration()
    cluster = make_cache([tainted.taint("other")])
    pod = cluster.info(waiting)
    state = asking.state_for(pod)
    state.tolerations = (objects.Toleration(key="dedicated", operator="Exists"),)
    plugin.shares(state, pod.shape)
    assert not plugin.filter(state, pod, cluster.cache.snapshot().view_all_rows()).passes.any()
    hint = plugin.events_to_register()[0].hint
    assert hint is not None
    assert hint(pod, tainted.taint("other").build(), tainted.build()).name == "QUEUE"


selecting = waiting.node_selector(disk="ssd")
ssd, hdd = node.labels(disk="ssd"), node.labels(disk="hdd")
AFFINITY = [
    pytest.param(hinting.node_added(ssd), True, id="matching node added"),
    pytest.param(hinting.node_added(hdd), False, id="other node added"),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_LABEL, hdd, ssd), True, id="node comes to match"
    ),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_LABEL, ssd, ssd.labels(a="b")),
        False,
        id="matched before",
    ),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_TAINT, tainted, node), False, id="taint removed"
    ),
]


@pytest.mark.parametrize("happening, expected", AFFINITY)
def test_node_affinity(happening: hinting.Happening, expected: bool) -> None:
    """Only nodes that come to match help."""
    assert hinting.would_queue(node_affinity.NodeAffinity(), selecting, happening) == expected


def test_node_affinity_looks_at_the_added_affinity() -> None:
    """A node that matches the pod helps only if it matches the profile's affinity too."""
    terms = objects.NodeSelector(node_selector_terms=(node_term(expression("pool", "In", "web")),))
    added = objects.NodeAffinity(required_during_scheduling_ignored_during_execution=terms)
    plugin = node_affinity.NodeAffinity(added)
    assert not hinting.would_queue(plugin, selecting, hinting.node_added(ssd))
    in_pool = hinting.node_updated(Action.UPDATE_NODE_LABEL, ssd, ssd.labels(pool="web"))
    assert hinting.would_queue(plugin, selecting, in_pool)


with_port = waiting.host_port(80)
PORTS = [
    pytest.param(hinting.pod_deleted(placed.host_port(80)), True, id="same port"),
    pytest.param(hinting.pod_deleted(placed.host_port(80, ip="10.0.0.1")), True, id="any address"),
    pytest.param(hinting.pod_deleted(placed.host_port(81)), False, id="other port"),
    pytest.param(hinting.pod_deleted(placed.host_port(80, protocol="UDP")), False, id="protocol"),
    pytest.param(hinting.pod_deleted(make_pod("p").host_port(80)), False, id="never placed"),
    pytest.param(
        hinting.pod_deleted(make_pod("p").host_port(80).nominated("n1")), True, id="nominated"
    ),
    pytest.param(hinting.node_added(node), True, id="node added"),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_LABEL, node, node.labels(a="b")), False, id="label"
    ),
]


@pytest.mark.parametrize("happening, expected", PORTS)
def test_node_ports(happening: hinting.Happening, expected: bool) -> None:
    """Only the holder of one of the ports going, or a new node, helps."""
    assert hinting.would_queue(node_ports.NodePorts(), with_port, happening) == expected


RESOURCES = [
    pytest.param(hinting.pod_deleted(placed), True, id="pod with the resource deleted"),
    pytest.param(
        hinting.pod_deleted(make_pod("p").node("n1").requests(memory="1Gi")),
        False,
        id="pod without the resource deleted",
    ),
    pytest.param(hinting.pod_deleted(make_pod("p").requests(cpu="1")), False, id="never placed"),
    pytest.param(
        hinting.Happening(
            hinting.Resource.POD,
            Action.UPDATE_POD_SCALE_DOWN,
            placed,
            placed.requests(cpu="500m", memory="1Gi"),
        ),
        True,
        id="pod shrinks",
    ),
    pytest.param(
        hinting.Happening(
            hinting.Resource.POD,
            Action.UPDATE_POD_SCALE_DOWN,
            placed,
            placed.requests(cpu="1", memory="1Mi"),
        ),
        False,
        id="pod shrinks in something else",
    ),
    pytest.param(
        hinting.own_change(Action.UPDATE_POD_SCALE_DOWN, waiting, waiting.requests(cpu="500m")),
        True,
        id="the pod itself shrinks",
    ),
    pytest.param(hinting.node_added(large), True, id="large node added"),
    pytest.param(hinting.node_added(node.capacity(cpu="1")), True, id="node of its size added"),
    pytest.param(hinting.node_added(node.capacity(cpu="500m")), False, id="small node added"),
    pytest.param(hinting.node_added(large.capacity(pods=0)), False, id="node for no pods added"),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_ALLOCATABLE, node.capacity(cpu="2"), large),
        True,
        id="node grew in cpu",
    ),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_ALLOCATABLE, large.capacity(memory="4Gi"), large),
        False,
        id="node grew in memory",
    ),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_ALLOCATABLE, large.capacity(pods=10), large),
        True,
        id="node takes more pods",
    ),
    pytest.param(
        hinting.node_updated(
            Action.UPDATE_NODE_ALLOCATABLE, node.capacity(cpu="100m"), node.capacity(cpu="500m")
        ),
        False,
        id="node grew, but not enough",
    ),
]


@pytest.mark.parametrize("happening, expected", RESOURCES)
def test_node_resources_fit(happening: hinting.Happening, expected: bool) -> None:
    """Only what frees or adds a requested resource helps."""
    cluster = make_cache([make_node("full").capacity(cpu="500m")])
    plugin = node_resources_fit.NodeResourcesFit()
    assert hinting.would_queue(plugin, waiting, happening, cluster) == expected


def test_any_deletion_helps_where_places_were_short() -> None:
    """A node with too many pods has room after any of them goes."""
    cluster = make_cache([make_node("full").capacity(cpu="4", pods=1)], [placed.node("full")])
    deleted = hinting.pod_deleted(make_pod("p").node("n1"))
    plugin = node_resources_fit.NodeResourcesFit()
    assert hinting.would_queue(plugin, waiting, deleted, cluster)


@pytest.mark.parametrize(
    "pod, expected", [(make_pod("waiting"), True), (make_pod("other"), False)], ids=["own", "other"]
)
def test_scheduling_gates(pod: PodBuilder, expected: bool) -> None:
    """Only the pod's own last gate going helps."""
    happening = hinting.own_change(
        Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, pod.gates("a"), pod
    )
    plugin = scheduling_gates.SchedulingGates()
    assert hinting.would_queue(plugin, waiting, happening) == expected


@pytest.mark.parametrize(
    "plugin, happening, expected",
    [
        pytest.param(
            node_name.NodeName(), hinting.node_added(node), True, id="NodeName: node added"
        ),
        pytest.param(
            node_name.NodeName(), hinting.pod_deleted(placed), False, id="NodeName: pod deleted"
        ),
        pytest.param(
            pod_groups.PodGroups(),
            hinting.node_added(node),
            False,
            id="PodGroups: node added",
        ),
    ],
)
def test_plugins_without_hints(plugin: Any, happening: hinting.Happening, expected: bool) -> None:
    """What a plugin does not wait for does not bring pods back."""
    assert hinting.would_queue(plugin, waiting, happening) == expected


@pytest.mark.parametrize(
    "plugin",
    [
        node_unschedulable.NodeUnschedulable(),
        taint_toleration.TaintToleration(),
        node_affinity.NodeAffinity(),
        node_ports.NodePorts(),
        node_resources_fit.NodeResourcesFit(),
    ],
    ids=lambda plugin: plugin.name,
)
@pytest.mark.parametrize("action", [Action.UPDATE_NODE_ANNOTATION, Action.UPDATE_NODE_CONDITION])
def test_heartbeats_help_nobody(plugin: Any, action: events.ActionType) -> None:
    """Conditions and annotations of nodes bring no pod back."""
    happening = hinting.node_updated(action, node, node.annotations({"seen": "now"}))
    assert not hinting.would_queue(plugin, waiting, happening)
