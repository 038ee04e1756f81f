"""Write the allocation and the reservation of one claim before its pod is bound.

Source: `framework/plugins/dynamicresources/dynamicresources.go`, bindClaim.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from policysched.cluster.objects import device_objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles
from policysched.plugins.dynamic_resources import pod_claims

MAX_TRIES: Final = 5
_RETRY_SECONDS: Final = 0.01
"""client-go, `retry.DefaultRetry`."""


class ClaimBindingError(Exception):
    """The claim cannot be written, or has changed; the text is kube-scheduler's."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimBinder:
    """Writes claims for one pod.

    Attributes:
        pod: the pod for which claims are reserved.
        writer: writes claims to the API server.
        sleep: waits between tries.
        timestamp: the time of new allocations, in the API's format.
    """

    pod: pod_shape.PodInfo
    writer: handles.ClaimWriter
    sleep: Callable[[float], Awaitable[None]]
    timestamp: str

    async def bind(
        self,
        claim: device_objects.ResourceClaim,
        allocation: device_objects.AllocationResult | None,
    ) -> device_objects.ResourceClaim:
        """Reserve a claim, with `allocation` if it has none; return its new version.

        Raises:
            ClaimBindingError: the claim was not reserved.
        """
        for tries_left in reversed(range(MAX_TRIES)):
            written = await self._try_to_bind(claim, allocation)
            if isinstance(written, device_objects.ResourceClaim):
                return written
            if not written.is_conflict or not tries_left:
                raise ClaimBindingError(written.message)
            await self.sleep(_RETRY_SECONDS)
            newest = await self.writer.read(claim)
            if isinstance(newest, handles.WriteError):
                raise ClaimBindingError(
                    f"get updated claim {claim.full_name} after conflict: {newest.message}"
                )
            if self._is_written(newest, allocation):
                return newest
            claim = newest
        raise AssertionError("the last try returns or raises")

    def _is_written(
        self,
        claim: device_objects.ResourceClaim,
        allocation: device_objects.AllocationResult | None,
    ) -> bool:
        """Return whether the API server carried out an earlier try whose answer was lost."""
        if claim.allocation is None or not pod_claims.is_reserved_for(claim, self.pod):
            return False
        return allocation is None or claim.allocation.devices == allocation.devices

    async def _try_to_bind(
        self,
        claim: device_objects.ResourceClaim,
        allocation: device_objects.AllocationResult | None,
    ) -> device_objects.ResourceClaim | handles.WriteError:
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimBindingError(f"claim {claim.full_name} got deleted in the meantime")
        if allocation is not None:
            if claim.allocation is not None:
                raise ClaimBindingError(
                    f"claim {claim.full_name} got allocated elsewhere in the meantime"
                )
            protected = await self._protect(claim)
            if isinstance(protected, handles.WriteError):
                return _prefix_error(f"add finalizer to claim {claim.full_name}", protected)
            claim = protected
        chosen = allocation or claim.allocation
        if chosen is None:
            raise ClaimBindingError(
                f"claim {claim.full_name} got deallocated elsewhere in the meantime"
            )
        reserved = reserve_claim(claim, chosen, self.pod, self.timestamp)
        written = await self.writer.write_status(reserved)
        if isinstance(written, handles.WriteError):
            written_fields = "reservation" if allocation is None else "allocation and reservation"
            return _prefix_error(f"add {written_fields} to claim {claim.full_name}", written)
        return written

    async def _protect(
        self, claim: device_objects.ResourceClaim
    ) -> device_objects.ResourceClaim | handles.WriteError:
        """Return the claim with its finalizer written; a status update cannot add it."""
        protected = add_finalizer(claim)
        return claim if protected is claim else await self.writer.write_finalizers(protected)


def reserve_claim(
    claim: device_objects.ResourceClaim,
    allocation: device_objects.AllocationResult,
    pod: pod_shape.PodInfo,
    timestamp: str,
) -> device_objects.ResourceClaim:
    """Return the claim with an allocation, reserved for a pod.

    An allocation that is new gets `timestamp`. One that the claim already has stays as it is,
    because the API server permits no change to it. kube-scheduler adds a missing timestamp, and the
    server refuses each such write.
    """
    meta = pod.pod.metadata
    reservation = device_objects.ResourceClaimConsumerReference(
        resource="pods", name=meta.name, uid=meta.uid
    )
    if claim.allocation is None:
        allocation = msgspec.structs.replace(allocation, allocation_timestamp=timestamp)
    status = msgspec.structs.replace(
        claim.status,
        allocation=allocation,
        reserved_for=(*claim.status.reserved_for, reservation),
    )
    return msgspec.structs.replace(claim, status=status)


def add_finalizer(claim: device_objects.ResourceClaim) -> device_objects.ResourceClaim:
    """Return the claim with the finalizer of allocated claims; the same object if it has it."""
    finalizers = claim.metadata.finalizers
    if device_objects.DELETE_PROTECTION in finalizers:
        return claim
    metadata = msgspec.structs.replace(
        claim.metadata, finalizers=(*finalizers, device_objects.DELETE_PROTECTION)
    )
    return msgspec.structs.replace(claim, metadata=metadata)


def deallocate(claim: device_objects.ResourceClaim) -> device_objects.ResourceClaim:
    """Return the claim without allocation, reservations and reports about devices."""
    return msgspec.structs.replace(claim, status=device_objects.ResourceClaimStatus())


async def delete_claim(
    claim: device_objects.ResourceClaim,
    writer: handles.ClaimWriter,
    sleep: Callable[[float], Awaitable[None]],
) -> handles.WriteError | None:
    """Delete a claim, and before that its finalizer; return why it was not deleted, or None."""
    for tries_left in reversed(range(MAX_TRIES)):
        unprotected = await writer.write_finalizers(_remove_finalizer(claim))
        if isinstance(unprotected, device_objects.ResourceClaim):
            break
        if not unprotected.is_conflict or not tries_left:
            return _prefix_error(f"update resourceclaim {claim.full_name}", unprotected)
        await sleep(_RETRY_SECONDS)
        newest = await writer.read(claim)
        if isinstance(newest, handles.WriteError):
            return _prefix_error(f"get resourceclaim {claim.full_name}", newest)
        claim = newest
    return await writer.delete(claim)


def _remove_finalizer(claim: device_objects.ResourceClaim) -> device_objects.ResourceClaim:
    others = tuple(
        each for each in claim.metadata.finalizers if each != device_objects.DELETE_PROTECTION
    )
    metadata = msgspec.structs.replace(claim.metadata, finalizers=others)
    return msgspec.structs.replace(claim, metadata=metadata)


def _prefix_error(action: str, error: handles.WriteError) -> handles.WriteError:
    return dataclasses.replace(error, message=f"{action}: {error.message}")
