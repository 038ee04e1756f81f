"""Write the claims of a pod in PreBind, and undo that in Unreserve; deallocate in PostFilter.

Source: `framework/plugins/dynamicresources/dynamicresources.go` (PreBind, Unreserve, PostFilter).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from policysched.cluster.objects import device_objects, objects, time_text
from policysched.cluster.pods import pod_shape
from policysched.framework import handles
from policysched.plugins.dynamic_resources import (
    binding_conditions,
    claim_binding,
    device_cycle,
    extended_resources,
    pod_claims,
)

_log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 5.0
_FIRST_LOOK_SECONDS: Final = 0.05
_SHOWN_WITHIN_SECONDS: Final = 120.0
"""Limit of the wait until the watch shows a claim that was created."""


class PodClaimBinder:
    """Writes the claims of pods, and assumes the written versions."""

    def __init__(self, handle: handles.Handle, binding_seconds: float) -> None:
        """Wait for at most `binding_seconds` until devices are ready."""
        self._handle = handle
        self._claims = handle.devices.claims
        self._writer = handle.claim_writer
        self._binding_seconds = binding_seconds

    # --- PreBind ----------------------------------------------------------------------------------

    async def bind_claims(
        self, cycle: device_cycle.DeviceCycle, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Write allocations and reservations, and wait until all devices are ready.

        Raises:
            ClaimBindingError: a claim cannot be written, or a device fails or takes too long.
        """
        for i, claim in enumerate(cycle.claims):
            is_unused = cycle.is_for_extended_resources(i) and i not in cycle.reserved
            if not is_unused and not pod_claims.is_reserved_for(claim, pod):
                await self._bind_claim(cycle, i, pod)
        if any(map(binding_conditions.has_binding_conditions, cycle.claims)):
            note = f"waiting for binding conditions for device on node {node_name}"
            self._handle.record_event(pod, "BindingConditionsPending", "Scheduling", note)
            await self._wait_and_measure(cycle.claims, pod.pod.spec.scheduler_name)

    async def _bind_claim(
        self, cycle: device_cycle.DeviceCycle, i: int, pod: pod_shape.PodInfo
    ) -> None:
        """Write a claim; its devices are in use from Reserve on, also between these steps."""
        claim, reserved = cycle.claims[i], cycle.reserved.get(i)
        is_created = extended_resources.is_in_memory(claim)
        if is_created:
            claim = cycle.claims[i] = await self._create(claim, pod)
        binder = claim_binding.ClaimBinder(
            pod,
            self._writer,
            self._handle.sleep,
            timestamp=time_text.format_rfc3339(self._handle.clock.now()),
        )
        allocation = None if reserved is None else reserved.allocation
        written = cycle.claims[i] = await binder.bind(claim, allocation)
        if is_created:
            await self._wait_until_shown(written)
        self._claims.assume(written)
        if reserved is not None:
            self._claims.end_allocation(reserved.claim)
        if cycle.is_for_extended_resources(i):
            await self._write_mappings(pod, written, cycle)

    async def _create(
        self, claim: device_objects.ResourceClaim, pod: pod_shape.PodInfo
    ) -> device_objects.ResourceClaim:
        created = await self._writer.create(claim, f"{pod.pod.metadata.name}-extended-resources-")
        is_refused = isinstance(created, handles.WriteError)
        self._handle.measured_claims.creations["failure" if is_refused else "success"] += 1
        if isinstance(created, handles.WriteError):
            raise claim_binding.ClaimBindingError(
                f"create claim for extended resources {claim.metadata.namespace}/:"
                f" {created.message}"
            )
        return created

    async def _wait_until_shown(self, claim: device_objects.ResourceClaim) -> None:
        """Wait until the watch shows a new claim; before that, no version of it can be assumed."""
        meta, seconds, waited_seconds = claim.metadata, _FIRST_LOOK_SECONDS, 0.0
        while self._claims.get(meta.name, meta.namespace) is None:
            if waited_seconds >= _SHOWN_WITHIN_SECONDS:
                _log.warning("the watch does not show %s, which was created", claim.full_name)
                return
            await self._handle.sleep(seconds)
            waited_seconds += seconds
            seconds = min(2 * seconds, 1.0)

    async def _write_mappings(
        self,
        pod: pod_shape.PodInfo,
        claim: device_objects.ResourceClaim,
        cycle: device_cycle.DeviceCycle,
    ) -> None:
        status = objects.PodExtendedResourceClaimStatus(
            request_mappings=cycle.mappings, resource_claim_name=claim.metadata.name
        )
        refused = await self._writer.write_extended_resource_status(pod, status)
        if refused is not None:
            raise claim_binding.ClaimBindingError(
                f"update pod {pod.key} ExtendedResourceClaimStatus: {refused.message}"
            )

    async def _wait_and_measure(
        self, claims: Sequence[device_objects.ResourceClaim], profile: str
    ) -> None:
        monotonic = self._handle.clock.monotonic_seconds
        began_seconds, outcome = monotonic(), "error"
        try:
            await self._wait_for_devices(claims)
            outcome = "success"
        except binding_conditions.DeviceFailedError:
            outcome = "failed"
            raise
        except binding_conditions.DeviceTimeoutError:
            outcome = "timeout"
            raise
        finally:
            measured = self._handle.measured_claims
            for result in _list_results(claims):
                labels = (profile, result.driver, outcome)
                measured.waits.observe(monotonic() - began_seconds, *labels)
                if result.binding_conditions:
                    measured.conditional_devices[labels] += 1

    async def _wait_for_devices(self, claims: Sequence[device_objects.ResourceClaim]) -> None:
        """Poll until the devices of all claims are ready.

        Raises:
            ClaimBindingError: a device failed, or the time is over.
        """
        left_seconds = self._binding_seconds
        while True:
            waiting = binding_conditions.find_waiting_claim(claims, self._claims)
            if waiting is None:
                return
            now_seconds = self._handle.clock.now().timestamp()
            if binding_conditions.has_timed_out(waiting, now_seconds, self._binding_seconds):
                text = f"device binding timeout: claim={waiting.metadata.name}"
                raise binding_conditions.DeviceTimeoutError(text)
            if left_seconds <= 0:
                raise binding_conditions.DeviceTimeoutError(
                    "device binding timeout: context deadline exceeded"
                )
            await self._handle.sleep(min(_POLL_SECONDS, left_seconds))
            left_seconds -= _POLL_SECONDS

    def assume_written(self, cycle: device_cycle.DeviceCycle, pod: pod_shape.PodInfo) -> None:
        """Assume allocations and reservations without a write.

        A claim that would be created stays in flight.
        """
        for i, claim in enumerate(cycle.claims):
            reserved = cycle.reserved.get(i)
            allocation = claim.allocation if reserved is None else reserved.allocation
            if allocation is None or extended_resources.is_in_memory(claim):
                continue
            if not pod_claims.is_reserved_for(claim, pod):
                now = time_text.format_rfc3339(cycle.snap.now)
                self._claims.assume(claim_binding.reserve_claim(claim, allocation, pod, now))
                self._claims.end_allocation(claim)

    # --- Unreserve --------------------------------------------------------------------------------

    def undo(self, cycle: device_cycle.DeviceCycle, pod: pod_shape.PodInfo) -> None:
        """Give back the devices that were not written, and the reservations that were.

        Written allocations stay. The next attempt uses them, or PostFilter removes them. A claim
        that was created is deleted.
        """
        for reserved in cycle.reserved.values():
            self._claims.give_up_allocation(reserved.claim)
        for i, claim in enumerate(cycle.claims):
            if cycle.is_for_extended_resources(i):
                if not extended_resources.is_in_memory(claim):
                    self._handle.start_task(self._delete_unused(claim))
            elif claim.allocation is not None and pod_claims.is_reserved_for(claim, pod):
                self._handle.start_task(self._withdraw_reservation(claim, pod))

    async def _delete_unused(self, claim: device_objects.ResourceClaim) -> None:
        await self.delete(claim)

    async def _withdraw_reservation(
        self, claim: device_objects.ResourceClaim, pod: pod_shape.PodInfo
    ) -> None:
        refused = await self._writer.unreserve(claim, pod)
        if refused is not None:
            # The resource claim controller removes it when the pod has ended.
            _log.warning("reservation of %s for %s: %s", claim.full_name, pod.key, refused.message)

    # --- PostFilter -------------------------------------------------------------------------------

    async def deallocate(self, claim: device_objects.ResourceClaim) -> bool:
        """Remove the allocation of a claim; return whether that succeeded."""
        written = await self._writer.write_status(claim_binding.deallocate(claim))
        if isinstance(written, handles.WriteError):
            _log.warning("deallocation of %s: %s", claim.full_name, written.message)
            return False
        self._claims.assume(written)
        return True

    async def delete(self, claim: device_objects.ResourceClaim) -> bool:
        """Delete a claim for extended resources; return whether that succeeded."""
        refused = await claim_binding.delete_claim(claim, self._writer, self._handle.sleep)
        if refused is not None:
            _log.warning("deletion of %s: %s", claim.full_name, refused.message)
        return refused is None


def _list_results(
    claims: Sequence[device_objects.ResourceClaim],
) -> list[device_objects.DeviceRequestAllocationResult]:
    return [
        result
        for claim in claims
        if claim.allocation is not None
        for result in claim.allocation.devices.results
    ]
