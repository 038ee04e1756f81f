"""Everything that a scheduler looks at, as the v1 List that kubectl prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.realcluster import api_client

_COLLECTIONS = (
    ("v1", "Namespace", "namespaces"),
    ("v1", "Node", "nodes"),
    ("v1", "PersistentVolume", "persistentvolumes"),
    ("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    ("v1", "Pod", "pods"),
    ("v1", "ReplicationController", "replicationcontrollers"),
    ("v1", "Service", "services"),
    ("apps/v1", "ReplicaSet", "replicasets"),
    ("apps/v1", "StatefulSet", "statefulsets"),
    ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    ("storage.k8s.io/v1", "CSIDriver", "csidrivers"),
    ("storage.k8s.io/v1", "CSINode", "csinodes"),
    ("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities"),
    ("storage.k8s.io/v1", "StorageClass", "storageclasses"),
    ("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments"),
)


def read(client: api_client.ApiClient) -> dict[str, Any]:
    """Return all objects of the kinds that kube-scheduler reads."""
    items = [
        {"apiVersion": version, "kind": kind, **item}
        for version, kind, plural in _COLLECTIONS
        for item in client.items(f"/api{'s' if '/' in version else ''}/{version}/{plural}")
    ]
    return {"apiVersion": "v1", "kind": "List", "items": items}
