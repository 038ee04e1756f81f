"""Plugins whose answers are kept by row, against the scalar reference, through changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.strategies as st

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, interface
from policysched.plugins import (
    image_locality,
    node_ports,
    node_resources_balanced_allocation,
    node_resources_fit,
    node_unschedulable,
    taint_toleration,
)
from policysched.plugins.node_affinity import node_affinity
from tests import examples
from tests.plugins import asking, strategies, worlds
from tests.reference import cluster, single_node

FOCUS = strategies.Focus.ONE_NODE
NodeFunction = Callable[[objects.Pod, objects.Node, cluster.Cluster], Any]

FIT_RESOURCES: st.SearchStrategy[list[tuple[str, int]]] = st.sampled_from(
    (
        [("cpu", 1), ("memory", 1)],
        [("example.com/gpu", 5), ("cpu", 1)],
        [("ephemeral-storage", 100), ("hugepages-2Mi", 3)],
    )
)
SHAPES = st.sampled_from((((0, 0), (100, 10)), ((20, 10), (60, 3), (90, 7)), ((50, 0),)))
BALANCED_RESOURCES = st.sampled_from(
    (("cpu", "memory"), ("cpu", "memory", "ephemeral-storage"), ("example.com/gpu", "cpu"))
)


@dataclasses.dataclass
class Check:
    """A plugin at one extension point, and what it should say of each node."""

    kept: asking.Kept
    point: str
    expected: NodeFunction

    def run(self, world: worlds.World, pod: pod_shape.PodInfo) -> None:
        """Compare every node."""
        snap = world.built.cache.snapshot()
        ours = asking.alive(snap, self.kept.update(pod, snap, self.point))
        expected = [self.expected(pod.pod, node, world.plain) for node in world.nodes]
        assert ours == expected, f"{self.kept.plugin.name} {self.point}"


@st.composite
def fit_checks(draw: st.DrawFn, pod: pod_shape.PodInfo) -> list[Check]:
    """Return NodeResourcesFit with drawn arguments."""
    strategy = draw(
        st.sampled_from(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"))
    )
    resources = draw(FIT_RESOURCES)
    ignored = draw(st.sampled_from(((), ("example.com/gpu",), ("hugepages-2Mi",))))
    groups = draw(st.sampled_from(((), ("example.com",))))
    shape = draw(SHAPES)
    specs = [{"name": name, "weight": weight} for name, weight in resources]
    scoring: dict[str, Any] = {"type": strategy, "resources": specs}
    if strategy == "RequestedToCapacityRatio":
        points = [{"utilization": x, "score": y} for x, y in shape]
        scoring["requestedToCapacityRatio"] = {"shape": points}
    plugin = node_resources_fit.NodeResourcesFit.from_args(
        {
            "ignoredResources": ignored,
            "ignoredResourceGroups": groups,
            "scoringStrategy": scoring,
        },
        handles.Handle(),
    )
    return [
        _check(
            plugin,
            pod,
            "filter",
            lambda p, n, c: single_node.node_resources_fit(p, n, c, ignored, groups),
        ),
        _check(
            plugin,
            pod,
            "score",
            lambda p, n, c: single_node.fit_score(p, n, c, strategy, resources, shape),
        ),
    ]


@st.composite
def checks(draw: st.DrawFn, pod: pod_shape.PodInfo) -> list[Check]:
    """Return all plugins that keep their answers."""
    added = draw(strategies.maybe(strategies.node_affinities))
    affinity = node_affinity.NodeAffinity(added)
    taints = taint_toleration.TaintToleration()
    resources = draw(BALANCED_RESOURCES)
    balanced = node_resources_balanced_allocation.NodeResourcesBalancedAllocation(resources)
    return [
        _check(
            node_unschedulable.NodeUnschedulable(),
            pod,
            "filter",
            lambda p, n, _: single_node.node_unschedulable(p, n),
        ),
        _check(taints, pod, "filter", lambda p, n, _: single_node.taint_toleration(p, n)),
        _check(taints, pod, "score", lambda p, n, _: single_node.taint_score(p, n)),
        _check(affinity, pod, "filter", lambda p, n, _: single_node.node_affinity(p, n, added)),
        _check(
            affinity, pod, "score", lambda p, n, _: single_node.node_affinity_score(p, n, added)
        ),
        _check(node_ports.NodePorts(), pod, "filter", single_node.node_ports),
        *draw(fit_checks(pod)),
        _check(
            balanced, pod, "score", lambda p, n, c: single_node.balanced_score(p, n, c, resources)
        ),
        _check(
            image_locality.ImageLocality(),
            pod,
            "score",
            lambda p, n, c: single_node.image_score(p, n, c, strategies.IMAGE_SIZES),
        ),
    ]


def _check(
    plugin: interface.Plugin, pod: pod_shape.PodInfo, point: str, expected: NodeFunction
) -> Check:
    return Check(asking.Kept(plugin, asking.state_for(pod)), point, expected)


@hypothesis.settings(max_examples=examples.scale(80))
@hypothesis.given(st.data())
def test_kept_answers_equal_the_reference_after_every_change(data: st.DataObject) -> None:
    """What a plugin said before, patched where its `reads` says so, is what it should say now."""
    world = data.draw(worlds.worlds(FOCUS))
    pod = world.info(data.draw(strategies.pods("pending", focus=FOCUS)))
    all_checks = data.draw(checks(pod))
    for _ in range(4):
        for check in all_checks:
            check.run(world, pod)
        hypothesis.note(data.draw(worlds.changes(world, FOCUS)))
