"""The contracts behind preemption: Filter about nodes whose pods are supposed to change.

Source: `k8s.io/kube-scheduler/framework` (PreFilterExtensions), where what PreFilter counted is
corrected pod by pod, in a copy for each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, row_answers, status


class ApartFilterPlugin(Protocol):
    """A Filter plugin that reads ANYTHING, yet can tell what changes on a row mean for that row.

    So a what-if question about many nodes need not be asked one node at a time.
    """

    name: str

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Keep in `state` what is counted now, before anything is supposed."""
        ...

    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return for each of the n nodes what Filter would say if only its pods had changed."""
        ...


class Refilter(Protocol):
    """Filter for the pod of the cycle, asked again while a what-if question is open."""

    @property
    def is_apart(self) -> bool:
        """Whether each row is answered as if only its own pods had changed.

        Then changes may be supposed on many rows at once; else on one row at a time.
        """
        ...

    def begin(self) -> None:
        """Take note of how everything is; to be called before anything is supposed."""
        ...

    def nominated_on(self, row: int) -> Sequence[pod_shape.PodInfo]:
        """Return the pods nominated to a row that have precedence over the pod of the cycle."""
        ...

    def kept(self, what: str) -> row_answers.RowAnswers[Any] | None:
        """Return where answers of a kind may be kept for equal pods.

        None where they follow from more than a node, its pods and those nominated to it.
        """
        ...

    def filter(self, rows: npt.NDArray[np.intp]) -> status.NodeStatuses:
        """Return the first failure on each of `rows`, intp (n,), nominated pods considered."""
        ...
