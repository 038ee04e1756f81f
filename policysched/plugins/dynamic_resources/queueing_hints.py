"""Define queueing hints for pods that DynamicResources rejected.

Source: `framework/plugins/dynamicresources/dynamicresources.go`, EventsToRegister and its hints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policysched.cluster.devices import cluster_devices
from policysched.cluster.objects import device_objects
from policysched.cluster.pods import pod_shape
from policysched.framework import events
from policysched.plugins.dynamic_resources import pod_claims
from policysched.plugins.shared import event_hints

_Resource, _Action = events.EventResource, events.ActionType
_NODE: Final = _Action.ADD | _Action.UPDATE_NODE_LABEL | _Action.UPDATE_NODE_ALLOCATABLE
_CHANGE: Final = _Action.ADD | _Action.UPDATE


class ClaimHints:
    """Hints that look at the claims of a waiting pod."""

    def __init__(self, devices: cluster_devices.ClusterDevices) -> None:
        """Look up claims in `devices`."""
        self._claims = devices.claims

    def list_registrations(self) -> Sequence[events.ClusterEventWithHint]:
        """Return the events that can make a pod schedulable."""
        make = event_hints.make_event_registration
        return (
            make(_Resource.NODE, _NODE),
            make(_Resource.RESOURCE_CLAIM, _CHANGE, self._after_claim_change),
            make(
                _Resource.UNSCHEDULED_POD,
                _Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
                self._after_pod_change,
            ),
            make(_Resource.DEVICE_CLASS, _CHANGE),
            make(_Resource.RESOURCE_SLICE, _CHANGE),
        )

    def _after_claim_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if devices became free, or if the status of a claim of the pod changed.

        The change of another claim does not help a pod whose own claims are not ready.
        """
        if not isinstance(new, device_objects.ResourceClaim):
            return events.QueueingHint.QUEUE
        before = old if isinstance(old, device_objects.ResourceClaim) else None
        is_freed = before is not None and before.allocation is not None and new.allocation is None
        if not is_freed and before is not None and before.status == new.status:
            return events.QueueingHint.SKIP
        if not is_freed and new.metadata.namespace != pod.pod.metadata.namespace:
            return events.QueueingHint.SKIP
        try:
            own = pod_claims.list_pod_claims(pod, self._claims)
        except pod_claims.ClaimNotReadyError:
            return events.QueueingHint.SKIP
        is_own = any(each.metadata.uid == new.metadata.uid for each in own)
        return event_hints.choose_queueing_hint(is_freed or is_own)

    def _after_pod_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if the pod itself changed, and its claims are ready now."""
        del old
        if not isinstance(new, pod_shape.PodInfo) or new.uid != pod.uid:
            return events.QueueingHint.SKIP
        try:
            pod_claims.list_pod_claims(new, self._claims)
        except pod_claims.ClaimNotReadyError:
            return events.QueueingHint.SKIP
        return events.QueueingHint.QUEUE
