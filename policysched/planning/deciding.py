"""One decision about one pod, as plans compare them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from policysched.cluster import columns, pod_shape, snapshot
from policysched.framework import runtime, shadow, status, status_table


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """What became of a pod.

    Attributes:
        node: where it goes, None for nowhere.
        feasible: how many nodes take it.
        message: why it goes nowhere, "" else.
        ids: int16 (N,), what Filter said of each row in numbers of `statuses`: 0 takes the pod, -1
            is no node.
        statuses: answers by number.
    """

    node: str | None
    feasible: int
    message: str
    ids: status_table.StatusIds
    statuses: status_table.Statuses
    _result: runtime.ScheduleResult | None = dataclasses.field(default=None, repr=False)

    def prefers(self, node: str, snap: snapshot.Snapshot) -> bool:
        """Return whether no node is better than this one, which takes the pod."""
        return self._result is not None and shadow.is_best(self._result, node, snap)

    def takes(self) -> columns.BoolArray:
        """Return bool (N,): the nodes that take the pod."""
        mask: columns.BoolArray = self.ids == 0
        return mask

    def answer(self, row: int) -> status.Status:
        """Return what was said of a row."""
        return self.statuses[max(int(self.ids[row]), 0)]


def decide(
    framework: runtime.Framework,
    info: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    preferred: Iterable[str | None] = (),
) -> Decision:
    """Decide a pod; of equally good nodes it takes the first `preferred` one, else the first."""
    result = framework.schedule_pod(info, snap)
    node = result.node_name
    if node is not None:
        named = (each for each in preferred if each is not None)
        node = next((each for each in named if shadow.is_best(result, each, snap)), node)
    ids, statuses = result.filtered, result.statuses
    if ids is not None:
        ids = ids.copy()  # what is kept of Filter follows later changes
    else:
        # PreFilter ended the cycle, or the pod went to the node that it is nominated to.
        said = _pre_filter(result)
        ids = np.where(snap.is_alive, np.int16(said is not None), np.int16(-1)).astype(np.int16)
        statuses = (status.SUCCESS, said or status.SUCCESS)
    return Decision(node, result.feasible_count, result.message, ids, statuses, result)


def _pre_filter(result: runtime.ScheduleResult) -> status.Status | None:
    if result.node_name is not None:
        return None
    if result.diagnosis is not None and result.diagnosis.pre_filter is not None:
        return result.diagnosis.pre_filter
    return result.status
