"""Rows of nodes that are not known yet, or not any more."""

from __future__ import annotations

import numpy as np

from policysched.cluster.metrics import metric_table
from tests import builders


def test_a_pod_on_an_unknown_node_makes_a_row_that_caches_notice() -> None:
    """A pod may be seen before its node: metric columns grow with the new row."""
    cluster = builders.make_cache([builders.make_node("n1")])
    cluster.cache.metrics.refresh("load", {"n1": metric_table.Sample(0.5, 0.0)})
    assert len(cluster.cache.snapshot().view_all_rows().metric("load").values) == 1
    before = cluster.cache.nodes.node_changes.generation
    cluster.cache.add_pod(cluster.info(builders.make_pod("p").node("later")))
    assert cluster.cache.nodes.node_changes.list_changes_since(before) == [1]
    assert len(cluster.cache.snapshot().view_all_rows().metric("load").values) == 2


def test_a_reused_row_counts_as_changed() -> None:
    """The row of a deleted node means another node from now on, even before that one is known."""
    cluster = builders.make_cache([builders.make_node("n1"), builders.make_node("n2")])
    cluster.cache.remove_node("n1")
    before = cluster.cache.nodes.node_changes.generation
    cluster.cache.add_pod(cluster.info(builders.make_pod("p").node("later")))
    assert cluster.cache.nodes.node_changes.list_changes_since(before) == [0]


def test_amounts_and_labels_of_some_rows() -> None:
    """Plugins read them by the names of resources and labels, in the order of their view."""
    nodes = [
        builders.make_node("n1").capacity(cpu="2", pods=5).labels(disk="ssd"),
        builders.make_node("n2").capacity(cpu="500m", pods=6),
        builders.make_node("n3").capacity(**{"example.com/gpu": 3}, pods=7).labels(disk="hdd"),
    ]
    cluster = builders.make_cache(nodes)
    cluster.cache.add_pod(cluster.info(builders.make_pod("p").requests(cpu="250m").node("n2")))
    view = cluster.cache.snapshot().view_rows(np.array([2, 1, 0]))
    assert view.label_values("disk").tolist() == ["hdd", None, "ssd"]
    assert view.label_values("zone").tolist() == [None, None, None]
    resources = ("cpu", "example.com/gpu", "pods", "unknown")
    allocatable = {name: view.allocatable_of(name).tolist() for name in resources}
    assert allocatable == {
        "cpu": [0, 500, 2000],
        "example.com/gpu": [3, 0, 0],
        "pods": [7, 6, 5],
        "unknown": [0, 0, 0],
    }
    requested = {name: view.requested_of(name).tolist() for name in resources}
    assert requested == {
        "cpu": [0, 250, 0],
        "example.com/gpu": [0, 0, 0],
        "pods": [0, 1, 0],
        "unknown": [0, 0, 0],
    }
    assert cluster.cache.snapshot().view_all_rows().allocatable_of("cpu").tolist() == [2000, 500, 0]
