"""PodTopologySpread against the scalar reference, through changes of the cluster."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.plugins.pod_topology_spread import pod_topology_spread, spread_constraints
from tests import builders, examples
from tests.plugins import asking, strategies, worlds
from tests.reference import pod_topology_spread as reference

FOCUS = strategies.Focus.SPREAD
LIST_DEFAULTS = [
    objects.TopologySpreadConstraint(
        max_skew=1, topology_key=strategies.ZONE, when_unsatisfiable="DoNotSchedule"
    ),
    objects.TopologySpreadConstraint(
        max_skew=2, topology_key=strategies.RACK, when_unsatisfiable="ScheduleAnyway"
    ),
]


def check_filter(
    plugin: pod_topology_spread.PodTopologySpread,
    world: worlds.World,
    pod: pod_shape.PodInfo,
    defaults: list[objects.TopologySpreadConstraint],
) -> None:
    """Compare the Filter on all nodes at once, and on each alone."""
    snap = world.built.cache.snapshot()
    state = asking.state_for(pod)
    expected = [
        reference.pod_topology_spread(pod.pod, n, world.plain, defaults) for n in world.nodes
    ]
    if plugin.pre_filter(state, pod, snap).status.is_skip:
        assert not reference.constraints_of(pod.pod, "DoNotSchedule", world.plain, defaults)
        return
    together = asking.answers(plugin.filter(state, pod, snap.view_all_rows()))
    assert asking.alive(snap, together) == expected
    for node, answer in zip(world.nodes, expected, strict=True):
        alone = plugin.filter(state, pod, asking.rows_of(snap, [node]))
        assert asking.answers(alone) == [answer]


@hypothesis.settings(max_examples=examples.scale(120))
@hypothesis.given(st.data())
def test_pod_topology_spread_equals_the_reference(data: st.DataObject) -> None:
    """Filter and final scores are what counting node by node gives, with the same plugin."""
    world = data.draw(worlds.worlds(FOCUS))
    pod = world.info(data.draw(strategies.pods("pending", focus=FOCUS)))
    is_system = data.draw(st.booleans())
    defaults = reference.SYSTEM_DEFAULTS if is_system else LIST_DEFAULTS
    plugin = pod_topology_spread.PodTopologySpread(
        world.built.cache.owners, spread_constraints.SpreadDefaults(tuple(defaults), is_system)
    )
    for _ in range(4):
        check_filter(plugin, world, pod, defaults)
        feasible = data.draw(worlds.some_nodes(world))
        expected = reference.scores(
            pod.pod, feasible, world.plain, defaults, defaults_are_system=is_system
        )
        view = asking.rows_of(world.built.cache.snapshot(), feasible)
        state = asking.state_for(pod)
        if plugin.pre_score(state, pod, view).is_skip:
            assert expected is None
        else:
            raw = plugin.score(state, pod, view)
            assert plugin.normalize_score(state, pod, raw).tolist() == expected
        asking.check_at_once(plugin, pod, view, expected)
        hypothesis.note(data.draw(worlds.changes(world, FOCUS)))
        hypothesis.assume(world.nodes)


def test_absent_and_empty_zones_are_one_domain_under_system_defaults() -> None:
    """A node whose zone is empty counts the pods of nodes without a zone, as in kube-scheduler."""
    world = worlds.World()
    for node in (
        builders.make_node("n0").labels({strategies.ZONE: ""}),
        builders.make_node("n1"),
        builders.make_node("n2").labels({strategies.ZONE: "a"}),
    ):
        world.set_node(node.build())
    web = builders.make_pod("p").labels(app="web")
    for number in range(4):
        world.set_pod(web.meta(name=f"p{number}", uid=f"p{number}").node("n1").build())
    world.set_service("default", {"app": "web"})
    pod = world.info(web.build())
    plugin = pod_topology_spread.PodTopologySpread(world.built.cache.owners)
    expected = reference.scores(
        pod.pod, world.nodes, world.plain, reference.SYSTEM_DEFAULTS, defaults_are_system=True
    )
    view = world.built.cache.snapshot().view_all_rows()
    state = asking.state_for(pod)
    assert plugin.pre_score(state, pod, view).is_success
    found = plugin.normalize_score(state, pod, plugin.score(state, pod, view))
    assert found.tolist() == expected
    assert expected is not None
    assert expected[0] < expected[2]
