"""Check the conditions that devices must fulfil before a pod is bound (KEP-5007).

Source: `framework/plugins/dynamicresources/dynamicresources.go` (isClaimReadyForBinding,
isClaimTimeout).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from policysched.cluster.devices import claims
from policysched.cluster.objects import device_objects, time_text
from policysched.plugins.dynamic_resources import claim_binding


class DeviceFailedError(claim_binding.ClaimBindingError):
    """A driver reports that a device cannot be bound."""


class DeviceTimeoutError(claim_binding.ClaimBindingError):
    """A device was not ready in time."""


def has_binding_conditions(claim: device_objects.ResourceClaim) -> bool:
    """Return whether a device of the claim has binding conditions."""
    allocation = claim.allocation
    results = () if allocation is None else allocation.devices.results
    return any(each.binding_conditions for each in results)


def is_lost(
    claim: device_objects.ResourceClaim, now_seconds: float, timeout_seconds: float
) -> bool:
    """Return whether a device of an allocated claim has failed, or was not ready in time."""
    readiness = check_readiness(claim)
    if isinstance(readiness, str):
        return True
    return not readiness and has_timed_out(claim, now_seconds, timeout_seconds)


def check_readiness(claim: device_objects.ResourceClaim) -> bool | str:
    """Return whether all devices of a claim are ready, or the text of a failure.

    The first device that is not ready or has failed decides.
    """
    if claim.allocation is None:
        return False
    for result in claim.allocation.devices.results:
        if not result.binding_conditions:
            continue
        reported = _find_device_status(claim, result)
        if reported is None:
            return False
        conditions = {each.type: each for each in reversed(reported.conditions)}
        for name in result.binding_failure_conditions:
            failed = conditions.get(name)
            if failed is not None and failed.status == "True":
                message = json.dumps(failed.message, ensure_ascii=False)
                return (
                    f"device binding failed: claim={claim.metadata.name},"
                    f" reason={failed.reason}, message={message}"
                )
        for name in result.binding_conditions:
            if name not in conditions or conditions[name].status != "True":
                return False
    return True


def _find_device_status(
    claim: device_objects.ResourceClaim, result: device_objects.DeviceRequestAllocationResult
) -> device_objects.AllocatedDeviceStatus | None:
    for each in claim.status.devices:
        if (each.driver, each.pool, each.device) == (result.driver, result.pool, result.device):
            return each
    return None


def has_timed_out(
    claim: device_objects.ResourceClaim, now_seconds: float, timeout_seconds: float
) -> bool:
    """Return whether the time of the devices of a claim to become ready is over.

    `now_seconds` are seconds since 1970.
    """
    allocation = claim.allocation
    if allocation is None or allocation.allocation_timestamp is None:
        return False
    if not has_binding_conditions(claim):
        return False
    since_seconds = time_text.parse_rfc3339_seconds(allocation.allocation_timestamp)
    return since_seconds + timeout_seconds < now_seconds


def find_waiting_claim(
    of_pod: Sequence[device_objects.ResourceClaim], known: claims.ResourceClaims
) -> device_objects.ResourceClaim | None:
    """Return the first claim with a device that is not ready, in its newest version, or None.

    Raises:
        ClaimBindingError: a device failed, or a claim is gone.
    """
    for claim in of_pod:
        newest = known.get(claim.metadata.name, claim.metadata.namespace)
        if newest is None:
            raise claim_binding.ClaimBindingError(
                f'could not find ResourceClaim "{claim.full_name}"'
            )
        readiness = check_readiness(newest)
        if isinstance(readiness, str):
            raise DeviceFailedError(readiness)
        if not readiness:
            return newest
    return None
