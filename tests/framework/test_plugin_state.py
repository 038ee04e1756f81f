"""Values that a third-party plugin passes from method to method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from policysched import api
from policysched.framework import profile, runtime
from tests import builders


class Remembers:
    """Notes the name of the pod before Filter and before Score, and reads it afterwards."""

    name = "Remembers"

    def __init__(self, reads: api.Reads) -> None:
        self.reads = reads
        self.reserved: list[tuple[str | None, str | None]] = []

    def pre_filter(
        self, state: api.CycleState, pod: api.PodInfo, snap: api.Snapshot
    ) -> api.PreFilterResult:
        """Note it."""
        state.write("filter", pod.pod.metadata.name)
        return api.ALL_NODES

    def pre_score(self, state: api.CycleState, pod: api.PodInfo, nodes: api.NodeView) -> api.Status:
        """Note it."""
        state.write("score", pod.pod.metadata.name)
        return api.SUCCESS

    def score(self, state: api.CycleState, pod: api.PodInfo, nodes: api.NodeView) -> Any:
        """Score nothing."""
        return np.zeros(len(nodes), np.int64)

    def reserve(self, state: api.CycleState, pod: api.PodInfo, node_name: str) -> api.Status:
        """Read both."""
        self.reserved.append((state.find("filter", str), state.find("score", str)))
        return api.SUCCESS


@pytest.mark.parametrize("reads", [api.Reads.NODE, api.Reads.USAGE, api.Reads.ANYTHING], ids=str)
def test_reserve_sees_what_was_prepared_for_its_pod(reads: api.Reads) -> None:
    """Whether answers are cached for equal pods or not, and also after the next equal pod."""
    plugin = Remembers(reads)
    framework = runtime.Framework(profile.Profile("test", (plugin,), {"Remembers": 1}), None)
    cluster = builders.make_cache([builders.make_node("n1"), builders.make_node("n2")])
    pods = [cluster.info(builders.make_pod(name)) for name in ("a", "b")]
    states = [framework.schedule_pod(pod, cluster.cache.snapshot()).state for pod in pods]
    for state, pod in zip(states, pods, strict=True):
        framework.binding.reserve(state, pod, "n1")
    assert plugin.reserved == [("a", "a"), ("b", "b")]
