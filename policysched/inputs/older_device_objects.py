"""Converts ResourceClaims, ResourceSlices and DeviceClasses of beta versions to resource.k8s.io/v1.

The API servers of Kubernetes 1.32 and 1.33 serve only these versions. v1beta2 has the fields of v1.
In v1beta1, requests have no `exactly`, and devices have the field `basic`.

Source: `pkg/apis/resource/v1beta1/conversion.go`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from policysched import errors
from policysched.cluster.objects import device_objects, wire
from policysched.inputs import object_lists

_BETA1: Final = "resource.k8s.io/v1beta1"
_BETA2: Final = "resource.k8s.io/v1beta2"
KINDS: Final = {
    f"{kind.__name__}.{version}": kind.__name__
    for kind in device_objects.KINDS
    for version in (_BETA1, _BETA2)
}
"""Kind with a beta version → kind."""
_EXACT_FIELDS: Final = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)
"""The fields of a request in v1beta1 that `exactly` contains in v1."""


def convert_to_v1(kind: str, source: object_lists.Source, place: str) -> object_lists.Source:
    """Return an object of a kind in `KINDS` with the fields of v1.

    Values of wrong types stay as they are, so that decoding reports them.

    Raises:
        InputError: the object is not valid JSON.
    """
    if kind.endswith(_BETA2):
        return source
    try:
        value = msgspec.json.decode(source) if isinstance(source, msgspec.Raw) else source
    except wire.UNREADABLE as error:
        raise errors.InputError(place, "is not a Kubernetes object") from error
    spec = value.get("spec")
    if not isinstance(spec, dict):
        return value
    if KINDS[kind] == "ResourceClaim" and isinstance(spec.get("devices"), dict):
        devices = _convert_items(spec["devices"], "requests", _convert_request)
        return {**value, "spec": {**spec, "devices": devices}}
    if KINDS[kind] == "ResourceSlice":
        return {**value, "spec": _convert_items(spec, "devices", _convert_device)}
    return value


def _convert_items(
    owner: dict[str, Any], field: str, convert: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return `owner` with converted objects in the list `field`."""
    items = owner.get(field)
    if not isinstance(items, list):
        return owner
    return {**owner, field: [convert(each) if isinstance(each, dict) else each for each in items]}


def _convert_request(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request with the fields of its devices in `exactly`, unless it has alternatives."""
    exactly = {name: request[name] for name in _EXACT_FIELDS if name in request}
    others = {name: each for name, each in request.items() if name not in exactly}
    return {**others, "exactly": exactly} if exactly else others


def _convert_device(device: dict[str, Any]) -> dict[str, Any]:
    """Return a device with the fields of `basic` in the device itself."""
    others = {name: each for name, each in device.items() if name != "basic"}
    basic = device.get("basic")
    return {**basic, **others} if isinstance(basic, dict) else others
