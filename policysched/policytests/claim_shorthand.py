"""Converts the claims of pods in tests to volumes and storage objects.

Each claim is bound to a volume that every node can use, so that only policies decide by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from policysched import quantity

Object: TypeAlias = dict[str, Any]
Claims: TypeAlias = Mapping[str, Mapping[str, Any]]

_DEFAULT_SIZE = "1Gi"


def make_volumes(pod_name: str, claims: Claims) -> list[Object]:
    """Return the volumes of a pod that use its claims."""
    return [
        {"name": claim, "persistentVolumeClaim": {"claimName": f"{pod_name}-{claim}"}}
        for claim in claims
    ]


def find_wrong_size(claims: Claims) -> tuple[str, str] | None:
    """Return the first claim with an invalid size, and the problem; None without one."""
    for claim, fields in claims.items():
        try:
            quantity.parse_whole_units(str(fields.get("storage", _DEFAULT_SIZE)))
        except quantity.QuantityError as error:
            return claim, str(error)
    return None


def make_storage_objects(pod_name: str, namespace: str, claims: Claims) -> Iterator[Object]:
    """Yield the claims of a pod, named `POD-CLAIM`, and their volumes."""
    for claim, fields in claims.items():
        name = f"{pod_name}-{claim}"
        volume = f"{namespace}-{name}"
        size = {"storage": str(fields.get("storage", _DEFAULT_SIZE))}
        shared = {"accessModes": ["ReadWriteOnce"], "storageClassName": fields.get("class", "")}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {**shared, "volumeName": volume, "resources": {"requests": size}},
            "status": {"phase": "Bound"},
        }
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {
                **shared,
                "capacity": size,
                "claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name},
            },
            "status": {"phase": "Bound"},
        }
