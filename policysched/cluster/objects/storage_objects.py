"""Define storage objects in wire format: volumes, claims, classes and CSI objects.

They have only the fields that kube-scheduler's volume plugins read
(`framework/plugins/volumebinding`, `volumezone`, `volumerestrictions`, `nodevolumelimits`;
component-helpers `storage/volume`). None means that a field is absent, if an absent field differs
from an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from policysched.cluster.objects import objects, volume_sources, wire

BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
"""Annotation with the class, which overrides the field (core/v1 BetaStorageClassAnnotation)."""
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""Annotation of a claim whose binding is complete."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""Annotation of a binding that a controller made; without it, a user made the binding."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""Annotation of a claim with the node for which its volume must be provisioned."""
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
"""Annotation of a CSINode with the in-tree plugins that use CSI there, comma-separated."""
NO_PROVISIONER = "kubernetes.io/no-provisioner"
"""The provisioner of classes whose volumes are created manually."""
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"


# --- volumes -------------------------------------------------------------------------------------


class CSIVolumeSource(wire.WireStruct, frozen=True):
    """`spec.csi` of a PersistentVolume."""

    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(wire.WireStruct, frozen=True):
    """`spec.nodeAffinity`: the nodes that can access a volume."""

    required: objects.NodeSelector | None = None


class ClaimReference(wire.WireStruct, frozen=True):
    """`spec.claimRef`."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class PersistentVolumeSpec(wire.WireStruct, frozen=True):
    """`spec` of a PersistentVolume."""

    capacity: wire.ResourceList = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ClaimReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolumeSource | None = None
    gce_persistent_disk: volume_sources.GCEPersistentDisk | None = None
    aws_elastic_block_store: volume_sources.AWSElasticBlockStore | None = None
    azure_disk: volume_sources.AzureDisk | None = None
    azure_file: volume_sources.AzureFile | None = None
    cinder: volume_sources.Cinder | None = None
    vsphere_volume: volume_sources.VsphereVolume | None = None
    portworx_volume: volume_sources.PortworxVolume | None = None


class VolumeStatus(wire.WireStruct, frozen=True):
    """`status` of a PersistentVolume or a claim."""

    phase: str = ""


class PersistentVolume(wire.WireStruct, frozen=True):
    """A v1 PersistentVolume."""

    metadata: objects.ObjectMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def class_name(self) -> str:
        """Name of the volume's class, or "" (`storage/volume/helpers.go`)."""
        return self.metadata.annotations.get(BETA_STORAGE_CLASS, self.spec.storage_class_name)


# --- claims --------------------------------------------------------------------------------------


class PersistentVolumeClaimSpec(wire.WireStruct, frozen=True):
    """`spec` of a claim."""

    access_modes: tuple[str, ...] = ()
    selector: objects.LabelSelector | None = None
    resources: objects.ResourceRequirements = objects.ResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaim(wire.WireStruct, frozen=True):
    """A v1 PersistentVolumeClaim."""

    metadata: objects.ObjectMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def class_name(self) -> str:
        """Name of the claim's class, or "" (`storage/volume/helpers.go`)."""
        annotated = self.metadata.annotations.get(BETA_STORAGE_CLASS)
        return (self.spec.storage_class_name or "") if annotated is None else annotated

    @property
    def is_fully_bound(self) -> bool:
        """Whether the claim has a volume and its binding is complete (isPVCFullyBound)."""
        return bool(self.spec.volume_name) and BIND_COMPLETED in self.metadata.annotations

    def is_owned_by(self, pod_uid: str) -> bool:
        """Return whether the claim was created for an ephemeral volume of the pod with this uid.

        Source: component-helpers `storage/ephemeral/ephemeral.go`, VolumeIsForPod.
        """
        owner = next((o for o in self.metadata.owner_references if o.controller), None)
        return owner is not None and owner.uid == pod_uid


# --- classes -------------------------------------------------------------------------------------


class TopologyRequirement(wire.WireStruct, frozen=True):
    """`matchLabelExpressions[]`: a label that must have one of the values."""

    key: str
    values: tuple[str, ...] = ()


class TopologyTerm(wire.WireStruct, frozen=True):
    """`allowedTopologies[]`: requirements that are ANDed."""

    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(wire.WireStruct, frozen=True):
    """A storage.k8s.io/v1 StorageClass."""

    metadata: objects.ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologyTerm, ...] = ()


# --- CSI -----------------------------------------------------------------------------------------


class VolumeNodeResources(wire.WireStruct, frozen=True):
    """`allocatable` of a driver on a node: maximum number of volumes, or None for no limit."""

    count: wire.Int32 | None = None


class CSINodeDriver(wire.WireStruct, frozen=True):
    """`spec.drivers[]` of a CSINode."""

    name: str
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(wire.WireStruct, frozen=True):
    """`spec` of a CSINode."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(wire.WireStruct, frozen=True):
    """A storage.k8s.io/v1 CSINode: the CSI drivers on the node with the same name."""

    metadata: objects.ObjectMeta
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(wire.WireStruct, frozen=True):
    """`spec` of a CSIDriver."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(wire.WireStruct, frozen=True):
    """A storage.k8s.io/v1 CSIDriver."""

    metadata: objects.ObjectMeta
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(wire.WireStruct, frozen=True):
    """A storage.k8s.io/v1 CSIStorageCapacity: the free capacity of a class on a set of nodes."""

    metadata: objects.ObjectMeta
    storage_class_name: str = ""
    node_topology: objects.LabelSelector | None = None
    capacity: wire.Quantity | None = None
    maximum_volume_size: wire.Quantity | None = None


# --- attachments ---------------------------------------------------------------------------------


class VolumeAttachmentSource(wire.WireStruct, frozen=True):
    """`spec.source`."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(wire.WireStruct, frozen=True):
    """`spec` of a VolumeAttachment."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(wire.WireStruct, frozen=True):
    """A storage.k8s.io/v1 VolumeAttachment: a volume that is or will be attached to a node."""

    metadata: objects.ObjectMeta
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()


StorageObject: TypeAlias = (
    PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
)

API_VERSIONS: Mapping[type[StorageObject], str] = {
    PersistentVolume: "v1",
    PersistentVolumeClaim: "v1",
    StorageClass: "storage.k8s.io/v1",
    CSINode: "storage.k8s.io/v1",
    CSIDriver: "storage.k8s.io/v1",
    CSIStorageCapacity: "storage.k8s.io/v1",
    VolumeAttachment: "storage.k8s.io/v1",
}
"""Type → apiVersion; the kind is the name of the type."""
NAMESPACED = (PersistentVolumeClaim, CSIStorageCapacity)
"""The types whose objects have a namespace."""


def list_quantities(item: StorageObject) -> Iterator[wire.Quantity]:
    """Yield all quantities of an object."""
    match item:
        case PersistentVolume():
            yield from item.spec.capacity.values()
        case PersistentVolumeClaim():
            yield from item.spec.resources.requests.values()
        case CSIStorageCapacity():
            yield from (q for q in (item.capacity, item.maximum_volume_size) if q is not None)
        case _:
            return
