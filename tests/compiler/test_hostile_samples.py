"""Whatever a source of metrics says, scores are finite and nothing is decided by what is not there.

Samples are hostile: NaN, infinite, negative, huge, denormal, out of range, stale, from the future,
twice, for nodes that do not exist. The policies use every form of a metric and every normalisation.
"""

from __future__ import annotations

import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched.cluster.metrics import metric_table
from tests import builders, examples
from tests.compiler import desk

NAMES = ("n1", "n2", "n3", "n4")
WAYS = (
    "prefer low normalize linear(0, 100)",
    "prefer high normalize linear(-1, 1)",
    "prefer low normalize minmax",
    "prefer high normalize minmax(5)",
    "prefer low normalize rank",
    "prefer high normalize rank",
    "prefer low normalize max",
    "prefer high normalize max",
    "normalize shape(0: 100, 0.5: 20, 100: 0)",
)
METRICS = """
metric bare: number = `a` node instance refresh 15s maxAge 2m missing score 7
metric ranged: number = `b` node instance refresh 15s maxAge 2m between 0 and 100 missing score 7
metric average: number = `c` node instance refresh 15s maxAge 2m over 5m avg missing score 7
metric share: number = `d` node instance refresh 15s maxAge 2m over 5m quantile(0.9) missing score 7
metric placed: number = `e` node instance refresh 15s maxAge 2m
  placed adds requests(cpu) / allocatable(cpu) for 1m missing score 7
"""
KEYS = ("bare", "ranged", "average", "share", "placed")


def policy(way: str) -> str:
    """Return a policy that scores all metrics, and sums of them, in one way."""
    sums = ("bare + placed", "bare * ranged", "average / share", "max(bare, share) - placed")
    expressions = (*KEYS, *sums)
    scores = "\n".join(
        f"score {expr} {way} missing score 7 as s{n}" for n, expr in enumerate(expressions)
    )
    return f"{METRICS} policy p {{ for pods {scores} }}"


hostile_values = st.one_of(
    st.sampled_from(
        (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, 1.0, 100.0, -1.0, 101.0)
    ),
    st.floats(),
)
hostile_ages = st.sampled_from((0.0, 0.0, 0.0, 60.0, 119.0, 121.0, -60.0, 1e9, -1e9, math.nan))
hostile_samples = st.dictionaries(
    st.sampled_from((*NAMES, "gone", "")), st.tuples(hostile_values, hostile_ages), max_size=6
)


@pytest.mark.parametrize("way", WAYS)
@hypothesis.settings(
    max_examples=examples.scale(40), suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
@hypothesis.given(
    st.lists(st.tuples(st.sampled_from(KEYS), hostile_samples), min_size=1, max_size=8)
)
def test_no_score_leaves_its_range(
    way: str, refreshes: list[tuple[str, dict[str, tuple[float, float]]]]
) -> None:
    """Every score is 0 to 100, whatever comes; a node without any number gets the declared ones."""
    there = desk.Desk(policy(way), [desk.node(name).capacity(cpu="4") for name in NAMES])
    now_seconds = builders.EPOCH.timestamp()
    there.cache.assume_pod(
        there.shapes.make_pod_info(desk.pod("old").requests(cpu="3").build()), "n2"
    )
    for key, given in refreshes:
        samples = {n: metric_table.Sample(v, now_seconds - age) for n, (v, age) in given.items()}
        there.cache.metrics.refresh(key, samples)
    with np.errstate(all="raise", under="ignore"):
        said = there.explain(desk.pod())
    assert said.scores is not None
    for points in said.scores.by_plugin.values():
        assert points.dtype == np.int64
        assert ((points >= 0) & (points <= 10_000)).all()
    silent = {name for name in NAMES if not _is_there(there, "bare", name)}
    if silent != set(NAMES):
        given_points = there.points(desk.pod(), "p/s0")
        assert all(given_points[name] == 7 for name in silent)


def _is_there(there: desk.Desk, key: str, node: str) -> bool:
    sample = there.cache.metrics.get_newest_sample(key, node)
    now_seconds = builders.EPOCH.timestamp()
    return sample is not None and now_seconds - sample.measured_at_seconds <= 120


@hypothesis.given(hostile_samples, st.sampled_from(("missing allow", "missing reject")))
def test_no_pod_is_placed_or_rejected_by_a_value_that_is_not_there(
    given: dict[str, tuple[float, float]], missing: str
) -> None:
    """A node is rejected for its value, or as `missing` says where it has none."""
    text = f"""metric load: number = `a` node instance refresh 15s maxAge 2m between -5 and 1000
    policy p {{ for pods reject when load > 50 {missing} }}"""
    there = desk.Desk(text, [desk.node(name) for name in NAMES])
    now_seconds = builders.EPOCH.timestamp()
    samples = {n: metric_table.Sample(v, now_seconds - age) for n, (v, age) in given.items()}
    there.cache.metrics.refresh("load", samples)
    valid = {
        name: value
        for name, (value, age) in given.items()
        if name in NAMES and -5 <= value <= 1000 and age <= 120
    }
    missing_fits = missing == "missing allow" or not valid
    expected = [n for n in NAMES if (valid[n] <= 50 if n in valid else missing_fits)]
    assert there.feasible(desk.pod()) == expected
