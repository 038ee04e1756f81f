"""A node that was deleted, or replaced under its name, leaves nothing of its metrics behind."""

from __future__ import annotations

import datetime

import msgspec
import numpy as np
import pytest

from policysched.cluster.metrics import metric_windows
from policysched.cluster.objects import objects
from tests import builders
from tests.compiler import desk

RULES = """
metric busy: ratio = `b` node instance refresh 15s maxAge 2m
metric peak: ratio = `p` node instance refresh 15s maxAge 2m over 10m max
policy p {
  for pods
  reject when busy > 80% until busy < 70% missing allow as held
  reject when peak > 80% missing allow as window
  reject when busy > 80% missing allow as newest
}
"""


def _node(uid: str, age_seconds: float | None = None) -> objects.Node:
    created_at = None
    if age_seconds is not None:
        created = builders.EPOCH - datetime.timedelta(seconds=age_seconds)
        created_at = created.strftime("%Y-%m-%dT%H:%M:%SZ")
    node = builders.make_node("n1").build()
    metadata = msgspec.structs.replace(node.metadata, uid=uid, creation_timestamp=created_at)
    return msgspec.structs.replace(node, metadata=metadata)


def _busy_desk() -> desk.Desk:
    """Return a cluster whose node `n1` is over every limit."""
    there = desk.Desk(RULES)
    there.cache.set_node(_node("old", 3600.0))
    there.sample("busy", n1=0.9)
    there.sample("peak", n1=0.9)
    assert there.feasible(desk.pod()) == []
    return there


@pytest.mark.parametrize("is_seen", [True, False], ids=["deleted-first", "replaced"])
def test_a_new_node_of_an_old_name_begins_anew(is_seen: bool) -> None:
    """Samples, windows and hysteresis go with the node, before any refresh and after one."""
    there = _busy_desk()
    if is_seen:
        there.cache.remove_node("n1")
    there.clock.advance(5)
    there.cache.set_node(_node("new", -4.0))
    assert there.feasible(desk.pod()) == ["n1"]
    there.clock.advance(15)
    there.sample("busy", n1=0.75)
    there.sample("peak", n1=0.1)
    assert there.feasible(desk.pod()) == ["n1"]


def test_the_same_node_keeps_its_samples() -> None:
    """A heartbeat is no new node."""
    there = _busy_desk()
    there.cache.set_node(_node("old", 3600.0))
    assert there.feasible(desk.pod()) == []


def test_samples_from_before_a_node_are_not_its_own() -> None:
    """A server still tells of the machine that had its name, in samples new and older."""
    there = _busy_desk()
    there.clock.advance(5)
    there.cache.set_node(_node("new", -4.0))
    there.sample("busy", {"n1": 3.0}, n1=0.9)
    there.sample("peak", {"n1": 3.0}, n1=0.9)
    now = there.clock.now().timestamp()
    times = np.array([[now - 60.0], [now - 30.0]])
    older = metric_windows.OlderSamples(("n1",), times, np.full((2, 1), 0.9))
    there.cache.metrics.backfill("peak", older)
    assert there.feasible(desk.pod()) == ["n1"]
    there.clock.advance(15)
    there.sample("busy", n1=0.9)
    assert there.feasible(desk.pod()) == []


def test_samples_that_come_before_their_node_count_from_its_creation() -> None:
    """Metrics and nodes come on their own ways; times of creation are cut to seconds."""
    for age_seconds, feasible in ((10.0, ["n1"]), (60.0, [])):
        there = desk.Desk(RULES)
        there.sample("busy", {"n1": 9.5}, n1=0.9)
        there.cache.set_node(_node("new", age_seconds))
        assert there.feasible(desk.pod()) == feasible


def test_a_clock_of_the_server_that_is_ahead_hides_no_new_sample() -> None:
    """A node is there when it is seen, whatever its time of creation says."""
    there = desk.Desk(RULES)
    there.cache.set_node(_node("new", -3600.0))
    there.sample("busy", n1=0.9)
    assert there.feasible(desk.pod()) == []
