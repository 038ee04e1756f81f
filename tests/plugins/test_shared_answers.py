"""What is kept for pods of many shapes is what each pod would be told if nothing were kept."""

from __future__ import annotations

from typing import Any
from unittest import mock

import hypothesis
import hypothesis.strategies as st
import msgspec
import pytest

from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, runtime
from policysched.framework.answers import derived, shape_answers
from policysched.framework.scoring import standings
from policysched.profiles import policies
from tests import builders, examples
from tests.plugins import strategies, worlds

_NAME = "policysched"
_FOCUSES = (
    strategies.Focus.ONE_NODE,
    strategies.Focus.ONE_NODE,
    strategies.Focus.AFFINITY,
    strategies.Focus.SPREAD,
)
_ALL_POINTS = 6


def _framework(world: worlds.World, shapes_kept: int) -> runtime.Framework:
    """Return kube-scheduler's default profile."""
    cache = world.built.cache
    handle = handles.Handle(
        handles.NoBinder(), cache.owners, storage=cache.storage, budgets=cache.budgets
    )
    profiles = policies.require_profiles(
        policies.make_profiles(policies.load_policy_set((), {}, _NAME), handle)
    )
    return runtime.Framework(profiles.by_name[_NAME], None, shapes_kept=shapes_kept)


@st.composite
def _waiting(draw: st.DrawFn, number: int) -> objects.Pod:
    """Return a pending pod with requests, of which there are few kinds."""
    focus = draw(st.sampled_from(_FOCUSES))
    pod = draw(strategies.pods(f"waiting{number}", focus=focus))
    if not pod.spec.containers:
        container = draw(strategies.containers("c", is_init=False))
        spec = msgspec.structs.replace(pod.spec, containers=(container,))
        pod = msgspec.structs.replace(pod, spec=spec)
    return pod


def _told(framework: runtime.Framework, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> Any:
    """Return everything that is said of a pod, in an order that does not depend on what is kept."""
    result = framework.schedule_pod(pod, snap)
    told: list[Any] = [result.node_name, result.status, result.feasible_count, result.message]
    failures = result.failures
    if failures is not None:
        told.append([failures.statuses[i] if i >= 0 else None for i in failures.ids.tolist()])
        rejected_count = result.node_count - result.feasible_count
        found = failures.list_rejections(snap.nodes.names, rejected_count)
        told.append(sorted(found, key=repr))
    if result.scores is not None:
        table = result.scores
        standing = standings.find_standing(table, snap.nodes.names, _ALL_POINTS)
        points = dict(zip(standing.score_names, standing.weighted.tolist(), strict=True))
        told.append((table.rows.tolist(), table.totals.tolist(), standing.nodes, points))
    if result.diagnosis is not None:
        room = framework.run_post_filter(result.state, pod, snap, result.diagnosis)
        told.append(None if room is None else (room.status, room.nominated_node_name, room.victims))
    return told


@hypothesis.settings(max_examples=examples.scale(30))
@hypothesis.given(data=st.data())
def test_shared_answers_equal_fresh_ones(data: st.DataObject) -> None:
    """Whatever comes, goes or changes between pods of several shapes that share requests or not."""
    with mock.patch.object(derived, "ALL_ROWS_SHARE", 1):  # else all of so few rows are asked
        _compare(data)


def _compare(data: st.DataObject) -> None:
    focus = data.draw(st.sampled_from(_FOCUSES))
    world = data.draw(worlds.worlds(focus))
    waiting = [world.info(data.draw(_waiting(n))) for n in range(data.draw(st.integers(2, 4)))]
    keeping, forgetful = _framework(world, shape_answers.MAX_SHAPES), _framework(world, 0)
    for number in range(data.draw(st.integers(2, 12))):
        pod = data.draw(st.sampled_from(waiting))
        told = _told(keeping, pod, world.built.cache.snapshot())
        assert told == _told(forgetful, pod, world.built.cache.snapshot())
        node_name = told[0]
        if node_name is not None and data.draw(st.booleans()):
            spec = msgspec.structs.replace(pod.pod.spec, node_name=node_name)
            uid = f"placed{number}"
            meta = msgspec.structs.replace(pod.pod.metadata, name=uid, uid=uid)
            world.set_pod(msgspec.structs.replace(pod.pod, metadata=meta, spec=spec))
        elif data.draw(st.booleans()):
            data.draw(worlds.changes(world, data.draw(st.sampled_from(_FOCUSES))))


def test_equal_requests_are_asked_about_once() -> None:
    """A pod of another shape with the same requests asks NodeResourcesFit about no node again."""
    world = worlds.World()
    for name in worlds.NODE_NAMES:
        world.set_node(builders.make_node(name).capacity(cpu="4", memory="8Gi", pods=10).build())
    framework = _framework(world, shape_answers.MAX_SHAPES)
    fit: Any = next(p for p in framework.profile.plugins if p.name == "NodeResourcesFit")
    asked = []
    for app in ("a", "b"):
        pod = builders.make_pod(app).labels(app=app).requests(cpu="1").build()
        make = fit.make_filter_writer
        with mock.patch.object(fit, "make_filter_writer", wraps=make) as filtering:
            framework.schedule_pod(world.info(pod), world.built.cache.snapshot())
        asked.append(filtering.call_count)
    assert asked == [1, 0]


@pytest.mark.parametrize("disk", ["hdd", "ssd"])
def test_a_new_node_may_differ_where_all_others_are_alike(disk: str) -> None:
    """Points that all nodes had alike are made anew for one that comes, whatever its raw score."""
    world = worlds.World()
    for name in worlds.NODE_NAMES:
        world.set_node(builders.make_node(name).labels(disk="ssd").capacity(cpu="4").build())
    on_ssd = objects.SelectorRequirement(key="disk", operator="In", values=("ssd",))
    term = objects.NodeSelectorTerm(match_expressions=(on_ssd,))
    pod = world.info(builders.make_pod("p").prefers_nodes(10, term).build())
    keeping, forgetful = _framework(world, shape_answers.MAX_SHAPES), _framework(world, 0)
    _told(keeping, pod, world.built.cache.snapshot())
    world.set_node(builders.make_node("new").labels(disk=disk).capacity(cpu="4").build())
    with mock.patch.object(derived, "ALL_ROWS_SHARE", 1):
        told = _told(keeping, pod, world.built.cache.snapshot())
    assert told == _told(forgetful, pod, world.built.cache.snapshot())
