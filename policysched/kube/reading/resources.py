"""The resources that the scheduler watches, and their paths on the API server."""

from __future__ import annotations

import dataclasses
import urllib.parse
from typing import Any, Generic

from policysched.cluster.objects import (
    device_objects,
    disruption_budgets,
    objects,
    storage_objects,
)
from policysched.cluster.pods import owner_objects, owner_selectors
from policysched.kube.reading import decoding


@dataclasses.dataclass(frozen=True, slots=True)
class ApiResource(Generic[decoding.T]):
    """A collection on the API server.

    Attributes:
        name: name of the resource in logs.
        path: path of the collection.
        kind: type into which its objects are decoded.
        field_selector: limits the list and the watch to matching objects; the watch reports an
            object that no longer matches as deleted.
        label_selector: like `field_selector`, for labels.
        is_optional: whether an API server may do without the resource; then it has no objects.
    """

    name: str
    path: str
    kind: type[decoding.T]
    field_selector: str = ""
    label_selector: str = ""
    is_optional: bool = False

    def make_list_path(self, *, limit: int, continue_token: str = "") -> str:
        """Return the path and the query that list one page of the current state.

        A `limit` of 0 requests all objects at once. The query has no resourceVersion, so the answer
        is at least as new as the request.
        """
        query = {"limit": str(limit)} if limit else {}
        if continue_token:
            query["continue"] = continue_token
        return self._make_path(query)

    def make_watch_path(self, *, resource_version: str, timeout_seconds: int) -> str:
        """Return the path and the query that watch changes after `resource_version`."""
        return self._make_path(
            {
                "watch": "true",
                "allowWatchBookmarks": "true",
                "resourceVersion": resource_version,
                "timeoutSeconds": str(timeout_seconds),
            }
        )

    def _make_path(self, query: dict[str, str]) -> str:
        if self.field_selector:
            query["fieldSelector"] = self.field_selector
        if self.label_selector:
            query["labelSelector"] = self.label_selector
        return f"{self.path}?{urllib.parse.urlencode(query)}" if query else self.path


PODS = ApiResource(
    name="pods",
    path="/api/v1/pods",
    kind=objects.Pod,
    # Like kube-scheduler's informer (pkg/scheduler/scheduler.go, NewInformerFactory), skip pods
    # that have ended: they use no resources.
    field_selector="status.phase!=Succeeded,status.phase!=Failed",
)
NODES = ApiResource(name="nodes", path="/api/v1/nodes", kind=objects.Node)
NAMESPACES = ApiResource(name="namespaces", path="/api/v1/namespaces", kind=objects.Namespace)

_OwnerKind = owner_selectors.OwnerKind
OWNERS: dict[_OwnerKind, ApiResource[Any]] = {
    _OwnerKind.SERVICE: ApiResource("services", "/api/v1/services", owner_objects.Service),
    _OwnerKind.REPLICATION_CONTROLLER: ApiResource(
        "replicationcontrollers", "/api/v1/replicationcontrollers", owner_objects.Service
    ),
    _OwnerKind.REPLICA_SET: ApiResource(
        "replicasets", "/apis/apps/v1/replicasets", owner_objects.Workload
    ),
    _OwnerKind.STATEFUL_SET: ApiResource(
        "statefulsets", "/apis/apps/v1/statefulsets", owner_objects.Workload
    ),
}
"""Services and controllers; the default spread constraints use their selectors."""

_STORAGE_API = "/apis/storage.k8s.io/v1"
STORAGE: dict[type[storage_objects.StorageObject], ApiResource[Any]] = {
    kind: ApiResource(name, f"{api}/{name}", kind)
    for kind, api, name in (
        (storage_objects.PersistentVolume, "/api/v1", "persistentvolumes"),
        (storage_objects.PersistentVolumeClaim, "/api/v1", "persistentvolumeclaims"),
        (storage_objects.StorageClass, _STORAGE_API, "storageclasses"),
        (storage_objects.CSINode, _STORAGE_API, "csinodes"),
        (storage_objects.CSIDriver, _STORAGE_API, "csidrivers"),
        (storage_objects.CSIStorageCapacity, _STORAGE_API, "csistoragecapacities"),
        (storage_objects.VolumeAttachment, _STORAGE_API, "volumeattachments"),
    )
}
"""The resources that the volume plugins read, keyed by type."""
DEVICES: dict[type[device_objects.DeviceObject], ApiResource[Any]] = {
    kind: ApiResource(name, f"/apis/{device_objects.API_VERSION}/{name}", kind, is_optional=True)
    for kind, name in (
        (device_objects.ResourceClaim, "resourceclaims"),
        (device_objects.ResourceSlice, "resourceslices"),
        (device_objects.DeviceClass, "deviceclasses"),
    )
}
"""The resources that DynamicResources reads, keyed by type."""
BUDGETS = ApiResource(
    name="poddisruptionbudgets",
    path="/apis/policy/v1/poddisruptionbudgets",
    kind=disruption_budgets.PodDisruptionBudget,
)
