"""Converts the shorthand for nodes, pods and clusters in tests to Kubernetes objects."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from policysched import clock as clocks
from policysched import quantity, spelling
from policysched.policytests import claim_shorthand, device_shorthand

Object: TypeAlias = dict[str, Any]
Fields: TypeAlias = Mapping[str, Any]

_DEFAULT_SIZE = {"cpu": "4", "memory": "16Gi", "pods": 110}
_MERGED = (
    *("labels", "annotations", "resources", "requests", "limits", "nodeSelector", "spec"),
    *("allocatable", "allocated", "conditions", "claims", "devices"),
)
"""Fields that `from` merges key by key; other fields are replaced."""
_TAINT = re.compile(r"(?P<key>[^=:]+)(?:=(?P<value>[^=:]*))?(?::(?P<effect>\w+))?")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class ShorthandError(Exception):
    """An invalid shorthand; `path` is the path of the value within its mapping."""

    def __init__(self, path: tuple[str | int, ...], problem: str) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem


def resolve_inherited_fields(name: str, every: Mapping[str, Fields], kind: str) -> Fields:
    """Return the fields of `name`, including the fields inherited with `from`.

    Raises:
        ShorthandError: the base does not exist, or the chain of bases is a cycle.
    """
    chain = [name]
    while (base := every[chain[-1]].get("from")) is not None:
        path = (chain[-1], "from")
        if base not in every:
            advice = spelling.suggest_names(base, every)
            raise ShorthandError(path, f"there is no {kind} `{base}`{advice and f' ({advice})'}")
        if base in chain:
            raise ShorthandError(path, f"`{name}` is `from` itself")
        chain.append(base)
    merged: Object = {}
    for each in reversed(chain):
        for field, value in every[each].items():
            is_merged = field in _MERGED and field in merged
            merged[field] = {**merged[field], **value} if is_merged else value
    merged.pop("from", None)
    return merged


def make_node(name: str, fields: Fields) -> Object:
    """Return a Node; its hostname label defaults to its name."""
    size = {**_DEFAULT_SIZE, **fields.get("resources", {})}
    size |= {key: fields[key] for key in _DEFAULT_SIZE if key in fields}
    amounts = _format_quantities_at_path(
        size, lambda key: (key,) if key in fields else ("resources", key)
    )
    labels = {"kubernetes.io/hostname": name, **fields.get("labels", {})}
    taints = [
        _parse_taint(text, ("taints", index)) for index, text in enumerate(fields.get("taints", ()))
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": fields.get("annotations", {}),
            **_format_creation_time(fields),
        },
        "spec": {"taints": taints, "unschedulable": fields.get("unschedulable", False)},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [
                {"type": kind, "status": status}
                for kind, status in fields.get("conditions", {}).items()
            ],
            "nodeInfo": {"kubeletVersion": fields.get("kubeletVersion", "")},
        },
    }


def make_member_cluster(name: str, fields: Fields, size: Mapping[str, Any]) -> Object:
    """Return a Cluster; its allocatable resources default to `size`."""
    allocatable = format_quantities({**size, **fields.get("allocatable", {})}, ("allocatable",))
    taints = [
        _parse_taint(text, ("taints", index)) for index, text in enumerate(fields.get("taints", ()))
    ]
    spec = {key: fields[key] for key in ("provider", "region", "zones") if key in fields}
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name, "labels": fields.get("labels", {})},
        "spec": {**spec, "taints": taints},
        "status": {
            "resourceSummary": {
                "allocatable": allocatable,
                "allocated": format_quantities(fields.get("allocated", {}), ("allocated",)),
            }
        },
    }


def format_quantities(said: Mapping[str, Any], path: tuple[str | int, ...]) -> dict[str, str]:
    """Return quantities as text; `path` is their place in the shorthand, for errors.

    Raises:
        ShorthandError: a value is not a quantity.
    """
    return _format_quantities_at_path(said, lambda key: (*path, key))


def _parse_taint(text: str, path: tuple[str | int, ...]) -> Object:
    match = _TAINT.fullmatch(text)
    if match is None or match["effect"] not in _EFFECTS:
        problem = f"`{text}` is not a taint: write key=value:Effect with "
        raise ShorthandError(path, problem + spelling.join_alternatives(_EFFECTS))
    return {"key": match["key"], "value": match["value"] or "", "effect": match["effect"]}


def make_pod_with_claims(name: str, fields: Fields) -> Object:
    """Return a List of a Pod, its claims and their volumes."""
    namespace = fields.get("namespace", "default")
    claims = fields.get("claims", {})
    wrong = claim_shorthand.find_wrong_size(claims)
    if wrong is not None:
        raise ShorthandError(("claims", wrong[0], "storage"), wrong[1])
    stored = claim_shorthand.make_storage_objects(name, namespace, claims)
    return {"apiVersion": "v1", "kind": "List", "items": [make_pod(name, fields), *stored]}


def make_pod(name: str, fields: Fields) -> Object:
    """Return a Pod, which runs on `node` if that field is set and is pending otherwise."""
    where = fields.get("node")
    metadata = {
        "name": name,
        "namespace": fields.get("namespace", "default"),
        "labels": fields.get("labels", {}),
        "annotations": fields.get("annotations", {}),
        **_format_creation_time(fields),
    }
    if "owner" in fields:
        metadata["ownerReferences"] = [_parse_owner(fields["owner"])]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": _make_pod_spec(name, fields),
        "status": {
            "phase": "Running" if where else "Pending",
            "conditions": list(_list_conditions(fields)),
        },
    }


def _format_creation_time(fields: Fields) -> Object:
    created = _format_time_at_field(fields, "created")
    return {} if created is None else {"creationTimestamp": created}


def _list_conditions(fields: Fields) -> Iterator[Object]:
    """Yield the condition of a pod that has been tried without success."""
    first_tried = _format_time_at_field(fields, "firstTried")
    if first_tried is not None:
        yield {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "lastTransitionTime": first_tried,
        }


def _format_time_at_field(fields: Fields, field: str) -> str | None:
    """Return the time in a field as Kubernetes writes it; None without the field."""
    if field not in fields:
        return None
    time = clocks.parse_time(str(fields[field]))
    if time is None:
        problem = f"`{fields[field]}` is not a time such as 2026-03-02T10:00:00+01:00"
        raise ShorthandError((field,), problem)
    return f"{time.astimezone(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"


def _make_pod_spec(name: str, fields: Fields) -> Object:
    """Return the spec of a Pod with one container; the field `spec` can add any fields."""
    resources = {
        field: _format_quantities_at_path(fields.get(field, {}), _make_amount_path_function(field))
        for field in ("requests", "limits")
    }
    devices = device_shorthand.make_amounts(fields.get("devices", {}))
    resources = {field: {**amounts, **devices} for field, amounts in resources.items()}
    container = {"name": "main", "image": fields.get("image", "app"), "resources": resources}
    spec = {"containers": [container], **fields.get("spec", {})}
    for field, into in (
        ("node", "nodeName"),
        ("priority", "priority"),
        ("schedulerName", "schedulerName"),
        ("nodeSelector", "nodeSelector"),
    ):
        if field in fields:
            spec[into] = fields[field]
    if "claims" in fields:
        volumes = claim_shorthand.make_volumes(name, fields["claims"])
        spec["volumes"] = [*spec.get("volumes", ()), *volumes]
    if "tolerations" in fields:
        said = fields["tolerations"]
        spec["tolerations"] = list(_parse_tolerations(said))
    return spec


def _make_amount_path_function(field: str) -> Callable[[str], tuple[str, ...]]:
    return lambda key: (field, key)


def _parse_tolerations(said: list[str]) -> Iterator[Object]:
    """Yield tolerations written as `key=value:Effect`, `key:Effect` or `key`."""
    for index, text in enumerate(said):
        match = _TAINT.fullmatch(text)
        if match is None or match["effect"] not in (None, *_EFFECTS):
            problem = f"`{text}` is not a toleration: write key=value:Effect, key:Effect or key"
            raise ShorthandError(("tolerations", index), problem)
        operator = "Exists" if match["value"] is None else "Equal"
        yield {
            "key": match["key"],
            "operator": operator,
            "value": match["value"] or "",
            "effect": match["effect"] or "",
        }


def _parse_owner(text: str) -> Object:
    """Return the owner reference of a controller, written as `Kind/name`."""
    kind, slash, name = text.partition("/")
    if not (kind and slash and name):
        raise ShorthandError(("owner",), f"`{text}` is not an owner: write Kind/name")
    api_version = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1"
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": f"{kind}/{name}",
        "controller": True,
    }


def _format_quantities_at_path(
    said: Mapping[str, Any], path_of: Callable[[str], tuple[str | int, ...]]
) -> dict[str, str]:
    """Check the syntax of quantities and return them as text."""
    for key, value in said.items():
        try:
            quantity.parse_whole_units(str(value))
        except quantity.QuantityError as error:
            raise ShorthandError(path_of(key), str(error)) from error
    return {key: str(value) for key, value in said.items()}
