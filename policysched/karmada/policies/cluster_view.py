"""What cluster policies see, and what each of their filters says."""

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
    """What a filter of a policy says of clusters.

    Attributes:
        ref: the rule, or the clusterGroup whose turn it is.
        reasons: of each cluster of the snapshot why it cannot take the binding, or `PASSES`.
    """

    ref: status.RuleRef
    reasons: Sequence[str]


@dataclasses.dataclass(frozen=True, slots=True)
class BindingView:
    """What rules see of a binding and of clusters.

    Attributes:
        pod: stands for the binding.
        snap: has a row for each cluster.
        rows: intp (n,), those of the n clusters of a snapshot, in their order.
    """

    pod: pod_shape.PodInfo
    snap: node_snapshots.Snapshot
    rows: npt.NDArray[np.intp]

    @property
    def clusters(self) -> node_snapshots.NodeView:
        """All of the clusters."""
        return self.snap.view_rows(self.rows)

    def select_clusters(self, places: Sequence[int]) -> node_snapshots.NodeView:
        """Return the clusters at some places of the snapshot."""
        return self.snap.view_rows(self.rows[np.array(places, np.intp)])
