"""Plugins that are for some pods only, and raw scores that are not whole numbers."""

from __future__ import annotations

import dataclasses
import datetime
from typing import ClassVar

import numpy as np

from policysched import clock as clocks
from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, profile, runtime, status
from tests import builders


@dataclasses.dataclass
class RejectForTeam:
    """Rejects every node for the pods of one team, until a time if one is given."""

    team: str
    until: datetime.datetime | None = None
    name: str = "RejectForTeam"
    reads: ClassVar[interface.Reads] = interface.Reads.NODE
    times_asked: int = 0

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Look at the label and the time."""
        self.times_asked += 1
        if self.until is not None and snap.now < self.until:
            state.expire_at(self.until)
        over = self.until is not None and snap.now >= self.until
        return shape.labels.get("team") == self.team and not over

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Reject."""
        return status.NodeStatuses.where(
            np.ones(len(nodes), np.bool_), status.unschedulable("", "not for this team")
        )


# Only plugins of the package are asked what they are for.
RejectForTeam.__module__ = "policysched.tested"


class ShareOfFastest:
    """Scores by speed in thirds: not whole numbers, missing on a node without the label."""

    name = "ShareOfFastest"
    reads: ClassVar[interface.Reads] = interface.Reads.NODE
    units_per_point = 100

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.FloatArray:
        """A third of the label, NaN without it."""
        labels = [node.metadata.labels if node else {} for node in nodes.objects()]
        return np.array([float(each.get("speed", "nan")) / 3 for each in labels])

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.FloatArray
    ) -> columns.IntArray:
        """Hundredths of the fastest; 0 where missing."""
        shares = np.nan_to_num(scores / np.nanmax(scores))
        return np.rint(10_000 * shares).astype(np.int64)


def _framework(*plugins: interface.Plugin, **weights: int) -> runtime.Framework:
    return runtime.Framework(profile.Profile("test", plugins, weights), None)


def test_a_plugin_is_asked_once_per_shape_what_it_is_for() -> None:
    """Equal pods share the answer; a pod that the plugin is not for is not filtered by it."""
    plugin = RejectForTeam("red")
    framework = _framework(plugin)
    cluster = builders.make_cache([builders.make_node("n1")])
    snap = cluster.cache.snapshot()
    red = [cluster.info(builders.make_pod(f"r{i}").labels(team="red")) for i in range(3)]
    blue = [cluster.info(builders.make_pod(f"b{i}").labels(team="blue")) for i in range(3)]
    placed = [framework.schedule_pod(pod, snap).node_name for pod in (*red, *blue)]
    assert placed == [None, None, None, "n1", "n1", "n1"]
    assert plugin.times_asked == 2


def test_what_a_plugin_is_for_can_end_with_time() -> None:
    """After the moment that the plugin named it is asked again."""
    clock = clocks.ManualClock(builders.EPOCH)
    plugin = RejectForTeam("red", until=builders.EPOCH + datetime.timedelta(minutes=1))
    framework = _framework(plugin)
    cluster = builders.make_cache([builders.make_node("n1")], clock=clock)
    pod = cluster.info(builders.make_pod("p").labels(team="red"))
    assert framework.schedule_pod(pod, cluster.cache.snapshot()).node_name is None
    clock.advance(60)
    assert framework.schedule_pod(pod, cluster.cache.snapshot()).node_name == "n1"


def test_raw_scores_may_be_fractions() -> None:
    """Fractions and missing values reach the normalisation, for kept and for patched rows."""
    framework = _framework(ShareOfFastest(), ShareOfFastest=1)
    nodes = [builders.make_node(f"n{i}").labels(speed=str(i)) for i in range(1, 9)]
    cluster = builders.make_cache([*nodes, builders.make_node("unknown")])
    pod = cluster.info(builders.make_pod("p"))
    first = framework.schedule_pod(pod, cluster.cache.snapshot())
    assert first.scores is not None
    assert first.scores.totals.tolist() == [1250, 2500, 3750, 5000, 6250, 7500, 8750, 10000, 0]
    cluster.cache.set_node(builders.make_node("unknown").labels(speed="16").build())
    second = framework.schedule_pod(pod, cluster.cache.snapshot())
    assert second.scores is not None
    assert second.scores.totals.tolist()[-2:] == [5000, 10000]
