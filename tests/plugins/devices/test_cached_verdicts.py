"""Cached results of the plugin, against a plugin that is created after every change."""

from __future__ import annotations

import random
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies

from policysched import clock as clocks
from policysched.framework import handles
from policysched.plugins.dynamic_resources import allocation_verdicts, dynamic_resources
from policysched.plugins.dynamic_resources.allocation.device_order import DeviceOrder
from tests import builders
from tests.devices import changing_cluster
from tests.plugins import asking

CHANGES = 12
MAX_STEPS = 5000
TIMED_OUT = "timed out"


class StepClock(clocks.ManualClock):
    """A clock by which a search ends after a number of steps, however fast the machine is."""

    def __init__(self) -> None:
        super().__init__(builders.EPOCH)
        self._steps = 0

    def monotonic_seconds(self) -> float:
        """Return one more than the last time."""
        self._steps += 1
        return float(self._steps)


def _make_plugin(
    world: changing_cluster.ChangingCluster, order: DeviceOrder
) -> dynamic_resources.DynamicResources:
    """Return a plugin without cached results, also of pools of nodes."""
    handle = handles.Handle(devices=world.copy_devices(), clock=StepClock())
    return dynamic_resources.DynamicResources(handle, filter_seconds=MAX_STEPS, order=order)


def _describe(
    world: changing_cluster.ChangingCluster, plugin: dynamic_resources.DynamicResources
) -> list[Any]:
    """Return the results of the plugin for each pod: PreFilter, or Filter and Score by node."""
    snap = world.cluster.cache.snapshot()
    found: list[Any] = []
    for builder in world.pods:
        pod = world.cluster.info(builder)
        state = asking.state_for(pod)
        before = plugin.pre_filter(state, pod, snap).status
        if not before.is_success:
            found.append((before.code, before.reasons))
            continue
        answers = plugin.filter(state, pod, snap.view_all_rows())
        if any("timed out" in reason for each in answers.statuses for reason in each.reasons):
            found.append(TIMED_OUT)
            continue
        passing = snap.view_rows(np.flatnonzero((answers.ids == 0) & snap.is_alive))
        scores = plugin.score(state, pod, passing).tolist() if len(passing) else []
        found.append((asking.alive(snap, asking.answers(answers)), scores))
    return found


@hypothesis.given(
    seed=strategies.integers(0, 2**32), order=strategies.sampled_from(list(DeviceOrder))
)
def test_kept_verdicts_are_those_of_a_plugin_made_anew(seed: int, order: DeviceOrder) -> None:
    """After changes of nodes, slices, classes and claims, both answer the same."""
    rng = random.Random(seed)
    world = changing_cluster.ChangingCluster(rng)
    keeping = _make_plugin(world, order)
    for _ in range(CHANGES):
        for kept, anew in zip(
            _describe(world, keeping), _describe(world, _make_plugin(world, order)), strict=True
        ):
            assert anew in (kept, TIMED_OUT)  # what is kept needs no time
        for _ in range(rng.choice((1, 1, 3))):
            world.change()


def test_cached_kinds_are_limited_by_their_devices() -> None:
    """Those that were not read for longest are dropped; the latest stays, whatever it has."""
    cache = allocation_verdicts.VerdictCache(max_devices=5)
    kinds = {name: cache.get(name) for name in "abc"}
    for each in kinds.values():
        each.device_count = 2
    assert cache.get("a") is kinds["a"]
    assert [cache.get(name) is kinds[name] for name in "acb"] == [True, True, False]
    kinds["a"].device_count = 6
    assert cache.get("a") is kinds["a"]
    assert cache.get("c") is not kinds["c"]
