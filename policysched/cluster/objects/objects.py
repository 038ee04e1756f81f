"""Define Kubernetes objects in wire format, with only the fields that scheduling reads.

`msgspec` decodes watch events directly into these structs and skips unknown fields; the engine
reads the same structs. They are frozen, so a changed object is a new object. Quantities remain text
here, and become integers in `cluster.pods.pod_shape` and `cluster.columns.columns`.
"""

from __future__ import annotations

import msgspec

from policysched.cluster.objects import volume_sources, wire

Quantity = wire.Quantity
ResourceList = wire.ResourceList
WireStruct = wire.WireStruct


# --- metadata ------------------------------------------------------------------------------------


class OwnerReference(WireStruct, frozen=True):
    """`metadata.ownerReferences[]`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(WireStruct, frozen=True):
    """`metadata`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: wire.Int64 = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


# --- selectors -----------------------------------------------------------------------------------


class SelectorRequirement(WireStruct, frozen=True):
    """An element of `matchExpressions` or `matchFields`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(WireStruct, frozen=True):
    """`metav1.LabelSelector`; an absent selector matches nothing, an empty selector everything."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[SelectorRequirement, ...] = ()


class NodeSelectorTerm(WireStruct, frozen=True):
    """Requirements that are ANDed; a term without requirements matches no node."""

    match_expressions: tuple[SelectorRequirement, ...] = ()
    match_fields: tuple[SelectorRequirement, ...] = ()


class NodeSelector(WireStruct, frozen=True):
    """Terms that are ORed."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(WireStruct, frozen=True):
    """A weighted node selector term."""

    weight: wire.Int32
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(WireStruct, frozen=True):
    """`spec.affinity.nodeAffinity`."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(WireStruct, frozen=True):
    """A pod (anti-)affinity term: a set of pods and the topology key of their domains."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(WireStruct, frozen=True):
    """A preferred pod (anti-)affinity term."""

    weight: wire.Int32
    pod_affinity_term: PodAffinityTerm


class PodAffinity(WireStruct, frozen=True):
    """`spec.affinity.podAffinity` and `podAntiAffinity`."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(WireStruct, frozen=True):
    """`spec.affinity`."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(WireStruct, frozen=True):
    """`spec.topologySpreadConstraints[]`."""

    max_skew: wire.Int32 = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: wire.Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


# --- taints --------------------------------------------------------------------------------------


class Taint(WireStruct, frozen=True):
    """`spec.taints[]` of a node."""

    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        """Return the taint as kubectl writes it."""
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


class Toleration(WireStruct, frozen=True):
    """`spec.tolerations[]` of a pod; an empty effect matches all effects."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


# --- pods ----------------------------------------------------------------------------------------


class ContainerPort(WireStruct, frozen=True):
    """`ports[]` of a container; scheduling reads only ports with a hostPort."""

    host_port: wire.Int32 = 0
    container_port: wire.Int32 = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"


class ResourceRequirements(WireStruct, frozen=True):
    """`resources` of a container or a pod."""

    requests: ResourceList = {}
    limits: ResourceList = {}
    claims: tuple[dict[str, str], ...] = ()


class ContainerRestartRule(WireStruct, frozen=True):
    """`restartPolicyRules[]` of a container."""

    action: str = ""


class Container(WireStruct, frozen=True):
    """A container, or an init container, which `restartPolicy: Always` makes a sidecar."""

    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()


class PersistentVolumeClaimSource(WireStruct, frozen=True):
    """`volumes[].persistentVolumeClaim`."""

    claim_name: str = ""
    read_only: bool = False


class EphemeralVolumeSource(WireStruct, frozen=True):
    """`volumes[].ephemeral`; the name of its claim is `<pod>-<volume>`."""


class CSIVolume(WireStruct, frozen=True):
    """`volumes[].csi`, an inline volume of a CSI driver."""

    driver: str = ""


class ImageVolume(WireStruct, frozen=True):
    """`volumes[].image`."""

    reference: str = ""


class Volume(WireStruct, frozen=True):
    """A volume with the fields that scheduling reads."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: CSIVolume | None = None
    image: ImageVolume | None = None
    gce_persistent_disk: volume_sources.GCEPersistentDisk | None = None
    aws_elastic_block_store: volume_sources.AWSElasticBlockStore | None = None
    iscsi: volume_sources.ISCSIVolume | None = None
    rbd: volume_sources.RBDVolume | None = None
    azure_disk: volume_sources.AzureDisk | None = None
    azure_file: volume_sources.AzureFile | None = None
    cinder: volume_sources.Cinder | None = None
    vsphere_volume: volume_sources.VsphereVolume | None = None
    portworx_volume: volume_sources.PortworxVolume | None = None


class PodSchedulingGate(WireStruct, frozen=True):
    """`spec.schedulingGates[]`."""

    name: str


class PodResourceClaim(WireStruct, frozen=True):
    """`spec.resourceClaims[]`."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(WireStruct, frozen=True):
    """`spec.schedulingGroup` (pod groups, alpha in 1.36)."""

    pod_group_name: str | None = None


class PodSpec(WireStruct, frozen=True):
    """`spec` of a pod."""

    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    priority: wire.Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    service_account_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: ResourceList = {}
    resources: ResourceRequirements | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None


class Condition(WireStruct, frozen=True):
    """`status.conditions[]` of a pod or node."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class ContainerStatus(WireStruct, frozen=True):
    """The resources that a running container was granted (in-place resize)."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = {}


class PodResourceClaimStatus(WireStruct, frozen=True):
    """`status.resourceClaimStatuses[]`: the claim made from a template; None if none is needed."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(WireStruct, frozen=True):
    """`status.extendedResourceClaimStatus.requestMappings[]`: which request serves a container."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(WireStruct, frozen=True):
    """`status.extendedResourceClaimStatus`: the claim for extended resources of device classes."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class PodStatus(WireStruct, frozen=True):
    """`status` of a pod."""

    phase: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = {}
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None


class Pod(WireStruct, frozen=True):
    """A v1 Pod."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def is_terminal(self) -> bool:
        """Whether the pod has terminated and no longer holds resources."""
        return self.status.phase in ("Succeeded", "Failed")


# --- nodes and namespaces ------------------------------------------------------------------------


class NodeSpec(WireStruct, frozen=True):
    """`spec` of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(WireStruct, frozen=True):
    """`status.images[]` of a node."""

    names: tuple[str, ...] = ()
    size_bytes: wire.Int64 = 0


class NodeAddress(WireStruct, frozen=True):
    """`status.addresses[]` of a node."""

    type: str
    address: str


class NodeInfo(WireStruct, frozen=True):
    """`status.nodeInfo` of a node."""

    kubelet_version: str = ""


class NodeStatus(WireStruct, frozen=True):
    """`status` of a node."""

    allocatable: ResourceList = {}
    capacity: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    node_info: NodeInfo = NodeInfo()
    declared_features: tuple[str, ...] = ()


class Node(WireStruct, frozen=True):
    """A v1 Node."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.metadata.name


class Namespace(WireStruct, frozen=True):
    """A v1 Namespace; namespace selectors match its labels."""

    metadata: ObjectMeta
