"""InterPodAffinity against the scalar reference, through changes of the cluster."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st

from policysched.cluster.pods import pod_shape
from policysched.plugins.inter_pod_affinity import inter_pod_affinity
from tests import builders, examples
from tests.plugins import asking, strategies, worlds
from tests.reference import inter_pod_affinity as reference

FOCUS = strategies.Focus.AFFINITY
HARD_WEIGHTS = st.sampled_from((0, 1, 50))


def check_filter(
    plugin: inter_pod_affinity.InterPodAffinity, world: worlds.World, pod: pod_shape.PodInfo
) -> None:
    """Compare the Filter on all nodes at once, and on each alone."""
    snap = world.built.cache.snapshot()
    state = asking.state_for(pod)
    expected = [reference.inter_pod_affinity(pod.pod, n, world.plain) for n in world.nodes]
    if plugin.pre_filter(state, pod, snap).status.is_skip:
        assert expected == [None] * len(expected)
        assert not reference.required(pod.pod)
        assert not reference.required_anti(pod.pod)
        return
    together = asking.answers(plugin.filter(state, pod, snap.view_all_rows()))
    assert asking.alive(snap, together) == expected
    for node, answer in zip(world.nodes, expected, strict=True):
        alone = plugin.filter(state, pod, asking.rows_of(snap, [node]))
        assert asking.answers(alone) == [answer]


@hypothesis.settings(max_examples=examples.scale(120))
@hypothesis.given(st.data())
def test_inter_pod_affinity_equals_the_reference(data: st.DataObject) -> None:
    """Filter and final scores are what walking all pods gives, with the same plugin throughout."""
    world = data.draw(worlds.worlds(FOCUS))
    pod = world.info(data.draw(strategies.pods("pending", focus=FOCUS)))
    weight, ignores = data.draw(HARD_WEIGHTS), data.draw(st.booleans())
    plugin = inter_pod_affinity.InterPodAffinity(weight, ignore_preferred_terms=ignores)
    for _ in range(4):
        check_filter(plugin, world, pod)
        feasible = data.draw(worlds.some_nodes(world))
        expected = reference.scores(
            pod.pod,
            feasible,
            world.plain,
            hard_weight=weight,
            ignore_preferred_terms=ignores,
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


def test_terms_of_waiting_pods_do_not_select_unknown_namespaces() -> None:
    """A namespace that no object describes has no labels that a selector could read."""
    world = worlds.World()
    world.set_node(builders.make_node("n0").labels(zone="a").build())
    unknown = builders.make_pod("p", "ghost").labels(app="web").node("n0")
    world.set_pod(unknown.build())
    term = builders.pod_term(
        "zone",
        {"app": "web"},
        namespace_selector=builders.label_selector(builders.expression("team", "DoesNotExist")),
    )
    plugin = inter_pod_affinity.InterPodAffinity()
    check_filter(plugin, world, world.info(builders.make_pod("w").requires_pods(term).build()))
    check_filter(plugin, world, world.info(builders.make_pod("w").rejects_pods(term).build()))
    everywhere = builders.pod_term("zone", {"app": "web"}, namespace_selector={})
    avoiding = world.info(builders.make_pod("w").rejects_pods(everywhere).build())
    check_filter(plugin, world, avoiding)
    snap = world.built.cache.snapshot()
    state = asking.state_for(avoiding)
    assert plugin.pre_filter(state, avoiding, snap).status.is_success
    assert not plugin.filter(state, avoiding, snap.view_all_rows()).passes.any()
