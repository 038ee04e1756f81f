"""A mask of nodes that follows from the nodes alone, kept and patched where nodes changed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns


class KeptNodeMask:
    """A mask over all rows with the last change of a node that it has seen."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._nodes: columns.NodeColumns | None = None
        self._changes = change_log.ChangeLogCursor()
        self._mask: columns.NodeMask = np.zeros(0, np.bool_)

    def update(
        self,
        snap: snapshot.Snapshot,
        compute: Callable[[snapshot.NodeView], columns.NodeMask],
    ) -> columns.NodeMask:
        """Return bool (N,), not to be written to; `compute` is called for changed nodes."""
        is_known = self._nodes is snap.nodes
        self._nodes = None  # starts again if `compute` raises
        rows = self._changes.read_changes(snap.nodes.node_changes)
        if not is_known or rows is None or len(self._mask) != snap.size:
            self._mask = compute(snap.view_all_rows())
        elif rows:
            at = np.unique(rows)
            self._mask[at] = compute(snap.view_rows(at))
        self._nodes = snap.nodes
        return self._mask
