"""SchedulingGates: keep pods with scheduling gates out of the queue.

Source: `plugins/schedulinggates/scheduling_gates.go`, KEP-3521.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from policysched.cluster.pods import pod_shape
from policysched.framework import events, interface, status
from policysched.plugins import names
from policysched.plugins.shared import event_hints


class SchedulingGates:
    """Keeps pods with `spec.schedulingGates` out of activeQ."""

    name = names.SCHEDULING_GATES

    def pre_enqueue(self, pod: pod_shape.PodInfo) -> status.Status:
        """Return success for pods without gates, or a rejection that lists the gates."""
        gates = [gate.name for gate in pod.pod.spec.scheduling_gates]
        if not gates:
            return status.SUCCESS
        reason = f"waiting for scheduling gates: [{' '.join(gates)}]"
        return status.unresolvable(self.name, reason)

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for the removal of the pod's last gate."""
        gone = events.ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        return (
            event_hints.make_event_registration(
                events.EventResource.UNSCHEDULED_POD, gone, event_hints.after_own_change
            ),
        )


if TYPE_CHECKING:
    _pre_enqueue: type[interface.PreEnqueuePlugin] = SchedulingGates
    _events: type[interface.EventsPlugin] = SchedulingGates
