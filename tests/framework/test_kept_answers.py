"""What is kept for equal pods is what a framework says that was just made, whatever happens."""

from __future__ import annotations

import random

import hypothesis
import hypothesis.strategies as st
import pytest

from tests import examples
from tests.framework import busy_cluster, busy_objects

_EVENTS = tuple(busy_cluster.BusyCluster(0, busy_objects.COMMON, random.Random(0)).events)
_generators = st.integers(0, 2**16).map(random.Random)
_sequences = st.lists(st.tuples(st.sampled_from(_EVENTS), _generators), min_size=5, max_size=40)


@pytest.mark.parametrize(
    "sizes", [busy_objects.COMMON, busy_objects.EXTREME], ids=["common", "near 2^63"]
)
@hypothesis.settings(
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
    max_examples=examples.scale(25),
)
@hypothesis.given(
    node_count=st.sampled_from((0, 3, 10, 60, 150)), first=_generators, events=_sequences
)
def test_what_is_kept_is_what_a_framework_made_anew_says(
    sizes: busy_objects.Sizes,
    node_count: int,
    first: random.Random,
    events: list[tuple[str, random.Random]],
) -> None:
    """Verdicts, messages, points by plugin, and victims, after each of many changes."""
    cluster = busy_cluster.BusyCluster(node_count, sizes, first)
    for name, rng in events:
        cluster.events[name](rng)
        fresh = cluster.fresh()
        for _ in range(3):
            found, wanted = cluster.decide(fresh, rng)
            assert found == wanted
