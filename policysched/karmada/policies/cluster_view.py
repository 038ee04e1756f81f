"""The input of cluster policy rules, and the result of each of their filters."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from policysched.cluster import snapshot as node_snapshots
    from policysched.cluster.pods import pod_shape
    from policysched.framework import status


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterFilterReasons:
    """The result of one filter of a policy.

    Attributes:
        ref: the rule, or the clusterGroup of this attempt.
        reasons: `PASSES`, or the reason for exclusion, for each cluster of the snapshot.
    """

    ref: status.RuleRef
    reasons: Sequence[str]


@dataclasses.dataclass(frozen=True, slots=True)
class BindingView:
    """The binding and the clusters in the form that rules evaluate.

    Attributes:
        pod: the pod that represents the binding.
        snap: the columns, with a row for each cluster.
        rows: the rows of the snapshot's n clusters in their order, intp (n,).
    """

    pod: pod_shape.PodInfo
    snap: node_snapshots.Snapshot
    rows: npt.NDArray[np.intp]

    @property
    def clusters(self) -> node_snapshots.NodeView:
        """The view of all clusters."""
        return self.snap.view_rows(self.rows)

    def select_clusters(self, places: Sequence[int]) -> node_snapshots.NodeView:
        """Return the view of the clusters at these indices of the snapshot."""
        return self.snap.view_rows(self.rows[np.array(places, np.intp)])
