"""Find claims for which no node can have devices, in PreFilter.

Source: `framework/plugins/dynamicresources/dynamicresources.go`, PreFilter. kube-scheduler does not
count reservations; it finds a node, and the API server refuses the write.
"""

from __future__ import annotations

from policysched.cluster.devices import cluster_devices
from policysched.cluster.objects import device_objects
from policysched.cluster.pods import pod_shape
from policysched.framework import status
from policysched.plugins.dynamic_resources import claim_availability, pod_claims


def find_problem(
    plugin: str,
    claim: device_objects.ResourceClaim,
    devices: cluster_devices.ClusterDevices,
    pod: pod_shape.PodInfo,
) -> status.Status | None:
    """Return the reason why no node fits a claim of a pod, as a status of `plugin`, or None."""
    if _is_used_up(claim, pod):
        text = f"resource claim {claim.full_name} has {device_objects.MAX_RESERVATIONS}"
        return status.unresolvable(plugin, f"{text} reservations, the most that the API permits")
    if claim.allocation is not None:
        problem = claim_availability.find_selector_error(claim.allocation)
        return status.Status(status.Code.ERROR, (problem,), plugin) if problem else None
    if devices.claims.is_being_allocated(claim.metadata.uid):
        text = f"resource claim {claim.full_name} is in the process of being allocated"
        return status.unresolvable(plugin, text)
    for request in claim.spec.devices.requests:
        if request.exactly is None and not request.first_available:
            text = f"resource claim {claim.full_name}, request {request.name}"
            return status.unresolvable(plugin, f"{text}: unknown request type")
        for name, class_name in _list_class_names(request):
            if not class_name:
                text = f"request {name}: unsupported request type"
                return status.Status(status.Code.ERROR, (text,), plugin)
            if devices.classes.get(class_name) is None:
                text = f"request {name}: device class {class_name} does not exist"
                return status.unresolvable(plugin, text)
    return None


def _is_used_up(claim: device_objects.ResourceClaim, pod: pod_shape.PodInfo) -> bool:
    """Return whether the API server would refuse a reservation for a pod."""
    is_full = len(claim.status.reserved_for) >= device_objects.MAX_RESERVATIONS
    return is_full and not pod_claims.is_reserved_for(claim, pod)


def _list_class_names(request: device_objects.DeviceRequest) -> list[tuple[str, str]]:
    """Return the class of each alternative, with the name of the alternative."""
    if request.exactly is not None:
        return [(request.name, request.exactly.device_class_name)]
    return [
        (f"{request.name}/{each.name}", each.device_class_name) for each in request.first_available
    ]
