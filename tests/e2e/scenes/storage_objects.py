"""Claims, volumes and attachment limits; every claim but one is bound already.

No controller is there that would bind claims or set their phase: what counts is that the claim
names its volume, and the annotation that says that this is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.realcluster import manifests

Manifest = dict[str, Any]

STORES = 30
EXCLUSIVE, UNBOUND, IN_ZONE_B, LABELLED, SPARE = "exclusive", "unbound", "in-b", "labelled", "spare"

_DRIVER = "disk.csi.test"
_IMMEDIATE = "immediate"
_ATTACHABLE = {True: 1, False: 40}
"""How many volumes can be attached to nodes of the pool `batch`, and to others."""


def store(number: int) -> str:
    """Return the name of one of the claims `0..STORES` that pods can use in some zone."""
    return f"store-{number}"


def anchor(number: int) -> str:
    """Return the name of the claim that a pod on the node of the pool with this number uses."""
    return f"anchor-{number}"


def pool_nodes(nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the nodes in the pool `batch`."""
    return [node["metadata"]["name"] for node in nodes if _is_in_pool(node)]


def volume(claim: str) -> Manifest:
    """Return the volume of a pod that uses a claim."""
    return {"name": claim, "persistentVolumeClaim": {"claimName": claim}}


def make(namespace: str, nodes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Manifest]]:
    """Return all storage objects, each with the collection that it belongs in."""
    storage = "/apis/storage.k8s.io/v1"
    for node in nodes:
        yield f"{storage}/csinodes", _csi_node(node)
    immediate = {"metadata": {"name": _IMMEDIATE}, "provisioner": _DRIVER}
    yield f"{storage}/storageclasses", immediate
    for claim, body in _volumes(nodes).items():
        name = f"{namespace}-{claim}"
        yield from _bound(namespace, claim, name, **body)
    unbound = _claim(UNBOUND, "ReadWriteOnce") | {"metadata": {"name": UNBOUND}}
    unbound["spec"] |= {"storageClassName": _IMMEDIATE, "volumeName": ""}
    yield f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", unbound


def _volumes(nodes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what is special about each volume, by the name of its claim."""
    zones = manifests.ZONES
    stores = {store(n): {"zone": zones[n % len(zones)]} for n in range(STORES)}
    anchors: dict[str, dict[str, Any]] = {anchor(n): {} for n in range(len(pool_nodes(nodes)))}
    return {
        **stores,
        **anchors,
        SPARE: {},
        IN_ZONE_B: {"zone": "zone-b"},
        LABELLED: {"labels": {manifests.ZONE: "zone-b"}},
        EXCLUSIVE: {"mode": "ReadWriteOncePod"},
    }


def _bound(
    namespace: str,
    claim: str,
    name: str,
    *,
    zone: str | None = None,
    labels: Mapping[str, str] | None = None,
    mode: str = "ReadWriteOnce",
) -> Iterator[tuple[str, Manifest]]:
    """Return a volume and the claim that is bound to it."""
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": [mode],
        "claimRef": {"namespace": namespace, "name": claim},
        "csi": {"driver": _DRIVER, "volumeHandle": name},
    }
    if zone is not None:
        expression = {"key": manifests.ZONE, "operator": "In", "values": [zone]}
        required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        spec["nodeAffinity"] = {"required": required}
    yield (
        "/api/v1/persistentvolumes",
        {
            "metadata": {"name": name, "labels": dict(labels or {})},
            "spec": spec,
        },
    )
    bound = _claim(claim, mode)
    bound["spec"]["volumeName"] = name
    yield f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", bound


def _claim(name: str, mode: str) -> Manifest:
    return {
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {
            "storageClassName": "",
            "accessModes": [mode],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def _csi_node(node: Mapping[str, Any]) -> Manifest:
    name = node["metadata"]["name"]
    limit = {"count": _ATTACHABLE[_is_in_pool(node)]}
    driver = {"name": _DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": limit}
    return {"metadata": {"name": name}, "spec": {"drivers": [driver]}}


def _is_in_pool(node: Mapping[str, Any]) -> bool:
    return bool(node["metadata"]["labels"].get("pool") == "batch")
