"""Scores that are kept between pods are those that a framework without memory gives."""

from __future__ import annotations

from typing import TypeAlias

import hypothesis
import hypothesis.strategies as st

from policysched.framework.scoring import score_table
from tests import builders
from tests.compiler import desk

_NAMES = ("n0", "n1", "n2", "n3", "n4")
_POLICY = """
metric load: ratio = `load` node instance refresh 15s maxAge 2m
  placed adds requests(cpu) / allocatable(cpu) for 1m
metric heat: ratio = `heat` node instance refresh 15s maxAge 2m
policy p {
  for pods
  reject when heat > 90% missing allow
  score load else 50% prefer low normalize minmax missing score 0 as relative
  score heat prefer high normalize rank missing score 30 as ranked
  score heat prefer low normalize max missing score 0 as largest
  score load prefer low normalize linear(0%, 100%) missing score 0 as pointwise
}
profile q { policies p }
"""
_Event: TypeAlias = tuple[str, object]

_samples = st.dictionaries(
    st.sampled_from(_NAMES), st.sampled_from((0.0, 0.1, 0.5, 0.95, 1.0)), max_size=5
)
_events = st.one_of(
    st.tuples(st.just("load"), _samples),
    st.tuples(st.just("heat"), _samples),
    st.tuples(st.just("place"), st.sampled_from(_NAMES)),
    st.tuples(st.just("advance"), st.sampled_from((1.0, 61.0, 130.0))),
    st.tuples(st.just("schedule"), st.none()),
)


def _happen(one: desk.Desk, number: int, event: _Event) -> None:
    match event:
        case ("load" | "heat" as metric, dict() as values):
            one.sample(metric, **values)
        case ("place", str() as name):
            one.place(_pod(f"placed{number}").node(name))
        case ("advance", float() as seconds):
            one.clock.advance(seconds)
            one.cache.expire_samples()
        case _:
            pass


def _pod(name: str) -> builders.PodBuilder:
    return desk.pod(name).requests({"cpu": "100m"})


@hypothesis.given(st.lists(_events, max_size=25))
def test_kept_scores_equal_fresh_ones(events: list[_Event]) -> None:
    """Whatever happened between two equal pods: samples, pods, time, nodes that drop out."""
    one = desk.Desk(_POLICY, [desk.node(name).capacity(cpu="1", pods=50) for name in _NAMES])
    compiled = {each.name: each for each in one.program.profiles}["q"]
    kept = one.frameworks["q"]
    info = one.shapes.make_pod_info(_pod("pending").build())
    for number, event in enumerate(events):
        _happen(one, number, event)
        decided = kept.schedule_pod(info, one.cache.snapshot())
        expected = desk.framework(compiled).schedule_pod(info, one.cache.snapshot())
        assert decided.feasible_count == expected.feasible_count
        assert _totals(decided.scores) == _totals(expected.scores)


def _totals(scores: score_table.ScoreTable | None) -> list[int] | None:
    return None if scores is None else scores.totals.tolist()
