"""Nodes and pods as the API server takes them: plain dicts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONES = ("zone-a", "zone-b", "zone-c")


@dataclasses.dataclass(frozen=True)
class InstanceType:
    """A machine as clouds sell it, and the taint that such nodes usually carry.

    Attributes:
        resources: capacity by resource name, as quantities.
    """

    name: str
    resources: Mapping[str, str]
    taint: tuple[str, str, str] | None = None


INSTANCE_TYPES = (
    InstanceType("general-8", {"cpu": "8", "memory": "32Gi"}),
    InstanceType("general-16", {"cpu": "16", "memory": "64Gi"}),
    InstanceType("memory-16", {"cpu": "16", "memory": "128Gi"}),
    InstanceType(
        "gpu-32",
        {"cpu": "32", "memory": "128Gi", "nvidia.com/gpu": "4"},
        taint=("nvidia.com/gpu", "present", "NoSchedule"),
    ),
    InstanceType(
        "spot-8", {"cpu": "8", "memory": "32Gi"}, taint=("spot", "true", "PreferNoSchedule")
    ),
)


def fleet(count: int) -> list[dict[str, Any]]:
    """Return `count` nodes `node-0`…: zones in turn, every instance type in every zone."""
    return [
        typed_node(
            f"node-{number}",
            zone=ZONES[number % len(ZONES)],
            instance_type=INSTANCE_TYPES[number // len(ZONES) % len(INSTANCE_TYPES)],
        )
        for number in range(count)
    ]


def typed_node(name: str, *, zone: str, instance_type: InstanceType) -> dict[str, Any]:
    """Return a node of an instance type in a zone."""
    return node(
        name,
        labels={ZONE: zone, INSTANCE_TYPE: instance_type.name},
        resources=instance_type.resources,
        taints=[instance_type.taint] if instance_type.taint else [],
    )


def node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    resources: Mapping[str, str] | None = None,
    taints: Sequence[tuple[str, str, str]] = (),
) -> dict[str, Any]:
    """Return a Ready node.

    Args:
        name: the node's name, also its hostname label.
        labels: further labels.
        resources: capacity and allocatable; default 8 CPUs, 32Gi, 110 pods.
        taints: (key, value, effect).
    """
    amounts = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    amounts |= resources or {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name} | dict(labels or {})},
        "spec": {
            "taints": [
                {"key": key, "value": value, "effect": effect} for key, value, effect in taints
            ],
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def pod(
    name: str,
    *,
    scheduler_name: str = "default-scheduler",
    requests: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a pod with one container.

    Args:
        name: the pod's name.
        scheduler_name: who schedules it.
        requests: what its container requests and is limited to for extended resources.
        labels: its labels.
        spec: further fields of the spec, such as affinity or tolerations.
    """
    amounts = dict(requests or {})
    # The API server asks for limits equal to requests wherever a resource cannot be overcommitted.
    limits = {resource: amount for resource, amount in amounts.items() if _is_exact(resource)}
    container = {
        "name": "main",
        "image": "pause:3.10",
        "resources": {"requests": amounts, "limits": limits},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"schedulerName": scheduler_name, "containers": [container], **(spec or {})},
    }


def _is_exact(resource: str) -> bool:
    return "/" in resource or resource.startswith("hugepages-")
