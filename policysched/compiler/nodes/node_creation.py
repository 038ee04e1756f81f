"""When nodes were created, for conditions on their age.

A node has reached an age if it was created at or before a moment. Creations never change, so they
are a fixed column, and only the moment depends on the time of the decision.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence

import numpy as np

from policysched import clock
from policysched.cluster import elapsed_time, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape


class NodeCreationInput:
    """The creation of each node in whole seconds since 1970; infinity if it is unknown."""

    def compute(self, nodes: snapshot.NodeView) -> columns.FloatArray:
        """Return the times."""
        created = (
            math.inf if node is None else elapsed_time.find_creation_seconds(node.metadata)
            for node in nodes.objects()
        )
        return np.fromiter(
            (math.inf if seconds is None else seconds for seconds in created), np.float64
        )


def make_moment_reader(
    age_seconds: int,
) -> Callable[[pod_shape.PodShape, snapshot.Snapshot], float]:
    """Return a function that computes the latest creation of nodes that have reached an age."""
    return lambda _, snap: math.floor(snap.now_seconds) - float(age_seconds)


def find_next_change(
    created: columns.FloatArray, ages_seconds: Sequence[int], now: datetime.datetime
) -> datetime.datetime | None:
    """Return when a node next reaches one of some ages; None if never.

    Args:
        created: float64 (n,), the creation of each node.
        ages_seconds: the ages.
        now: the time after which to look.
    """
    after = now.timestamp()
    moments = [created[created + age > after].min(initial=math.inf) + age for age in ages_seconds]
    first = min(moments, default=math.inf)
    return clock.find_utc_time(first)
