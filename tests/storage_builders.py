"""Short spellings of storage objects for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policysched.cluster.objects import disruption_budgets, objects, storage_objects
from policysched.cluster.storage import storage as storages


def make_volume(
    name: str,
    *,
    capacity: str = "1Gi",
    class_name: str = "",
    modes: Iterable[str] = ("ReadWriteOnce",),
    claim: storage_objects.ClaimReference | None = None,
    phase: str = "Available",
    terms: Iterable[objects.NodeSelectorTerm] = (),
    csi: tuple[str, str] | None = None,
    meta: Mapping[str, Any] | None = None,
    **spec: Any,
) -> storage_objects.PersistentVolume:
    """Return a volume; `csi` is (driver, handle), `terms` are its required node terms."""
    required = objects.NodeSelector(node_selector_terms=tuple(terms)) if terms else None
    return storage_objects.PersistentVolume(
        metadata=objects.ObjectMeta(name=name, uid=f"uid-{name}", **(meta or {})),
        spec=storage_objects.PersistentVolumeSpec(
            capacity={"storage": capacity},
            access_modes=tuple(modes),
            claim_ref=claim,
            storage_class_name=class_name,
            node_affinity=storage_objects.VolumeNodeAffinity(required=required)
            if required
            else None,
            csi=storage_objects.CSIVolumeSource(driver=csi[0], volume_handle=csi[1])
            if csi
            else None,
            **spec,
        ),
        status=storage_objects.VolumeStatus(phase=phase),
    )


def make_claim(
    name: str,
    namespace: str = "default",
    *,
    request: str | None = "1Gi",
    class_name: str | None = None,
    modes: Iterable[str] = ("ReadWriteOnce",),
    volume: str = "",
    is_bound: bool = False,
    annotations: Mapping[str, str] | None = None,
    owner_uid: str | None = None,
    meta: Mapping[str, Any] | None = None,
    **spec: Any,
) -> storage_objects.PersistentVolumeClaim:
    """Return a claim; `is_bound` says that binding to `volume` is over.

    `owner_uid` is the uid of the pod for whose ephemeral volume it was made.
    """
    marks = {storage_objects.BIND_COMPLETED: "yes"} if is_bound else {}
    owner = objects.OwnerReference(kind="Pod", uid=owner_uid or "", controller=True)
    requests: objects.ResourceList = {} if request is None else {"storage": request}
    return storage_objects.PersistentVolumeClaim(
        metadata=objects.ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"uid-{namespace}-{name}",
            annotations={**marks, **(annotations or {})},
            owner_references=() if owner_uid is None else (owner,),
            **(meta or {}),
        ),
        spec=storage_objects.PersistentVolumeClaimSpec(
            access_modes=tuple(modes),
            resources=objects.ResourceRequirements(requests=requests),
            volume_name=volume,
            storage_class_name=class_name,
            **spec,
        ),
        status=storage_objects.VolumeStatus(phase="Bound" if is_bound else "Pending"),
    )


def make_class(
    name: str,
    *,
    provisioner: str = "example.com/disks",
    mode: str | None = storage_objects.WAIT_FOR_FIRST_CONSUMER,
    topologies: Iterable[Mapping[str, Iterable[str]]] = (),
) -> storage_objects.StorageClass:
    """Return a class; each of `topologies` maps label keys to their allowed values."""
    return storage_objects.StorageClass(
        metadata=objects.ObjectMeta(name=name),
        provisioner=provisioner,
        volume_binding_mode=mode,
        allowed_topologies=tuple(
            storage_objects.TopologyTerm(
                match_label_expressions=tuple(
                    storage_objects.TopologyRequirement(key=key, values=tuple(values))
                    for key, values in term.items()
                )
            )
            for term in topologies
        ),
    )


def make_csi_node(
    name: str, limits: Mapping[str, int | None] | None = None, *, migrated: Iterable[str] = ()
) -> storage_objects.CSINode:
    """Return the drivers of a node, with how many volumes each may attach (None: any number)."""
    marks = {storage_objects.MIGRATED_PLUGINS: ",".join(migrated)} if migrated else {}
    drivers = tuple(
        storage_objects.CSINodeDriver(
            name=driver,
            allocatable=None if count is None else storage_objects.VolumeNodeResources(count=count),
        )
        for driver, count in (limits or {}).items()
    )
    return storage_objects.CSINode(
        metadata=objects.ObjectMeta(name=name, annotations=marks),
        spec=storage_objects.CSINodeSpec(drivers=drivers),
    )


def make_driver(name: str, *, has_capacity: bool | None = None) -> storage_objects.CSIDriver:
    """Return a driver; `has_capacity` says whether its capacity is tracked."""
    return storage_objects.CSIDriver(
        metadata=objects.ObjectMeta(name=name),
        spec=storage_objects.CSIDriverSpec(storage_capacity=has_capacity),
    )


def make_capacity(
    name: str,
    class_name: str,
    capacity: str | None,
    *,
    maximum: str | None = None,
    topology: objects.LabelSelector | None = None,
) -> storage_objects.CSIStorageCapacity:
    """Return what a class has left for the nodes that `topology` selects."""
    return storage_objects.CSIStorageCapacity(
        metadata=objects.ObjectMeta(name=name, namespace="default"),
        storage_class_name=class_name,
        node_topology=topology,
        capacity=capacity,
        maximum_volume_size=maximum,
    )


def make_attachment(
    name: str, node: str, volume: str | None, *, attacher: str = "example.com/disks"
) -> storage_objects.VolumeAttachment:
    """Return a volume on a node."""
    source = storage_objects.VolumeAttachmentSource(persistent_volume_name=volume)
    return storage_objects.VolumeAttachment(
        metadata=objects.ObjectMeta(name=name),
        spec=storage_objects.VolumeAttachmentSpec(attacher=attacher, node_name=node, source=source),
    )


def make_budget(
    name: str,
    namespace: str = "default",
    *,
    selector: objects.LabelSelector | None = None,
    allowed: int = 0,
    disrupted: Iterable[str] = (),
) -> disruption_budgets.PodDisruptionBudget:
    """Return a disruption budget."""
    return disruption_budgets.PodDisruptionBudget(
        metadata=objects.ObjectMeta(name=name, namespace=namespace),
        spec=disruption_budgets.BudgetSpec(selector=selector),
        status=disruption_budgets.BudgetStatus(
            disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted)
        ),
    )


def store(storage: storages.Storage, *items: storage_objects.StorageObject) -> None:
    """Put objects into a storage."""
    for item in items:
        storage.get_store(type(item)).set(item)
