"""Converts the devices of nodes and pods in tests to DeviceClasses, ResourceSlices and claims.

A pod requests devices as the extended resource that each DeviceClass provides, so that copies of
the pod need no claims of their own. Only running pods have claims, with the devices of their node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from policysched import quantity
from policysched.cluster.devices import classes
from policysched.cluster.objects import device_objects

Object: TypeAlias = dict[str, Any]
Devices: TypeAlias = Mapping[str, Any]
"""Name of a DeviceClass -> the number of devices, or their fields with `count`."""
_DRIVER = "test.example.com"
_CLASS_ATTRIBUTE = "deviceClass"
_POOL_OF_ONE_SLICE = {"generation": 1, "resourceSliceCount": 1}
_API = {"apiVersion": device_objects.API_VERSION}


class TooFewDevicesError(Exception):
    """A running pod has more devices of a class than its node has."""

    def __init__(self, class_name: str, problem: str) -> None:
        super().__init__(problem)
        self.class_name = class_name
        self.problem = problem


def make_amounts(devices: Devices) -> dict[str, str]:
    """Return the requests of a pod for its devices."""
    return {f"{classes.IMPLICIT_PREFIX}{name}": str(count) for name, count in devices.items()}


def find_wrong_value(devices: Devices) -> tuple[tuple[str, ...], str] | None:
    """Return the place of the first invalid attribute or capacity and the problem, or None."""
    for name, fields in devices.items():
        for key, value in _get_fields(fields).get("attributes", {}).items():
            if isinstance(value, float):  # a schema accepts 9.0 as a whole number
                problem = f"`{key}` is {value}; write a whole number, a text or a boolean"
                return (name, "attributes", key), problem
        for key, value in _get_fields(fields).get("capacity", {}).items():
            try:
                quantity.parse_whole_units(str(value))
            except quantity.QuantityError as error:
                return (name, "capacity", key), str(error)
    return None


def make_device_class(name: str) -> Object:
    """Return the DeviceClass of the devices that nodes have under this name."""
    attribute = f'device.attributes["{_DRIVER}"].{_CLASS_ATTRIBUTE}'
    condition = f'device.driver == "{_DRIVER}" && {attribute} == "{name}"'
    spec = {"selectors": [{"cel": {"expression": condition}}]}
    return {**_API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def make_slice(node: str, devices: Devices) -> Object:
    """Return the ResourceSlice with the devices of a node."""
    listed = [
        _make_device(device, name, _get_fields(fields))
        for name, fields in devices.items()
        for device in _list_device_names(name, fields)
    ]
    spec = {
        "driver": _DRIVER,
        "nodeName": node,
        "pool": {"name": node, **_POOL_OF_ONE_SLICE},
        "devices": listed,
    }
    return {**_API, "kind": "ResourceSlice", "metadata": {"name": f"{node}-devices"}, "spec": spec}


def _make_device(device: str, class_name: str, fields: Mapping[str, Any]) -> Object:
    attributes = {
        key: _make_attribute(value) for key, value in fields.get("attributes", {}).items()
    }
    capacity = fields.get("capacity", {})
    return {
        "name": device,
        "attributes": {**attributes, _CLASS_ATTRIBUTE: {"string": class_name}},
        "capacity": {key: {"value": str(value)} for key, value in capacity.items()},
    }


def _make_attribute(value: bool | int | str) -> Object:  # noqa: FBT001 - the value of an attribute
    if isinstance(value, bool):
        return {"bool": value}
    return {"int": value} if isinstance(value, int) else {"string": value}


def _get_fields(fields: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a number or a mapping
    return {"count": fields} if isinstance(fields, int) else fields


def _list_device_names(class_name: str, fields: Any) -> list[str]:  # noqa: ANN401 - as above
    count = _get_fields(fields).get("count", 1)
    return [f"{class_name}-{number}" for number in range(count)]


class DevicesOfRunningPods:
    """Gives devices to running pods, in the order of the pods and of the devices of their nodes."""

    def __init__(self, by_node: Mapping[str, Devices]) -> None:
        """Begin with all devices free; `by_node` has the devices of each node."""
        self._free = {
            node: {name: _list_device_names(name, fields) for name, fields in devices.items()}
            for node, devices in by_node.items()
        }

    def make_claim(self, pod: str, namespace: str, node: str, devices: Devices) -> Object:
        """Return a claim, named `POD-devices`, that has devices of a node.

        Raises:
            TooFewDevicesError: the node has too few free devices.
        """
        results = list(self._take_devices(node, devices))
        requests = [
            {"name": each, "exactly": {"deviceClassName": each, "count": count}}
            for each, count in devices.items()
        ]
        return {
            **_API,
            "kind": "ResourceClaim",
            "metadata": {
                "name": f"{pod}-devices",
                "namespace": namespace,
                "uid": make_claim_uid(pod, namespace),
            },
            "spec": {"devices": {"requests": requests}},
            "status": {"allocation": {"devices": {"results": results}}},
        }

    def _take_devices(self, node: str, devices: Devices) -> Iterator[Object]:
        for name, count in devices.items():
            free = self._free.get(node, {}).get(name, [])
            if len(free) < count:
                problem = f"the node `{node}` has {len(free)} free devices of the class `{name}`"
                raise TooFewDevicesError(name, problem)
            for _ in range(count):
                device = free.pop(0)
                yield {"request": name, "driver": _DRIVER, "pool": node, "device": device}


def make_claim_uid(pod: str, namespace: str) -> str:
    """Return the uid of the claim of a running pod."""
    return f"devices of {namespace}/{pod}"
