"""DynamicResources: rejects pods with resource claims, because policysched allocates no devices.

kube-scheduler's plugin allocates devices to the resource claims of a pod. A pod with claims must
not be placed without its devices, so it stays pending here. This is an exception to the rule that
decisions equal those of kube-scheduler. For all other pods the plugin behaves as it does there: its
score is 0 on every node, and if a pod fits nowhere, it answers before preemption is tried.

Device classes are not read. No node has an extended resource that only device classes provide, so
NodeResourcesFit keeps the pod pending.

Source: `plugins/dynamicresources/dynamicresources.go`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, events, interface, status
from policysched.plugins import arguments, names

REASON = "pod names resource claims, which policysched does not allocate"
NO_CLAIMS = "no new claims to deallocate"
NOT_FOUND = "not found"


class DynamicResourcesArgs(arguments.ArgumentStruct, frozen=True):
    """Arguments, accepted so that existing configurations work; the timeouts have no effect."""

    filter_timeout: str | None = None
    binding_timeout: str | None = None


class DynamicResources:
    """Rejects pods with resource claims; scores 0 for all other pods."""

    name = names.DYNAMIC_RESOURCES
    reads: ClassVar = interface.Reads.NODE | interface.Reads.USAGE
    """It reads only the pod; these flags let its zeros be summed with NodeResourcesFit's scores."""

    @classmethod
    def from_args(cls, args: arguments.Arguments) -> DynamicResources:
        """Return the plugin for `DynamicResourcesArgs`."""
        arguments.decode_arguments(args, DynamicResourcesArgs)
        return cls()

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Reject pods with claims on all nodes, as unresolvable: evictions would not help."""
        del state, snap
        if pod.shape.spec.resource_claims:
            return interface.PreFilterResult(status.unresolvable(self.name, REASON))
        return interface.PreFilterResult(status.SKIP)

    def post_filter(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> interface.PostFilterResult:
        """Leave pods without claims to preemption; reject pods with claims, without any eviction.

        If an earlier plugin's PreFilter ended the cycle, kube-scheduler's plugin does not find the
        state that its own PreFilter would have written. This is an error, which ends PostFilter.
        """
        del state, snap
        if self.name in diagnosis.unasked:
            not_found = status.Status(status.Code.ERROR, (NOT_FOUND,), self.name)
            return interface.PostFilterResult(not_found)
        if pod.shape.spec.resource_claims:
            return interface.PostFilterResult(status.unresolvable(self.name))
        return interface.PostFilterResult(status.unschedulable(self.name, NO_CLAIMS))

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): zeros, because there are no alternative devices to rank."""
        del state, pod
        return np.zeros(len(nodes), np.int64)

    def score_row(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> int:
        """Return 0, the score of every node."""
        del state, pod, node
        return 0

    def row_scorer(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> interface.RowScorer:
        """Return a function that returns 0 for every node."""
        del pod, snap
        return lambda _: 0

    def answer_key(self, shape: pod_shape.PodShape) -> Hashable:
        """Return the same key for all pods."""
        del shape
        return None

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the names of the pod's resource claims."""
        del state, node, reason
        return ", ".join(claim.name for claim in pod.shape.spec.resource_claims)

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for no event, because the claims of a pod never change."""
        return ()


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = DynamicResources
    _pre_filter: type[interface.PreFilterPlugin] = DynamicResources
    _post_filter: type[interface.PostFilterPlugin] = DynamicResources
    _score: type[interface.PreparingScorePlugin] = DynamicResources
    _keyed: type[interface.KeyedPlugin] = DynamicResources
    _events: type[interface.EventsPlugin] = DynamicResources
