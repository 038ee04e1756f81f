"""Store ResourceClaims, with the allocations that the scheduler has decided but not yet observed.

A claim passes through three versions, and the newest one counts:

    in flight  allocated by Reserve, until PreBind has written the allocation or given up
    assumed    as PreBind has written it, until the watch shows a newer version
    observed   as the watch has shown it

Sources: `framework/plugins/dynamicresources/dra_manager.go`, `scheduler/util/assumecache`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import msgspec

from policysched.cluster.devices import allocated_devices
from policysched.cluster.objects import device_objects

Claim: TypeAlias = device_objects.ResourceClaim
ClaimKey: TypeAlias = tuple[str, str]
"""Namespace and name."""


class ResourceClaims:
    """The claims of the cluster.

    Attributes:
        allocated: the devices of all allocations, including those in flight.
        on_change: is called with the versions of a claim before and after a change, or None. A new
            assumption is a change; an observed version that is not newer is not.
    """

    def __init__(self) -> None:
        """Start without claims."""
        self.allocated = allocated_devices.AllocatedDevices()
        self.on_change: Callable[[Claim | None, Claim | None], None] = _ignore
        self._observed: dict[ClaimKey, Claim] = {}
        self._assumed: dict[ClaimKey, Claim] = {}
        self._in_flight: dict[str, device_objects.AllocationResult] = {}
        self._extended: dict[str, ClaimKey] = {}

    def __iter__(self) -> Iterator[Claim]:
        """Iterate over the newest versions; claims must not change during the iteration."""
        return (self._assumed.get(key, item) for key, item in self._observed.items())

    def get(self, name: str, namespace: str = "") -> Claim | None:
        """Return the assumed or else the observed version of a claim, or None."""
        return self._find((namespace, name))

    def find_extended_resource_claim(self, pod_uid: str) -> Claim | None:
        """Return the claim that was created for extended resources of a pod, or None."""
        key = self._extended.get(pod_uid)
        return None if key is None else self._find(key)

    # --- watch ------------------------------------------------------------------------------------

    def set(self, item: Claim) -> None:
        """Add or replace a claim; an assumption about an older version ends.

        Raises:
            quantity.QuantityError: a consumed capacity is not a quantity.
        """
        key = _make_key(item)
        old = self._find(key)
        self._observed[key] = item
        assumed = self._assumed.get(key)
        if assumed is not None and _is_newer(assumed, item):
            return
        self._assumed.pop(key, None)
        if old is not None and old.metadata.uid != item.metadata.uid:
            self._count_devices(old.metadata.uid, None)
        self._note_change(old, item)

    def remove(self, name: str, namespace: str = "") -> Claim | None:
        """Remove a deleted claim; return its last version, or None if it is unknown."""
        key = (namespace, name)
        old = self._find(key)
        self._observed.pop(key, None)
        self._assumed.pop(key, None)
        if old is not None:
            self._note_change(old, None)
        return old

    # --- what-if ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def suppose_claims(self, changed: Iterable[Claim], gone: Iterable[Claim]) -> Iterator[None]:
        """Replace the claims `changed` and remove `gone` until the end of the `with` block.

        `on_change` is not called. Afterwards, all versions are as before.
        """
        changed, gone = tuple(changed), tuple(gone)
        keys = [_make_key(each) for each in (*changed, *gone)]
        before = [(key, self._observed[key], self._assumed.get(key)) for key in keys]
        on_change, self.on_change = self.on_change, _ignore
        try:
            for item in changed:
                self._assumed.pop(_make_key(item), None)
                self.set(item)
            for item in gone:
                self.remove(item.metadata.name, item.metadata.namespace)
            yield
        finally:
            for key, observed, assumed in before:
                old = self._find(key)
                self._observed[key] = observed
                if assumed is not None:
                    self._assumed[key] = assumed
                self._note_change(old, assumed or observed)
            self.on_change = on_change

    # --- decisions of the scheduler ---------------------------------------------------------------

    def assume(self, item: Claim) -> None:
        """Assume a version that has been written, unless a newer one is known or it was deleted."""
        key = _make_key(item)
        old = self._find(key)
        if old is None or _is_newer(old, item):
            return
        self._assumed[key] = item
        self._note_change(old, item)

    def start_allocation(self, uid: str, allocation: device_objects.AllocationResult) -> None:
        """Count the devices of an allocation in flight."""
        self._in_flight[uid] = allocation
        self.allocated.set(uid, allocation)

    def end_allocation(self, item: Claim) -> None:
        """End an allocation in flight; the allocation of the newest version counts again."""
        if self._in_flight.pop(item.metadata.uid, None) is not None:
            newest = self._find(_make_key(item))
            is_same = newest is not None and newest.metadata.uid == item.metadata.uid
            allocation = newest.allocation if newest is not None and is_same else None
            self.allocated.set(item.metadata.uid, allocation)

    def give_up_allocation(self, item: Claim) -> None:
        """Undo an allocation in flight; nothing happens without one.

        Its devices become free. That is a change, because it can help other pods; kube-scheduler
        has no event for it.
        """
        allocation = self._in_flight.get(item.metadata.uid)
        if allocation is None:
            return
        self.end_allocation(item)
        newest = self._find(_make_key(item)) or item
        if newest.allocation is None:
            status = msgspec.structs.replace(newest.status, allocation=allocation)
            self.on_change(msgspec.structs.replace(newest, status=status), newest)

    def is_being_allocated(self, uid: str) -> bool:
        """Return whether an allocation of the claim is in flight."""
        return uid in self._in_flight

    def _find(self, key: ClaimKey) -> Claim | None:
        return self._assumed.get(key) or self._observed.get(key)

    def _note_change(self, old: Claim | None, new: Claim | None) -> None:
        newest = new or old
        if newest is not None:
            self._index_extended(newest, exists=new is not None)
            self._count_devices(newest.metadata.uid, None if new is None else new.allocation)
        self.on_change(old, new)

    def _index_extended(self, item: Claim, *, exists: bool) -> None:
        if item.metadata.annotations.get(device_objects.EXTENDED_RESOURCE_CLAIM) != "true":
            return
        for owner in item.metadata.owner_references:
            if owner.controller and exists:
                self._extended[owner.uid] = _make_key(item)
            elif owner.controller and self._extended.get(owner.uid) == _make_key(item):
                del self._extended[owner.uid]

    def _count_devices(self, uid: str, allocation: device_objects.AllocationResult | None) -> None:
        if uid not in self._in_flight:
            self.allocated.set(uid, allocation)


def _make_key(item: Claim) -> ClaimKey:
    return item.metadata.namespace, item.metadata.name


def _is_newer(one: Claim, other: Claim) -> bool:
    """Return whether `one` is a later version of the same claim than `other`."""
    if one.metadata.uid != other.metadata.uid:
        return False
    versions = one.metadata.resource_version, other.metadata.resource_version
    return all(each.isdecimal() for each in versions) and int(versions[0]) > int(versions[1])


def _ignore(old: Claim | None, new: Claim | None) -> None:
    del old, new
