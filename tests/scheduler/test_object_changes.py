"""Which events an update amounts to."""

from __future__ import annotations

import pytest

from policysched.cluster.pods import pod_shape
from policysched.framework import events
from policysched.scheduler import object_changes
from tests import builders

Action = events.ActionType
SHAPES = pod_shape.PodShapeCache()
POD = builders.make_pod("a").requests(cpu="2", memory="1Gi").labels(app="web").gates("g")
NODE = (
    builders.make_node("n")
    .capacity(cpu=4)
    .labels(zone="a")
    .taint("t")
    .annotations({"a": "1"})
    .condition("Ready", "True")
)


@pytest.mark.parametrize(
    "new, actions",
    [
        pytest.param(POD, [Action.UPDATE_OTHER], id="nothing"),
        pytest.param(POD.status(phase="Running"), [Action.UPDATE_OTHER], id="status"),
        pytest.param(POD.annotations({"x": "y"}), [Action.UPDATE_OTHER], id="annotation"),
        pytest.param(POD.labels(app="db"), [Action.UPDATE_POD_LABEL], id="label"),
        pytest.param(
            POD.requests(cpu="1", memory="1Gi"), [Action.UPDATE_POD_SCALE_DOWN], id="less cpu"
        ),
        pytest.param(POD.requests(cpu="2"), [Action.UPDATE_POD_SCALE_DOWN], id="no memory"),
        pytest.param(POD.requests(cpu="3", memory="1Gi"), [Action.UPDATE_OTHER], id="more cpu"),
        pytest.param(POD.gates(), [Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED], id="last gate"),
        pytest.param(POD.gates("h"), [Action.UPDATE_OTHER], id="another gate"),
        pytest.param(POD.tolerates("x"), [Action.UPDATE_POD_TOLERATION], id="toleration"),
        pytest.param(
            POD.labels(app="db").tolerates("x"),
            [Action.UPDATE_POD_LABEL, Action.UPDATE_POD_TOLERATION],
            id="two at once",
        ),
    ],
)
@pytest.mark.parametrize(
    "node_name, resource",
    [
        pytest.param("", events.EventResource.UNSCHEDULED_POD, id="waiting"),
        pytest.param("n1", events.EventResource.POD, id="placed"),
    ],
)
def test_pod_changes(
    new: builders.PodBuilder,
    actions: list[events.ActionType],
    node_name: str,
    resource: events.EventResource,
) -> None:
    """Every kind of change has its event; what no event names is UPDATE_OTHER."""
    old_info = SHAPES.make_pod_info(POD.node(node_name).build())
    new_info = SHAPES.make_pod_info(new.node(node_name).build())
    expected = [events.ClusterEvent(resource, action) for action in actions]
    assert object_changes.list_pod_events(old_info, new_info) == expected


@pytest.mark.parametrize(
    "old, new, actions",
    [
        pytest.param(NODE, NODE, [], id="nothing"),
        pytest.param(NODE, NODE.image("i", size_bytes=1), [], id="what no plugin waits for"),
        pytest.param(NODE, NODE.capacity(cpu=8), [Action.UPDATE_NODE_ALLOCATABLE], id="room"),
        pytest.param(NODE, NODE.labels(zone="b"), [Action.UPDATE_NODE_LABEL], id="label"),
        pytest.param(NODE, NODE.taint("u"), [Action.UPDATE_NODE_TAINT], id="taint"),
        pytest.param(NODE, NODE.unschedulable(), [], id="cordoned: helps nobody"),
        pytest.param(NODE.unschedulable(), NODE, [Action.UPDATE_NODE_TAINT], id="uncordoned"),
        pytest.param(
            NODE, NODE.annotations({"a": "2"}), [Action.UPDATE_NODE_ANNOTATION], id="annotation"
        ),
        pytest.param(
            NODE, NODE.condition("Disk", "True"), [Action.UPDATE_NODE_CONDITION], id="condition"
        ),
        pytest.param(
            NODE.unschedulable(),
            NODE.taint("u").labels(zone="b"),
            [Action.UPDATE_NODE_TAINT, Action.UPDATE_NODE_LABEL],
            id="several: each once",
        ),
    ],
)
def test_node_changes(
    old: builders.NodeBuilder, new: builders.NodeBuilder, actions: list[events.ActionType]
) -> None:
    """Every kind of change has its event, once."""
    found = object_changes.list_node_events(old.build(), new.build())
    assert found == [events.ClusterEvent(events.EventResource.NODE, a) for a in actions]


def test_labels_of_events() -> None:
    """Metrics and logs name events like kube-scheduler."""
    node = events.EventResource.NODE
    assert events.ClusterEvent(node, Action.ADD).label == "NodeAdd"
    assert events.ClusterEvent(node, Action.UPDATE_NODE_TAINT).label == "NodeUpdateNodeTaint"
