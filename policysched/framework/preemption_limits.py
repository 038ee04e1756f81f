"""Limits that policies set for preemption: of the pods of a profile, and of one pod.

Policies only restrict preemption. They permit nothing that is forbidden without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, events


class PodPreemptionLimits(Protocol):
    """The limits of preemption for one pod.

    Attributes:
        objection: why it may not preempt at all, "" if it may.
        stamp: equal only if equal pods have the same limits.
    """

    objection: str
    stamp: object

    def find_keeping_rules(self, shape: pod_shape.PodShape) -> Sequence[str]:
        """Return the names of the rules by which the pod must not evict placed pods of `shape`."""
        ...

    def find_closed_rows(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        rows: npt.NDArray[np.intp],
    ) -> Sequence[tuple[str, columns.BoolArray]]:
        """Return, for each rule with `preemption never`, which of `rows` it rejects, bool (n,)."""
        ...


def select_open_rows(
    limits: PodPreemptionLimits,
    state: cycle_state.CycleState,
    pod: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    rows: npt.NDArray[np.intp],
) -> npt.NDArray[np.intp]:
    """Return those of `rows`, intp (n,), that no rule with `preemption never` rejects."""
    is_open = np.ones(len(rows), np.bool_)
    for _, is_closed in limits.find_closed_rows(state, pod, snap, rows):
        is_open &= ~is_closed
    return rows[is_open]


class PreemptionLimits(Protocol):
    """The limits of preemption for the pods of a profile.

    Attributes:
        name: the plugin that counts as the cause if these limits prevent preemption; its events
            retry the pod.
    """

    name: str

    def find_limits(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> PodPreemptionLimits | None:
        """Return the limits for pods of `shape` now, None if there are none."""
        ...

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Return the events after which the limits may permit a waiting pod to preempt."""
        ...
