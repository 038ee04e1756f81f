"""Small clusters as kubectl prints them."""

from __future__ import annotations

import json
import pathlib
from typing import Any

Object = dict[str, Any]


def node(name: str, cpu: str = "4", **labels: str) -> Object:
    """Return a node with labels, room for 110 pods and 8 Gi of memory."""
    size = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"allocatable": size, "capacity": size},
    }


def pod(name: str, cpu: str = "1", on: str | None = None, **spec: Any) -> Object:
    """Return a pod of the namespace `prod` that requests `cpu`, on a node if one is given."""
    container = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}
    spec = {"schedulerName": "default-scheduler", "containers": [container], **spec}
    if on:
        spec["nodeName"] = on
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "prod", "labels": {"app": "web"}},
        "spec": spec,
        "status": {"phase": "Running" if on else "Pending"},
    }


def list_of(*items: Object) -> Object:
    """Return a v1 List."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def write(folder: pathlib.Path, *items: Object) -> str:
    """Write a cluster file and return its path."""
    path = folder / "cluster.json"
    path.write_text(json.dumps(list_of(*items), indent=4), encoding="utf-8")
    return str(path)
