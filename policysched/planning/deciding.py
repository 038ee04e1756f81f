"""Makes the decision for one pod, in the form that plans compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from policysched.cluster import snapshot, what_if
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import interface, runtime, shadow, status
from policysched.framework.answers import status_table
from policysched.offline import simulating


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedDecision:
    """The decision for a pod under one side.

    Attributes:
        node: the chosen node, or None.
        feasible: the number of feasible nodes; after the evictions if there are any.
        message: the reason why no node is chosen, or "".
        ids: int16 (N,), the Filter result of each row as an index into `statuses`: 0 for a feasible
            node, -1 for a row without a node. It is the result before any evictions.
        statuses: the statuses to which `ids` refers.
        evicted: the pods that preemption would evict.
    """

    node: str | None
    feasible: int
    message: str
    ids: status_table.StatusIds
    statuses: status_table.Statuses
    evicted: tuple[pod_shape.PodInfo, ...] = ()
    _result: runtime.ScheduleResult | None = dataclasses.field(default=None, repr=False)

    @property
    def victims(self) -> tuple[str, ...]:
        """`namespace/name` of the pods that preemption would evict."""
        return tuple(each.key for each in self.evicted)

    def is_best_node(self, node: str, snap: snapshot.Snapshot) -> bool:
        """Return whether `node` is feasible and no node has more points."""
        return self._result is not None and shadow.is_best(self._result, node, snap)

    def get_feasible_mask(self) -> columns.BoolArray:
        """Return the feasible nodes, bool (N,)."""
        mask: columns.BoolArray = self.ids == 0
        return mask

    def get_row_status(self, row: int) -> status.Status:
        """Return the Filter status of the node in a row."""
        return self.statuses[max(int(self.ids[row]), 0)]


class DecideFunction(Protocol):
    """A function that makes decisions: `decide_pod` or `decide_pod_with_preemption`."""

    def __call__(
        self,
        framework: runtime.Framework,
        info: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        preferred: Iterable[str | None] = (),
    ) -> PlannedDecision:
        """Return the decision for a pod; of the best nodes, choose the first in `preferred`."""
        ...


def decide_pod(
    framework: runtime.Framework,
    info: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    preferred: Iterable[str | None] = (),
) -> PlannedDecision:
    """Return the decision for a pod; of the best nodes, choose the first in `preferred`.

    If none of the best nodes is in `preferred`, `schedule_pod` makes the choice.
    """
    return _make_decision(framework.schedule_pod(info, snap), snap, preferred)


def decide_pod_with_preemption(
    framework: runtime.Framework,
    info: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    preferred: Iterable[str | None] = (),
) -> PlannedDecision:
    """Return a decision like `decide_pod`; if no node is feasible, repeat it after preemption.

    The evictions are simulated and then undone.
    """
    info = simulating.replace_nominated_node(
        info, snap.nominated.get_nominated_node(info.uid) or ""
    )
    result = framework.schedule_pod(info, snap)
    decision = _make_decision(result, snap, preferred)
    if result.node_name is not None or result.diagnosis is None:
        return decision
    answer = framework.run_post_filter(result.state, info, snap, result.diagnosis)
    if answer is None or not answer.status.is_success:
        return decision
    then = _decide_after_evictions(framework, info, snap, answer)
    return dataclasses.replace(
        decision,
        node=_choose_node(then, snap, preferred),
        feasible=then.feasible_count,
        message=then.message,
        evicted=answer.victims,
        _result=then,
    )


def _decide_after_evictions(
    framework: runtime.Framework,
    info: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    answer: interface.PostFilterResult,
) -> runtime.ScheduleResult:
    """Schedule the pod; the victims of preemption are removed only during this call."""
    node = answer.nominated_node_name or ""
    with what_if.WhatIf(snap) as supposed:
        supposed.remove_pods([(victim, snap.nodes.row_of[node]) for victim in answer.victims])
        return framework.schedule_pod(simulating.replace_nominated_node(info, node), snap)


def _choose_node(
    result: runtime.ScheduleResult, snap: snapshot.Snapshot, preferred: Iterable[str | None]
) -> str | None:
    if result.node_name is None:
        return None
    named = (each for each in preferred if each is not None)
    return next((each for each in named if shadow.is_best(result, each, snap)), result.node_name)


def _make_decision(
    result: runtime.ScheduleResult, snap: snapshot.Snapshot, preferred: Iterable[str | None]
) -> PlannedDecision:
    """Return the decision that plans compare, with its own copy of the Filter result."""
    node = _choose_node(result, snap, preferred)
    if result.failures is not None:
        statuses = result.failures.statuses
        ids = result.failures.ids.copy()  # later updates change the cached Filter result
    else:
        # PreFilter ended the cycle, or only the nominated node was tried.
        said = _get_pre_filter_status(result)
        ids = np.where(snap.is_alive, np.int16(said is not None), np.int16(-1)).astype(np.int16)
        statuses = (status.SUCCESS, said or status.SUCCESS)
    return PlannedDecision(
        node, result.feasible_count, result.message, ids, statuses, _result=result
    )


def _get_pre_filter_status(result: runtime.ScheduleResult) -> status.Status | None:
    if result.node_name is not None:
        return None
    if result.diagnosis is not None and result.diagnosis.pre_filter is not None:
        return result.diagnosis.pre_filter
    return result.status
