"""Free the devices of a running pod for a decision about it as if it were created again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec

from policysched.cluster.devices import claims
from policysched.cluster.objects import device_objects
from policysched.cluster.pods import pod_shape
from policysched.plugins.dynamic_resources import pod_claims


@contextlib.contextmanager
def suppose_released(pod: pod_shape.PodInfo, known: claims.ResourceClaims) -> Iterator[None]:
    """Free the devices that only this pod uses, until the end of the `with` block.

    In the block, the pod has no claim for extended resources, as a new pod has none.
    """
    released = [
        each
        for each in _list_claims(pod, known)
        if each.allocation is not None and pod_claims.is_reserved_for_no_other(each, pod)
    ]
    made = known.find_extended_resource_claim(pod.pod.metadata.uid)
    free = [
        msgspec.structs.replace(
            each, status=msgspec.structs.replace(each.status, allocation=None, reserved_for=())
        )
        for each in released
    ]
    with known.suppose_claims(free, () if made is None else (made,)):
        yield


def has_claims(pod: pod_shape.PodInfo, known: claims.ResourceClaims) -> bool:
    """Return whether a pod has resource claims, or one that was created for extended resources."""
    made = known.find_extended_resource_claim(pod.pod.metadata.uid)
    return bool(pod.pod.spec.resource_claims) or made is not None


def _list_claims(
    pod: pod_shape.PodInfo, known: claims.ResourceClaims
) -> list[device_objects.ResourceClaim]:
    try:
        return pod_claims.list_pod_claims(pod, known)
    except pod_claims.ClaimNotReadyError:
        return []
