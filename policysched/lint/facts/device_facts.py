"""Facts about the devices of a cluster: the names that policies can use."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from policysched.cluster.objects import device_names

if TYPE_CHECKING:
    from policysched.cluster.devices import cluster_devices  # imports NumPy


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceFacts:
    """The names of classes, attributes and capacities; empty if the cluster lists none.

    Attributes and capacities are in both forms: a name in the domain of its driver also without it.

    Attributes:
        classes: names of DeviceClasses.
        attributes: names of attributes of any type.
        numbers: names of attributes that are whole numbers on some device, as policies read them.
        capacities: names of capacities.
    """

    classes: frozenset[str]
    attributes: frozenset[str]
    numbers: frozenset[str]
    capacities: frozenset[str]


def collect_device_facts(devices: cluster_devices.ClusterDevices) -> DeviceFacts:
    """Return the facts about all classes and slices."""
    attributes: set[str] = set()
    numbers: set[str] = set()
    capacities: set[str] = set()
    for each in devices.slices:
        driver = each.spec.driver
        for device in each.spec.devices:
            attributes.update(_list_forms(device.attributes, driver))
            read = (key for key, value in device.attributes.items() if value.int_value is not None)
            numbers.update(_list_forms(read, driver))
            capacities.update(_list_forms(device.capacity, driver))
    return DeviceFacts(
        frozenset(each.metadata.name for each in devices.classes),
        frozenset(attributes),
        frozenset(numbers),
        frozenset(capacities),
    )


def _list_forms(names: Iterable[str], driver: str) -> Iterator[str]:
    for name in names:
        yield from device_names.list_name_forms(name, driver)
