"""A preemptor that is tried again keeps to the node that is being made free for it."""

from __future__ import annotations

import random

import pytest

from policysched.framework import handles, profile, runtime
from policysched.plugins import default_preemption, node_resources_fit
from tests import builders
from tests.scheduler import fakes


@pytest.mark.parametrize("nominated", [f"n{number}" for number in range(5)])
@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_among_equal_nodes_the_nominated_one_is_chosen(nominated: str, seed: int | None) -> None:
    """Neither names nor chance move the pod to another node that is just as good."""
    names = [f"n{number}" for number in range(5)]
    nodes = [builders.make_node(name).capacity(cpu="1", pods=5) for name in names]
    pods = [builders.make_pod(f"v-{name}").node(name).requests(cpu="1") for name in names]
    cluster = builders.make_cache(nodes, pods)
    handle = handles.Handle(rng=None if seed is None else random.Random(seed))
    plugins = (
        node_resources_fit.NodeResourcesFit(),
        default_preemption.DefaultPreemption(handle),
        fakes.Bind(),
    )
    framework = runtime.Framework(profile.Profile("s", plugins, {}), None)
    pod = cluster.info(builders.make_pod("p").priority(5).requests(cpu="1").nominated(nominated))
    snap = cluster.cache.snapshot()
    result = framework.schedule_pod(pod, snap)
    assert result.diagnosis is not None
    made_room = framework.run_post_filter(result.state, pod, snap, result.diagnosis)
    assert made_room is not None
    assert made_room.nominated_node_name == nominated
