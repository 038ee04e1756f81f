"""Plugins that are asked about a single changed node say what they say of many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policysched.framework import cycle_state
from policysched.plugins import node_resources_balanced_allocation, node_resources_fit
from policysched.plugins.kernels import allocation
from tests import builders, examples

if TYPE_CHECKING:
    from collections.abc import Sequence

_CPU = st.sampled_from(["0", "100m", "333m", "1", "2500m", "4"])
_USUAL = st.sampled_from(["0", "1", "100Mi", "3Gi", "64Gi"])
_ANY = st.one_of(_USUAL, st.sampled_from(["7Ei", "8E"]))
"""Memory; two pods of the last ones are more than an int64 holds."""


def _resources(memory: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, str]]:
    gpus = {"example.com/gpu": st.sampled_from(["0", "1", "3"])}
    return st.fixed_dictionaries({"cpu": _CPU, "memory": memory}, optional=gpus)


@st.composite
def worlds(
    draw: st.DrawFn, memory: st.SearchStrategy[str]
) -> tuple[builders.Cluster, builders.PodBuilder]:
    """Return nodes, pods on them, and one that waits."""
    count, amounts = draw(st.integers(1, 4)), _resources(memory)
    nodes = [
        builders.make_node(f"n{n}").capacity(pods=draw(st.integers(0, 3)), **draw(amounts))
        for n in range(count)
    ]
    placed = [
        builders.make_pod(f"p{n}")
        .node(f"n{draw(st.integers(0, count - 1))}")
        .requests(**draw(amounts))
        for n in range(draw(st.integers(0, 4)))
    ]
    return builders.make_cache(nodes, placed), builders.make_pod("p").requests(**draw(amounts))


@pytest.mark.parametrize(
    "plugin",
    [
        node_resources_fit.NodeResourcesFit(),
        node_resources_fit.NodeResourcesFit(allocation.MOST_ALLOCATED),
        node_resources_fit.NodeResourcesFit(
            allocation.RequestedToCapacityRatio([(0, 0), (100, 100)])
        ),
        node_resources_fit.NodeResourcesFit(resources=[("example.com/gpu", 3), ("cpu", 2)]),
    ],
    ids=["least", "most", "ratio", "weighted"],
)
@settings(max_examples=examples.scale(30))
@given(world=worlds(_ANY))
def test_room_in_one_node(
    plugin: node_resources_fit.NodeResourcesFit,
    world: tuple[builders.Cluster, builders.PodBuilder],
) -> None:
    """Reasons, codes and points of each row alone are those of the arrays, overflows included."""
    cluster, waiting = world
    info, snap, state = cluster.info(waiting), cluster.cache.snapshot(), cycle_state.CycleState()
    scores = plugin.score(state, info, snap.view_all_rows())
    answers = plugin.filter(state, info, snap.view_all_rows())
    for row in range(snap.size):
        node = snap.view_rows(np.array([row]))
        told = plugin.filter(state, info, node)
        assert told.statuses[told.ids[0]] == answers.statuses[answers.ids[row]]
        assert plugin.score(state, info, node).item() == scores[row]


@pytest.mark.parametrize(
    "resources",
    [("cpu", "memory"), ("cpu", "memory", "example.com/gpu")],
    ids=["two resources", "three"],
)
@settings(max_examples=examples.scale(30))
@given(world=worlds(_USUAL))
def test_balance_of_one_node(
    resources: Sequence[str], world: tuple[builders.Cluster, builders.PodBuilder]
) -> None:
    """Points of each row alone are those of the arrays, to the last bit of every quotient."""
    plugin = node_resources_balanced_allocation.NodeResourcesBalancedAllocation(resources)
    cluster, waiting = world
    info, snap, state = cluster.info(waiting), cluster.cache.snapshot(), cycle_state.CycleState()
    scores = plugin.score(state, info, snap.view_all_rows())
    alone = [snap.view_rows(np.array([row])) for row in range(snap.size)]
    assert [plugin.score(state, info, node).item() for node in alone] == scores.tolist()
