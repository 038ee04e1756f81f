"""What pods and nodes invent leaves no columns behind, and changes no answer."""

from __future__ import annotations

import random

import numpy as np
import pytest

from policysched.cluster.columns import columns
from policysched.cluster.objects import objects, selectors
from policysched.plugins.kernels import tolerations
from tests import builders

GPU = "example.com/gpu"
ZONE = "zone"


@pytest.fixture
def world() -> builders.Cluster:
    """Return a cluster of two nodes, in zones of their own."""
    nodes = [builders.make_node(name).labels({ZONE: f"zone-{name}"}) for name in ("a", "b")]
    return builders.make_cache(nodes)


def in_zone(world: builders.Cluster, name: str) -> list[bool]:
    """Return which of the two nodes lie in a zone."""
    wanted = selectors.Requirement(ZONE, selectors.LabelOperator.IN, frozenset({name}))
    return [bool(each) for each in world.cache.snapshot().view_all_rows().matches(wanted)]


def test_labels_that_pods_select_by(world: builders.Cluster) -> None:
    """Keys without end leave a bounded number of columns; those in use come back as they were."""
    nodes = world.cache.nodes
    for number in range(5_000):
        assert not (world.cache.snapshot().view_all_rows().label_ids(f"key-{number}") >= 0).any()
    assert nodes.label_column_count < 1_000
    assert in_zone(world, "zone-b") == [False, True]
    world.cache.set_node(builders.make_node("a").labels({ZONE: "zone-b"}).build())
    assert in_zone(world, "zone-b") == [True, True]


def test_labels_are_forgotten_between_cycles_only(world: builders.Cluster) -> None:
    """Within a cycle values keep their numbers; afterwards nodes count as changed."""
    nodes = world.cache.nodes
    snap = world.cache.snapshot()
    column, generation = nodes.get_label_column(ZONE), nodes.node_changes.generation
    for number in range(5_000):
        nodes.get_label_column(f"key-{number}")
    assert snap.nodes.get_label_column(ZONE) is column
    assert nodes.node_changes.generation == generation
    world.cache.snapshot()
    assert nodes.label_column_count == 0
    assert nodes.node_changes.generation > generation


def test_taints_with_values_that_change(world: builders.Cluster) -> None:
    """Sets that no node has any more are forgotten, and tables by their numbers follow."""
    table = tolerations.TaintSetTable(tolerations.repels, ())
    sets = world.cache.nodes.taint_sets
    for number in range(5_000):
        name, effect = random.Random(number).choice(
            [("a", "NoSchedule"), ("b", "NoSchedule"), ("a", "PreferNoSchedule")]
        )
        node = builders.make_node(name).taint("last-seen", str(number), effect)
        world.cache.set_node(node.build())
        rows = world.cache.snapshot().view_all_rows()
        repels = [tolerations.repels(n.spec.taints, ()) for n in rows.objects() if n is not None]
        assert (table.at(rows) > 0).tolist() == repels
    assert len(world.cache.nodes.taint_sets) < 1_000
    assert world.cache.nodes.taint_sets is not sets


def test_host_ports(world: builders.Cluster) -> None:
    """A port that nobody claims any more leaves nothing."""
    for port in range(1, 100):
        pod = world.info(builders.make_pod(f"p{port}").host_port(port).node("a"))
        world.cache.add_pod(pod)
        assert len(world.cache.nodes.ports) == 1
        world.cache.remove_pod(pod)
    assert len(world.cache.nodes.ports) == 0


@pytest.mark.parametrize("are_many", [False, True], ids=["one by one", "all at once"])
def test_resources_that_no_node_has(world: builders.Cluster, *, are_many: bool) -> None:
    """Thousands of invented resources in one pod, placed or not, cost no column over all nodes."""
    nodes = world.cache.nodes
    requests = {f"example.com/r{number}": "1" for number in range(5_000)}
    pod = world.info(builders.make_pod("p").requests(**{"cpu": "1", **requests}).node("a"))
    if are_many:
        nodes.add_pods([(pod, 0)])
    else:
        nodes.add_pod(0, pod.shape)
    assert nodes.requested.shape[1] <= 8
    assert nodes.requested[0, columns.CPU] == 1000
    assert len(nodes.absent_resources) == 5_000
    nodes.remove_pod(0, pod.shape)
    assert len(nodes.absent_resources) == 0
    assert not nodes.requested.any()


def test_a_resource_that_comes_later(world: builders.Cluster) -> None:
    """What was requested of it before counts from the moment a node has it, on every row."""
    pods = [
        world.info(builders.make_pod(f"p{n}").requests(**{GPU: n}).node(node))
        for n, node in ((1, "a"), (2, "b"), (4, "a"))
    ]
    for pod in pods:
        world.cache.add_pod(pod)
    nodes = world.cache.nodes
    assert nodes.get_resource_column_index(GPU) == columns.ABSENT
    before = nodes.usage_changes.generation
    world.cache.set_node(builders.make_node("b").capacity(**{GPU: "8"}).build())
    column = nodes.get_resource_column_index(GPU)
    assert column != columns.ABSENT
    assert nodes.requested[:2, column].tolist() == [5, 2]
    assert set(nodes.usage_changes.list_changes_since(before) or ()) == {0, 1}
    world.cache.remove_pod(pods[0])
    assert nodes.requested[:2, column].tolist() == [4, 2]


def test_sums_of_absent_resources_overflow_as_in_columns(world: builders.Cluster) -> None:
    """Two pods that request all of an int64 each count as -2, as in an array."""
    most = 2**63 - 1
    for name in ("p", "q"):
        world.cache.add_pod(
            world.info(builders.make_pod(name).requests(**{GPU: str(most)}).node("a"))
        )
    world.cache.set_node(builders.make_node("a").capacity(**{GPU: "8"}).build())
    nodes = world.cache.nodes
    with np.errstate(over="ignore"):
        assert nodes.requested[0, nodes.get_resource_column_index(GPU)] == np.int64(
            most
        ) + np.int64(most)


def test_nobody_has_the_resource_that_stands_for_absent_ones() -> None:
    """A node in a file may name anything; that column stays zero."""
    node = builders.make_node("a").build()
    allocatable: objects.ResourceList = {"cpu": "1", "": "5"}
    status = objects.NodeStatus(allocatable=allocatable)
    world = builders.make_cache([objects.Node(node.metadata, node.spec, status)])
    assert not world.cache.nodes.allocatable[:, columns.ABSENT].any()
