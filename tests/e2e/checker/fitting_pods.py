"""Pods that fit in any order and have preferences: what differs between nodes is their score."""

from __future__ import annotations

from typing import Any

from tests.e2e.scenes import storage_objects
from tests.realcluster import manifests

PODS_PER_SHAPE = storage_objects.STORES
LARGE_IMAGE, SMALL_IMAGE = "models/large:1", "tools/small:1"
_SERVED = "served"

Spec = dict[str, Any]


def make(scheduler_name: str) -> list[dict[str, Any]]:
    """Return pods of all shapes."""
    return [
        manifests.pod(
            f"{name}-{number}",
            scheduler_name=scheduler_name,
            requests={"cpu": f"{100 + 50 * (number % 4)}m", "memory": f"{128 << number % 3}Mi"},
            labels={"app": name},
            spec=spec,
        )
        for number in range(PODS_PER_SHAPE)
        for name, spec in _shapes(number).items()
    ]


def service(namespace: str) -> tuple[str, dict[str, Any]]:
    """Return a service that selects a shape: its pods are spread by default."""
    body = {
        "metadata": {"name": _SERVED},
        "spec": {"selector": {"app": _SERVED}, "ports": [{"port": 80}]},
    }
    return f"/api/v1/namespaces/{namespace}/services", body


def _shapes(number: int) -> dict[str, Spec]:
    return {
        "prefers": _preferred_node(number),
        "gathers": _preferred_pods("podAffinity", "gathers", manifests.ZONE),
        "scatters": _preferred_pods("podAntiAffinity", "scatters", manifests.HOSTNAME),
        "soft": {"topologySpreadConstraints": [_soft_spread("soft")]},
        "large": _image(LARGE_IMAGE),
        "small": _image(SMALL_IMAGE),
        "stores": {"volumes": [storage_objects.volume(storage_objects.store(number))]},
        _SERVED: {},
    }


def _preferred_node(number: int) -> Spec:
    terms = [
        {"weight": 20, "preference": _term("disktype", "In", "ssd")},
        {"weight": 5 + number % 3, "preference": _term("kernel-major", "Gt", "5")},
    ]
    return {
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    }


def _term(key: str, operator: str, value: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": [value]}]}


def _preferred_pods(kind: str, app: str, topology_key: str) -> Spec:
    term = {"topologyKey": topology_key, "labelSelector": {"matchLabels": {"app": app}}}
    weighted = [{"weight": 60, "podAffinityTerm": term}]
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}}


def _soft_spread(app: str) -> dict[str, Any]:
    return {
        "topologyKey": manifests.HOSTNAME,
        "maxSkew": 1,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app}},
    }


def _image(name: str) -> Spec:
    requests = {"cpu": "100m", "memory": "256Mi"}
    return {"containers": [{"name": "main", "image": name, "resources": {"requests": requests}}]}
