"""An object of every kind that the readers know, with every field that they read."""

from __future__ import annotations

import functools
from typing import Any

import msgspec
from msgspec import inspect

from policysched.inputs import cluster_file, karmada_file

_TIME = "2026-01-01T00:00:00Z"
_TEXTS = {
    "operator": "In",
    "effect": "NoSchedule",
    "key": "disk",
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "schedulerName": "policysched",
    "nodeName": "n0",
    "phase": "Running",
    "restartPolicy": "Always",
    "volumeBindingMode": "WaitForFirstConsumer",
    "protocol": "TCP",
    "namespace": "default",
    "preemptionPolicy": "PreemptLowerPriority",
    "creationTimestamp": _TIME,
    "capacity": "10Gi",
    "maximumVolumeSize": "1Gi",
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "dynamicWeight": "AvailableReplicas",
    "spreadByField": "cluster",
    "nodeAffinityPolicy": "Honor",
    "nodeTaintsPolicy": "Ignore",
    "kind": "Deployment",
    "apiVersion": "apps/v1",
}
"""Values of fields whose texts mean something; others are `a`."""
_ABSENT = {"deletionTimestamp"}
_RANK: dict[type, int] = {
    inspect.StructType: 0,
    inspect.DictType: 1,
    inspect.VarTupleType: 2,
    inspect.StrType: 3,
}
_OF_PLACED_PODS = ("nodeName", "schedulingGates")
_DEPTH = 14


@functools.cache
def cluster_items() -> tuple[dict[str, Any], ...]:
    """Return an object of each kind of a cluster file, and a pod that waits."""
    items = {kind: _item(kind, *found) for kind, found in cluster_file._KINDS.items()}
    pod = items["Pod"]
    spec = {key: pod["spec"][key] for key in pod["spec"] if key not in _OF_PLACED_PODS}
    waiting = pod | {"metadata": pod["metadata"] | {"name": "waiting", "uid": ""}, "spec": spec}
    return (*items.values(), waiting)


@functools.cache
def plane_items() -> tuple[dict[str, Any], ...]:
    """Return an object of each kind of a Karmada control plane."""
    return tuple(_item(kind, *found) for kind, found in karmada_file.KINDS.items())


def _item(kind: str, api_version: str, wire_type: Any) -> dict[str, Any]:
    value: dict[str, Any] = _value(inspect.type_info(wire_type), "", 0)
    name = {"Node": "n0"}.get(kind, "full")
    value["metadata"] |= {"name": name, "uid": kind}
    if kind in ("Node", "Pod"):
        value["status"] |= {"phase": "Pending"}
    return value | {"apiVersion": api_version, "kind": kind}


def _value(info: inspect.Type, name: str, depth: int) -> Any:
    if name == "matchFields":
        return [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]
    match info:
        case inspect.StructType():
            return _struct(info, depth)
        case inspect.UnionType() if _is_quantity(info):
            return "1Gi"
        case inspect.UnionType():
            return _value(_preferred(info), name, depth)
        case inspect.DictType():
            return _mapping(info, name, depth)
        case inspect.VarTupleType() | inspect.ListType():
            return [] if depth > _DEPTH else [_value(info.item_type, name, depth + 1)]
        case inspect.BoolType():
            return name.endswith("Only")
        case inspect.IntType() | inspect.FloatType():
            return 1
        case inspect.StrType():
            return _TEXTS.get(name, _TIME if name.endswith(("Time", "time", "At")) else "a")
        case _:
            return None


def _struct(info: inspect.StructType, depth: int) -> dict[str, Any]:
    if depth > _DEPTH:
        return {}
    return {
        field.encode_name: _value(field.type, field.encode_name, depth + 1)
        for field in info.fields
        if field.encode_name not in _ABSENT
    }


def _preferred(info: inspect.UnionType) -> inspect.Type:
    """Return the richest of the types of a union."""
    types: list[inspect.Type] = list(info.types)
    return min(types, key=lambda each: _RANK.get(type(each), len(_RANK)))


def _mapping(info: inspect.DictType, name: str, depth: int) -> dict[str, Any]:
    if _is_quantity(info.value_type):
        return {"cpu": "500m", "memory": "1Gi", "example.com/gpu": 1}
    return {"disk": _value(info.value_type, name, depth + 1)}


def _is_quantity(info: inspect.Type) -> bool:
    types = info.types if isinstance(info, inspect.UnionType) else ()
    return any(isinstance(each, inspect.FloatType) for each in types)


def require_read() -> None:
    """Fail unless the readers take every object."""
    for kind, (_, wire_type) in (cluster_file._KINDS | karmada_file.KINDS).items():
        items = [*cluster_items(), *plane_items()]
        msgspec.convert(next(each for each in items if each["kind"] == kind), wire_type)
