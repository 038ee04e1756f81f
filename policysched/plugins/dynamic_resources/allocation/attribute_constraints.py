"""Compare attributes of the devices of a claim: `matchAttribute` and `distinctAttribute`.

To compare distinct values, kube-scheduler 1.36.3 keeps only one value of each request, so two of
its devices can have the same value. Here all devices are compared, as in later versions.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Final, NamedTuple

from policysched.cluster.devices.slice_devices import SliceDevice
from policysched.cluster.objects import device_objects


class TypedValue(NamedTuple):
    """The value of an attribute; values of different types are never equal."""

    kind: str
    value: int | bool | str | None


_UNKNOWN: Final = TypedValue("", None)
"""A value of a type that Kubernetes 1.36 does not know; it is not equal to any value."""


class AttributeConstraint(abc.ABC):
    """A constraint of a claim, with the values of the devices that have been chosen so far."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        """Start without devices; without requests, it applies to all of them."""
        self.attribute = attribute
        self._requests = frozenset(requests)
        self._values: list[TypedValue] = []

    def applies_to(self, request: str, name: str) -> bool:
        """Return whether it applies to a request, or to its alternative called `name`."""
        return not self._requests or request in self._requests or name in self._requests

    def accepts(self, device: SliceDevice) -> bool:
        """Return whether the device can be added."""
        value = find_attribute(device, self.attribute)
        return value is not None and (not self._values or self._fits(value))

    def add(self, device: SliceDevice) -> None:
        """Add an accepted device."""
        self._values.append(find_attribute(device, self.attribute) or _UNKNOWN)

    def remove_last(self) -> None:
        """Remove the device that was added last."""
        self._values.pop()

    @abc.abstractmethod
    def _fits(self, value: TypedValue) -> bool:
        """Return whether a value fits the values of the other devices."""


class MatchConstraint(AttributeConstraint):
    """All devices have the same value."""

    def _fits(self, value: TypedValue) -> bool:
        return value is not _UNKNOWN and value == self._values[0]


class DistinctConstraint(AttributeConstraint):
    """All devices have different values."""

    def _fits(self, value: TypedValue) -> bool:
        return value is not _UNKNOWN and value not in self._values


def make_constraint(source: device_objects.DeviceConstraint) -> AttributeConstraint | None:
    """Return the constraint of a claim; None if its kind is unknown."""
    if source.match_attribute is not None:
        return MatchConstraint(source.match_attribute, source.requests)
    if source.distinct_attribute is not None:
        return DistinctConstraint(source.distinct_attribute, source.requests)
    return None


def find_attribute(device: SliceDevice, attribute: str) -> TypedValue | None:
    """Return the value of an attribute with a domain; None if the device does not have it.

    Attributes without a domain belong to that of the driver.
    """
    attributes: Mapping[str, device_objects.DeviceAttribute] = device.device.attributes
    found = attributes.get(attribute)
    if found is None:
        domain, _, identifier = attribute.partition("/")
        found = attributes.get(identifier) if domain == device.id.driver else None
    return None if found is None else _read_value(found)


def _read_value(attribute: device_objects.DeviceAttribute) -> TypedValue:
    if attribute.string_value is not None:
        return TypedValue("string", attribute.string_value)
    if attribute.int_value is not None:
        return TypedValue("int", attribute.int_value)
    if attribute.bool_value is not None:
        return TypedValue("bool", attribute.bool_value)
    if attribute.version_value is not None:
        return TypedValue("version", attribute.version_value)
    return _UNKNOWN
