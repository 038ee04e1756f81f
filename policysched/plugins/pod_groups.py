"""PodGroups: reject pods of a scheduling group with a clear reason.

With this feature enabled, kube-scheduler places all pods of a group or none of them
(`spec.schedulingGroup`, alpha in 1.36; `plugins/gangscheduling`). policysched does not support it.
A pod that is placed without its group can be useless, and can hold resources that the rest of the
group needs. Like the rejection of resource claims, this is an exception to the rule that decisions
equal those of kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, events, interface, status
from policysched.plugins import names

REASON = "pod belongs to a scheduling group, which policysched does not schedule"


class PodGroups:
    """Rejects pods that belong to a scheduling group."""

    name = names.POD_GROUPS
    reads: ClassVar = interface.Reads.NODE  # only the pod is read

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Reject pods of a group on all nodes, as unresolvable: evictions would not help."""
        del state, snap
        if pod.shape.spec.scheduling_group is None:
            return interface.PreFilterResult()
        return interface.PreFilterResult(status.unresolvable(self.name, REASON))

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for no events, because the group of a pod never changes."""
        return ()


if TYPE_CHECKING:
    _pre_filter: type[interface.PreFilterPlugin] = PodGroups
    _events: type[interface.EventsPlugin] = PodGroups
