"""Facts about the devices of a cluster: the names that policies can use."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from policysched.cluster.devices import slice_devices
from policysched.cluster.objects import device_names, device_objects
from policysched.plugins.shared import selector_cache

if TYPE_CHECKING:
    from policysched.cluster.devices import cluster_devices  # imports NumPy


@dataclasses.dataclass(frozen=True, slots=True)
class ClassFailure:
    """Why a class cannot select any device.

    Attributes:
        error: the selector and its error, on the first device if it compiles.
        compiles: whether the selector compiles; then it fails on every device.
    """

    error: str
    compiles: bool


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceFacts:
    """The names of classes, attributes and capacities; empty if the cluster lists none.

    Attributes and capacities are in both forms: a name in the domain of its driver also without it.

    Attributes:
        classes: names of DeviceClasses.
        attributes: names of attributes of any type.
        numbers: names of attributes that are whole numbers on some device, as policies read them.
        capacities: names of capacities.
        failures: class → the failure of a selector, for classes that cannot select a device.
    """

    classes: frozenset[str]
    attributes: frozenset[str]
    numbers: frozenset[str]
    capacities: frozenset[str]
    failures: Mapping[str, ClassFailure]


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
        dict(_find_failing_classes(devices)),
    )


def _list_forms(names: Iterable[str], driver: str) -> Iterator[str]:
    for name in names:
        yield from device_names.list_name_forms(name, driver)


def _find_failing_classes(
    devices: cluster_devices.ClusterDevices,
) -> Iterator[tuple[str, ClassFailure]]:
    """Yield the classes with a selector that does not compile, or fails on every device."""
    every = [
        device for each in devices.slices for device in slice_devices.index_slice(each).devices
    ]
    selectors = selector_cache.SelectorCache()
    for device_class in devices.classes:
        name = device_class.metadata.name
        if error := _find_compilation_error(device_class, selectors):
            yield name, ClassFailure(error, compiles=False)
        elif error := _find_common_error(device_class, every, selectors):
            yield name, ClassFailure(error, compiles=True)


def _find_compilation_error(
    device_class: device_objects.DeviceClass, selectors: selector_cache.SelectorCache
) -> str:
    for i, expression in _list_expressions(device_class):
        error = selectors.find_compilation_error(expression)
        if error:
            return f"selector #{i}: {error}"
    return ""


def _find_common_error(
    device_class: device_objects.DeviceClass,
    devices: Sequence[slice_devices.SliceDevice],
    selectors: selector_cache.SelectorCache,
) -> str:
    """Return the error of a class on the first device, or "" if it does not fail on each."""
    first_error = ""
    for device in devices:
        error = _find_selector_error(device_class, device, selectors)
        if not error:
            return ""
        first_error = first_error or error
    return first_error


def _find_selector_error(
    device_class: device_objects.DeviceClass,
    device: slice_devices.SliceDevice,
    selectors: selector_cache.SelectorCache,
) -> str:
    """Return the error of the first selector that does not select a device, or ""."""
    for i, expression in _list_expressions(device_class):
        try:
            if not selectors.matches(expression, device):
                return ""
        except selector_cache.SelectorError as error:
            return f"selector #{i}: {error}"
    return ""


def _list_expressions(device_class: device_objects.DeviceClass) -> list[tuple[int, str]]:
    """Return the expressions of a class with the positions of their selectors."""
    selectors = enumerate(device_class.spec.selectors)
    return [(i, each.cel.expression) for i, each in selectors if each.cel is not None]
