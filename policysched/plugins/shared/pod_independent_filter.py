"""The what-if answers of Filter plugins that other pods do not affect (`framework.apart`)."""

from __future__ import annotations

from typing import Protocol

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, status


class _FilterPlugin(interface.PreFilterPlugin, interface.FilterPlugin, Protocol):
    """A plugin whose Filter needs its PreFilter."""


class PodIndependentFilter:
    """Answers questions about supposed pods as if there were none, because they change nothing."""

    def remember(
        self: _FilterPlugin,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
    ) -> None:
        """Run PreFilter, for `filter_apart`."""
        self.pre_filter(state, pod, snap)

    def filter_apart(
        self: _FilterPlugin,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        nodes: snapshot.NodeView,
    ) -> status.NodeStatuses:
        """Return the answer of Filter for each of the n nodes."""
        return self.filter(state, pod, nodes)
