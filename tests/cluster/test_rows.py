"""Rows of nodes that are not known yet, or not any more."""

from __future__ import annotations

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
