"""Scores whose weight depends on the time of day."""

from __future__ import annotations

import pytest

from tests import builders
from tests.compiler import desk

NODES = [desk.node("a", disk="ssd"), desk.node("b")]
TEXT = """
policy web {
  for pods
  nodeAffinity preferred disk = ssd weight 7 during "Mon 12:05-12:20" otherwise 2 as fast
}
policy quiet { for pods where quiet Exists disable web.fast }
"""
"""The clock of a desk begins on a Monday at 12:00."""


def _totals(there: desk.Desk, pod: builders.PodBuilder) -> dict[str, float]:
    """Return the points of the nodes by a decision, which keeps them for equal pods."""
    info = there.shapes.make_pod_info(pod.build())
    scores = there.frameworks[None].schedule_pod(info, there.cache.snapshot()).scores
    assert scores is not None
    names = [there.cache.nodes.names[row] for row in scores.rows.tolist()]
    return dict(zip(names, (scores.totals / 100).tolist(), strict=True))


def test_each_time_has_its_weight() -> None:
    """Equal pods get other points as soon as the window begins and ends."""
    there = desk.Desk(TEXT, NODES)
    for minutes, weight in ((0, 2), (4, 2), (1, 7), (14, 7), (1, 2)):
        there.clock.advance(minutes * 60)
        assert _totals(there, desk.pod()) == {"a": 100 * weight, "b": 0}


def test_both_weights_are_shown_and_turned_off() -> None:
    """The weight outside the times has its own name; `disable` is about both."""
    there = desk.Desk(TEXT, NODES)
    assert there.points(desk.pod(), "web/fast.otherwise") == {"a": 100, "b": 0}
    with pytest.raises(KeyError):
        there.points(desk.pod(), "web/fast")
    for minutes in (0, 10):
        there.clock.advance(minutes * 60)
        scores = there.explain(desk.pod(quiet="1")).scores
        assert scores is not None
        assert scores.by_plugin == {}
