"""UnsupportedPodFeatures: what policysched does not schedule yet stays Pending, with a reason.

kube-scheduler has plugins for resource claims (DynamicResources) and for pod groups
(GangScheduling). A pod that needs one of them must not be placed as if it did not: its devices
could not be allocated, its group not be complete. So it waits and says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from policysched.cluster import objects, pod_shape, snapshot
from policysched.framework import cycle_state, events, interface, status
from policysched.plugins import names

CLAIMS = "pod names resource claims, which policysched does not allocate"
GROUP = "pod belongs to a scheduling group, which policysched does not schedule"


class UnsupportedPodFeatures:
    """Rejects pods whose resource claims or group nothing here takes care of."""

    name = names.UNSUPPORTED_POD_FEATURES
    reads = interface.Reads.NODE  # of nothing but the pod: the answer is kept for equal pods

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Reject the pod with all reasons at once."""
        del state, snap
        reasons = tuple(_unsupported(pod.shape.spec))
        if not reasons:
            return interface.PreFilterResult()
        return interface.PreFilterResult(status.unresolvable(self.name, *reasons))

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Wait for nothing: these parts of a pod never change."""
        return ()


def _unsupported(spec: objects.PodSpec) -> Iterator[str]:
    if spec.resource_claims:
        yield CLAIMS
    if spec.scheduling_group is not None:
        yield GROUP


if TYPE_CHECKING:
    _pre_filter: type[interface.PreFilterPlugin] = UnsupportedPodFeatures
    _events: type[interface.EventsPlugin] = UnsupportedPodFeatures
