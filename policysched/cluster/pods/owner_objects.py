"""Define services and controllers in wire format, with only their pod selectors."""

from __future__ import annotations

from policysched.cluster.objects import objects, selectors
from policysched.cluster.pods import owner_selectors


class ServiceSpec(objects.WireStruct, frozen=True):
    """`spec` of a Service or ReplicationController."""

    selector: dict[str, str] | None = None


class Service(objects.WireStruct, frozen=True):
    """A v1 Service or ReplicationController."""

    metadata: objects.ObjectMeta
    spec: ServiceSpec = ServiceSpec()

    @property
    def selector(self) -> selectors.Selector | None:
        """Selector of the pods, or None if there is none."""
        return selectors.from_match_labels(self.spec.selector) if self.spec.selector else None


class WorkloadSpec(objects.WireStruct, frozen=True):
    """`spec` of a ReplicaSet or StatefulSet."""

    selector: objects.LabelSelector | None = None


class Workload(objects.WireStruct, frozen=True):
    """An apps/v1 ReplicaSet or StatefulSet."""

    metadata: objects.ObjectMeta
    spec: WorkloadSpec = WorkloadSpec()

    @property
    def selector(self) -> selectors.Selector | None:
        """Selector of the pods, or None if there is none."""
        labels = self.spec.selector
        return None if labels is None else selectors.from_label_selector(labels)


WIRE_TYPES: dict[owner_selectors.OwnerKind, type[Service | Workload]] = {
    owner_selectors.OwnerKind.SERVICE: Service,
    owner_selectors.OwnerKind.REPLICATION_CONTROLLER: Service,
    owner_selectors.OwnerKind.REPLICA_SET: Workload,
    owner_selectors.OwnerKind.STATEFUL_SET: Workload,
}
"""OwnerKind → the struct that decodes objects of this kind."""
