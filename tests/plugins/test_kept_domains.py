"""What Filter keeps by topology domain, against the same asked anew, while the cluster changes."""

from __future__ import annotations

from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched.cluster import snapshot
from policysched.cluster.pods import owner_selectors, pod_shape
from policysched.framework import profile, runtime
from policysched.framework.answers import first_failures, shape_answers
from policysched.framework.filtering import domain_filters
from policysched.plugins import node_resources_fit, taint_toleration
from policysched.plugins.inter_pod_affinity import inter_pod_affinity
from policysched.plugins.pod_topology_spread import pod_topology_spread
from tests import builders, examples
from tests.plugins import strategies, worlds

Told = tuple[Any, ...]


def framework(
    owners: owner_selectors.OwnerSelectors, shapes_kept: int = shape_answers.MAX_SHAPES
) -> runtime.Framework:
    """Return a profile that filters by taints, requests, spread and affinity."""
    plugins = (
        taint_toleration.TaintToleration(),
        node_resources_fit.NodeResourcesFit(),
        pod_topology_spread.PodTopologySpread(owners),
        inter_pod_affinity.InterPodAffinity(),
    )
    return runtime.Framework(profile.Profile("test", plugins, {}), None, shapes_kept=shapes_kept)


def told(made: runtime.Framework, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> Told:
    """Return everything that follows from Filter: answers by row, feasible rows, rejections."""
    result = made.schedule_pod(pod, snap)
    failures = result.failures
    if failures is None:
        return result.status, result.message
    statuses, names = failures.statuses, snap.nodes.names
    by_row = [None if number < 0 else statuses[number] for number in failures.ids.tolist()]
    count = int(np.count_nonzero(failures.ids > 0))
    anew = first_failures.FirstFailures(failures.ids, failures.table)
    assert failures.list_rejections(names, count) == anew.list_rejections(names, count)
    rows = made.feasible_rows(pod, snap).tolist()
    assert rows == np.flatnonzero(failures.ids == 0).tolist()
    return by_row, rows, result.message


def place_or_change(
    data: st.DataObject,
    world: worlds.World,
    waiting: list[pod_shape.PodInfo],
    focus: strategies.Focus,
    number: int,
) -> None:
    """Place a pod equal to one that waits, as a backlog does, or change something else."""
    like = data.draw(st.sampled_from([None, *waiting, *waiting]))
    if like is None or not world.nodes:
        hypothesis.note(data.draw(worlds.changes(world, focus)))
        return
    name = f"placed-{number}"
    node = data.draw(st.sampled_from(world.nodes)).name
    world.set_pod(builders.PodBuilder(like.pod).meta(name=name, uid=name).node(node).build())


@pytest.mark.parametrize("focus", [strategies.Focus.AFFINITY, strategies.Focus.SPREAD])
@hypothesis.settings(max_examples=examples.scale(30))
@hypothesis.given(data=st.data())
def test_what_filter_keeps_is_what_it_says_anew(
    focus: strategies.Focus, data: st.DataObject
) -> None:
    """Two shapes in turn get answers as if nothing were kept."""
    world = data.draw(worlds.worlds(focus))
    pods = strategies.pods("waiting", focus=focus)
    waiting = [world.info(data.draw(pods)), world.info(data.draw(pods))]
    kept = framework(world.built.cache.owners)
    for number in range(7):
        snap = world.built.cache.snapshot()
        for pod in waiting:
            anew = framework(world.built.cache.owners, shapes_kept=0)
            assert told(kept, pod, snap) == told(anew, pod, snap)
        place_or_change(data, world, waiting, focus, number)


@hypothesis.given(data=st.data())
def test_a_table_tells_which_domains_changed(data: st.DataObject) -> None:
    """And whether it rejects any."""
    table = domain_filters.DomainTable(np.zeros(4, np.intp), 3)
    number, before = st.integers(0, 2), [0] * 4
    for _ in range(5):
        seen = table.changes.generation
        if data.draw(st.booleans()):
            table.set(data.draw(st.integers(0, 3)), data.draw(number))
        else:
            answers = data.draw(st.lists(number, min_size=4, max_size=4))
            table.replace(np.array(answers, np.int16))
        now = table.answers.tolist()
        others = {slot for slot in range(4) if now[slot] != before[slot]}
        assert set(table.changes.list_changes_since(seen) or ()) == others
        assert table.rejects == any(now)
        before = now
