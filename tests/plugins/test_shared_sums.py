"""Affinity and spread share sums between shapes for which the same pods count, and only these."""

from __future__ import annotations

from typing import Any
from unittest import mock

import hypothesis
import hypothesis.strategies as st
import pytest

from policysched.cluster import snapshot
from policysched.cluster.pods import owner_selectors, pod_shape, shape_projection
from policysched.framework import profile, runtime
from policysched.plugins.inter_pod_affinity import inter_pod_affinity
from policysched.plugins.kernels import domains
from policysched.plugins.pod_topology_spread import pod_topology_spread
from tests import builders, examples
from tests.plugins import strategies, worlds

_PROJECTION = shape_projection.PodFieldsRead()


def _framework(owners: owner_selectors.OwnerSelectors) -> runtime.Framework:
    """Return a profile of nothing but spread and affinity."""
    plugins = (
        pod_topology_spread.PodTopologySpread(owners),
        inter_pod_affinity.InterPodAffinity(),
    )
    weights = dict.fromkeys((plugin.name for plugin in plugins), 1)
    return runtime.Framework(
        profile.Profile("test", plugins, weights, projection=_PROJECTION), None
    )


def _told(framework: runtime.Framework, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> Any:
    """Return what is said of every row, and the points of those that pass."""
    result = framework.schedule_pod(pod, snap)
    failures = result.failures
    if failures is None:
        return result.status, result.message
    by_row = [failures.statuses[n] if n >= 0 else None for n in failures.ids.tolist()]
    scores = result.scores
    points = None if scores is None else (scores.rows.tolist(), scores.totals.tolist())
    return by_row, points, result.message


def _twin(data: st.DataObject, of: pod_shape.PodInfo, number: int) -> builders.PodBuilder:
    """Return a pod that differs in labels alone, in one that nobody reads or in others, too."""
    labels = data.draw(st.sampled_from([of.pod.metadata.labels, data.draw(strategies.pod_labels)]))
    name = f"twin{number}"
    return builders.PodBuilder(of.pod).meta(name=name, uid=name, labels=labels | {"number": name})


@pytest.mark.parametrize("focus", [strategies.Focus.AFFINITY, strategies.Focus.SPREAD])
@hypothesis.settings(max_examples=examples.scale(40))
@hypothesis.given(data=st.data())
def test_shapes_that_differ_in_labels_are_told_what_new_plugins_say(
    focus: strategies.Focus, data: st.DataObject
) -> None:
    """Whatever pods come and go, a shape is never given the sums of one that others act on."""
    world = data.draw(worlds.worlds(focus))
    first = world.info(data.draw(strategies.pods("waiting", focus=focus)))
    waiting = [first, *(world.info(_twin(data, first, n).build()) for n in range(3))]
    owners = world.built.cache.owners
    keeping = _framework(owners)
    for number in range(8):
        pod = data.draw(st.sampled_from(waiting))
        snap = world.built.cache.snapshot()
        assert _told(keeping, pod, snap) == _told(_framework(owners), pod, snap)
        if not world.nodes or data.draw(st.integers(0, 3)) == 0:
            hypothesis.note(data.draw(worlds.changes(world, focus)))
            continue
        like = builders.PodBuilder(data.draw(st.sampled_from(waiting)).pod)
        node = data.draw(st.sampled_from(world.nodes)).name
        name = f"placed{number}"
        world.set_pod(like.meta(name=name, uid=name).node(node).build())


_WEB = {"app": "web"}
_NEAR = builders.pod_term("zone", _WEB)
_DIFFERENT = {
    "only-one-matches-itself": (
        builders.make_pod("a").labels(app="db").requires_pods(_NEAR),
        builders.make_pod("b").labels(app="web").requires_pods(_NEAR),
    ),
    "only-one-matches-its-constraint": (
        builders.make_pod("a").labels(app="db").spread("zone", selector=_WEB),
        builders.make_pod("b").labels(app="web").spread("zone", selector=_WEB),
    ),
    "soft-and-hard": (
        builders.make_pod("a")
        .labels(app="web")
        .spread("zone", selector=_WEB, when_unsatisfiable="ScheduleAnyway"),
        builders.make_pod("b").labels(app="web").spread("zone", selector=_WEB),
    ),
    "other-nodes-selected": (
        builders.make_pod("a").labels(app="web").spread("zone", selector=_WEB),
        builders.make_pod("b")
        .labels(app="web")
        .node_selector(disk="ssd")
        .spread("zone", selector=_WEB),
    ),
}


@pytest.mark.parametrize("pods", _DIFFERENT.values(), ids=_DIFFERENT)
def test_shapes_that_are_told_otherwise_share_nothing(
    pods: tuple[builders.PodBuilder, builders.PodBuilder],
) -> None:
    """Where the same pods are counted but mean something else, both are told what holds."""
    world = worlds.World()
    for number, name in enumerate(worlds.NODE_NAMES):
        disk = ("ssd", "hdd")[number % 2]
        world.set_node(builders.make_node(name).labels(zone=name, disk=disk).build())
    owners = world.built.cache.owners
    keeping = _framework(owners)
    for number, node in enumerate(worlds.NODE_NAMES):
        for pod in pods:
            snap, waiting = world.built.cache.snapshot(), world.info(pod.build())
            assert _told(keeping, waiting, snap) == _told(_framework(owners), waiting, snap)
        name = f"placed{number}"
        world.set_pod(builders.make_pod(name).labels(app="web").meta(uid=name).node(node).build())


def test_pods_of_an_app_are_summed_once() -> None:
    """A pod that differs from one before in a label that nobody reads sums nothing anew."""
    world = worlds.World()
    for name in worlds.NODE_NAMES:
        world.set_node(builders.make_node(name).labels(zone=name).build())
    framework = _framework(world.built.cache.owners)
    made = []
    for number in range(3):
        pod = builders.make_pod(f"p{number}").labels(app="web", number=str(number))
        pod = pod.requires_pods(_NEAR).spread("zone", selector=_WEB)
        wanting = world.info(pod.build())
        with mock.patch.object(domains, "DomainSums", wraps=domains.DomainSums) as making:
            framework.schedule_pod(wanting, world.built.cache.snapshot())
        made.append(making.call_count)
    assert made[0] > 0
    assert made[1:] == [0, 0]
