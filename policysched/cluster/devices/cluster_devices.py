"""What the cluster says about devices: slices, classes and allocations."""

from __future__ import annotations

import dataclasses

from policysched.cluster.devices import allocated_devices, slices
from policysched.cluster.objects import device_objects


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class ClusterDevices:
    """The state from which devices are allocated.

    Attributes:
        slices: the ResourceSlices.
        classes: the DeviceClasses by name.
        allocated: the devices of allocated claims.
    """

    slices: slices.ResourceSlices = dataclasses.field(default_factory=slices.ResourceSlices)
    classes: dict[str, device_objects.DeviceClass] = dataclasses.field(default_factory=dict)
    allocated: allocated_devices.AllocatedDevices = dataclasses.field(
        default_factory=allocated_devices.AllocatedDevices
    )
