"""DynamicResources: reject pods with resource claims, which policysched does not support.

kube-scheduler's plugin allocates devices for the resource claims of a pod. A pod with claims must
not be placed without its devices, so it stays pending here. This is an exception to the rule that
decisions equal those of kube-scheduler. For all other pods, the plugin behaves as in
kube-scheduler: its score is 0 on every node, and its PostFilter runs before preemption.

Device classes are not read. An extended resource that only device classes provide exists on no
node, so NodeResourcesFit keeps the pod pending.

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
    """Arguments, accepted for compatibility with existing configurations; they have no effect."""

    filter_timeout: str | None = None
    binding_timeout: str | None = None


class DynamicResources:
    """Rejects pods with resource claims; scores 0 for all other pods."""

    name = names.DYNAMIC_RESOURCES
    reads: ClassVar = interface.Reads.NODE
    """It reads only the pod, but a plugin that names nothing would be asked in every cycle."""

    @classmethod
    def from_args(cls, args: arguments.Arguments) -> DynamicResources:
        """Create the plugin from `DynamicResourcesArgs`, which are only validated."""
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
        """Leave pods without claims to preemption; reject pods with claims, without evictions.

        If PreFilter of an earlier plugin ended the cycle, kube-scheduler's plugin does not find the
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
        """Return int64 (n,): zeros, because there are no allocations to compare."""
        del state, pod
        return np.zeros(len(nodes), np.int64)

    def answer_key(self, shape: pod_shape.PodShape) -> Hashable:
        """Return None as the key, because all pods get the same scores."""
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
        """Register for no events, because the claims of a pod never change."""
        return ()


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = DynamicResources
    _pre_filter: type[interface.PreFilterPlugin] = DynamicResources
    _post_filter: type[interface.PostFilterPlugin] = DynamicResources
    _score: type[interface.ScorePlugin] = DynamicResources
    _keyed: type[interface.KeyedPlugin] = DynamicResources
    _events: type[interface.EventsPlugin] = DynamicResources
