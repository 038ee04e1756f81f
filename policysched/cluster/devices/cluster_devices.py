"""The objects about devices: slices, classes and claims."""

from __future__ import annotations

from policysched.cluster.devices import allocated_devices, claims, classes, node_pools, slices


class ClusterDevices:
    """The state from which devices are allocated.

    Attributes:
        slices: the ResourceSlices.
        node_pools: the pools of each node; `refresh` it before use.
        classes: the DeviceClasses.
        claims: the ResourceClaims, with their allocated devices.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.slices = slices.ResourceSlices()
        self.node_pools = node_pools.NodePools(self.slices)
        self.classes = classes.DeviceClasses()
        self.claims = claims.ResourceClaims()

    @property
    def allocated(self) -> allocated_devices.AllocatedDevices:
        """The devices of allocated claims."""
        return self.claims.allocated
