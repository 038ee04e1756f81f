"""Karmada's API objects with only the fields that scheduling reads.

Sources: Karmada v1.18.2, `pkg/apis/work/v1alpha2/binding_types.go`,
`pkg/apis/policy/v1alpha1/propagation_types.go`, `pkg/apis/cluster/v1alpha1/types.go`. None means an
absent field. An empty list differs from an absent list if Karmada distinguishes them.
"""

from __future__ import annotations

from typing import TypeAlias

from policysched.cluster.objects import objects, wire

WireStruct = wire.WireStruct
ObjectMeta = objects.ObjectMeta
ResourceList = wire.ResourceList

DUPLICATED, DIVIDED = "Duplicated", "Divided"
AGGREGATED, WEIGHTED = "Aggregated", "Weighted"


# --- clusters ------------------------------------------------------------------------------------


class ResourceModelRange(WireStruct, frozen=True):
    """`spec.resourceModels[].ranges[]`: the minimum amount of a resource on nodes of a grade."""

    name: str
    min: wire.Quantity = 0


class ResourceModel(WireStruct, frozen=True):
    """`spec.resourceModels[]`: one grade of nodes."""

    grade: wire.Int64 = 0
    ranges: tuple[ResourceModelRange, ...] = ()


class ClusterSpec(WireStruct, frozen=True):
    """`spec` of a Cluster."""

    sync_mode: str = ""
    provider: str = ""
    region: str = ""
    zone: str = ""
    zones: tuple[str, ...] = ()
    taints: tuple[objects.Taint, ...] = ()
    resource_models: tuple[ResourceModel, ...] = ()


class APIResource(WireStruct, frozen=True):
    """`status.apiEnablements[].resources[]`."""

    name: str = ""
    kind: str = ""


class APIEnablement(WireStruct, frozen=True):
    """`status.apiEnablements[]`: kinds that the cluster serves."""

    group_version: str = ""
    resources: tuple[APIResource, ...] = ()


class AllocatableModeling(WireStruct, frozen=True):
    """`status.resourceSummary.allocatableModelings[]`: number of nodes of a grade."""

    grade: wire.Int64 = 0
    count: wire.Int64 = 0


class ResourceSummary(WireStruct, frozen=True):
    """`status.resourceSummary`."""

    allocatable: ResourceList = {}
    allocating: ResourceList = {}
    allocated: ResourceList = {}
    allocatable_modelings: tuple[AllocatableModeling, ...] = ()


class ClusterStatus(WireStruct, frozen=True):
    """`status` of a Cluster."""

    api_enablements: tuple[APIEnablement, ...] = ()
    resource_summary: ResourceSummary | None = None


class Cluster(WireStruct, frozen=True):
    """A member cluster; policies select clusters by labels and fields."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterSpec = ClusterSpec()
    status: ClusterStatus = ClusterStatus()


# --- placement -----------------------------------------------------------------------------------


class FieldSelector(WireStruct, frozen=True):
    """`fieldSelector`: requirements on `provider`, `region` and `zone`."""

    match_expressions: tuple[objects.SelectorRequirement, ...] = ()


class ClusterAffinity(WireStruct, frozen=True):
    """A selection of clusters; `exclude` overrides everything else."""

    label_selector: objects.LabelSelector | None = None
    field_selector: FieldSelector | None = None
    cluster_names: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class OverflowAffinity(ClusterAffinity, frozen=True):
    """`overflowAffinities[]`: clusters to use if the clusters before them are full."""

    affinity_name: str = ""


class ClusterAffinityTerm(ClusterAffinity, frozen=True):
    """`clusterAffinities[]`: one of the groups of clusters, which are tried in order."""

    affinity_name: str = ""
    overflow_affinities: tuple[OverflowAffinity, ...] | None = None


class SpreadConstraint(WireStruct, frozen=True):
    """`spreadConstraints[]`."""

    spread_by_field: str = ""
    spread_by_label: str = ""
    min_groups: wire.Int64 = 0
    max_groups: wire.Int64 = 0


class StaticClusterWeight(WireStruct, frozen=True):
    """`weightPreference.staticWeightList[]`."""

    target_cluster: ClusterAffinity = ClusterAffinity()
    weight: wire.Int64 = 0


class WeightPreference(WireStruct, frozen=True):
    """`replicaScheduling.weightPreference`."""

    static_weight_list: tuple[StaticClusterWeight, ...] = ()
    dynamic_weight: str = ""


class ReplicaScheduling(WireStruct, frozen=True):
    """`placement.replicaScheduling`."""

    replica_scheduling_type: str = ""
    replica_division_preference: str = ""
    weight_preference: WeightPreference | None = None


class TimedToleration(objects.Toleration, frozen=True):
    """`clusterTolerations[]`, or a pod's toleration as estimators read it."""

    toleration_seconds: wire.Int64 | None = None


class WorkloadAffinityTerm(WireStruct, frozen=True):
    """`workloadAffinity.affinity` and `workloadAffinity.antiAffinity`."""

    group_by_label_key: str = ""


class WorkloadAffinity(WireStruct, frozen=True):
    """`placement.workloadAffinity`; the groups themselves are fields of the binding."""

    affinity: WorkloadAffinityTerm | None = None
    anti_affinity: WorkloadAffinityTerm | None = None


class Placement(WireStruct, frozen=True):
    """`spec.placement`: the requirements of the resource's propagation policy.

    The class has all fields of the API, because the placement is written to an annotation.
    """

    cluster_affinity: ClusterAffinity | None = None
    cluster_affinities: tuple[ClusterAffinityTerm, ...] = ()
    cluster_tolerations: tuple[TimedToleration, ...] = ()
    spread_constraints: tuple[SpreadConstraint, ...] = ()
    replica_scheduling: ReplicaScheduling | None = None
    workload_affinity: WorkloadAffinity | None = None

    @property
    def scheduling_type(self) -> str:
        """The type in `replicaScheduling`; Duplicated if it is absent."""
        said = self.replica_scheduling
        return DUPLICATED if said is None else said.replica_scheduling_type


# --- bindings ------------------------------------------------------------------------------------


class ObjectReference(WireStruct, frozen=True):
    """`spec.resource`: the resource template that is propagated."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class NodeClaim(WireStruct, frozen=True):
    """`replicaRequirements.nodeClaim`: the nodes that can run a replica."""

    hard_node_affinity: objects.NodeSelector | None = None
    node_selector: dict[str, str] = {}
    tolerations: tuple[TimedToleration, ...] = ()


class ReplicaRequirements(WireStruct, frozen=True):
    """`spec.replicaRequirements`: the resource requests of one replica."""

    node_claim: NodeClaim | None = None
    resource_request: ResourceList = {}
    namespace: str = ""
    priority_class_name: str = ""


class Component(WireStruct, frozen=True):
    """`spec.components[]`: one pod template of a workload with several templates."""

    name: str = ""
    replicas: wire.Int64 = 0
    replica_requirements: ReplicaRequirements | None = None


class TargetCluster(WireStruct, frozen=True):
    """`spec.clusters[]`: a target cluster and its replicas."""

    name: str
    replicas: wire.Int64 = 0


class GracefulEvictionTask(WireStruct, frozen=True):
    """`spec.gracefulEvictionTasks[]`."""

    from_cluster: str = ""


class WorkloadAffinityGroups(WireStruct, frozen=True):
    """`spec.workloadAffinityGroups`."""

    affinity_group: str = ""
    anti_affinity_group: str = ""


class Suspension(WireStruct, frozen=True):
    """`spec.suspension`."""

    scheduling: bool = False


class SchedulePriority(WireStruct, frozen=True):
    """`spec.schedulePriority`."""

    priority: wire.Int32 = 0


class BindingSpec(WireStruct, frozen=True):
    """`spec` of a ResourceBinding or ClusterResourceBinding."""

    resource: ObjectReference = ObjectReference()
    replicas: wire.Int64 = 0
    replica_requirements: ReplicaRequirements | None = None
    components: tuple[Component, ...] = ()
    clusters: tuple[TargetCluster, ...] = ()
    placement: Placement | None = None
    scheduler_name: str = ""
    suspension: Suspension = Suspension()
    graceful_eviction_tasks: tuple[GracefulEvictionTask, ...] = ()
    reschedule_triggered_at: str | None = None
    schedule_priority: SchedulePriority | None = None
    workload_affinity_groups: WorkloadAffinityGroups | None = None

    @property
    def priority(self) -> int:
        """The priority, or 0 without one."""
        return 0 if self.schedule_priority is None else self.schedule_priority.priority

    @property
    def is_workload(self) -> bool:
        """Whether the resource has pods, so that capacity and overflow apply to it."""
        return self.replicas > 0 or self.replica_requirements is not None or bool(self.components)


class BindingCondition(WireStruct, frozen=True):
    """`status.conditions[]`, with all API fields, because a patch writes all conditions."""

    type: str
    status: str
    observed_generation: wire.Int64 = 0
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class BindingStatus(WireStruct, frozen=True):
    """`status` of a binding; `schedulerObservingAffinityName` is the name in the API."""

    scheduler_observed_generation: wire.Int64 = 0
    scheduler_observing_affinity_name: str = ""
    last_scheduled_time: str | None = None
    conditions: tuple[BindingCondition, ...] = ()


class Binding(WireStruct, frozen=True):
    """A ResourceBinding or a ClusterResourceBinding, depending on `kind`."""

    kind: str = "ResourceBinding"
    metadata: ObjectMeta = ObjectMeta()
    spec: BindingSpec = BindingSpec()
    status: BindingStatus = BindingStatus()

    @property
    def key(self) -> str:
        """`namespace/name` for a ResourceBinding, or `name` for a ClusterResourceBinding."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if self.kind == "ResourceBinding" else meta.name


Targets: TypeAlias = tuple[TargetCluster, ...]


def wrap_int32(number: int) -> int:
    """Wrap a number on overflow like Go's int32, in which Karmada counts replicas."""
    return (number + 2**31) % 2**32 - 2**31


def sum_replicas(targets: Targets) -> int:
    """Return the sum of replicas, in int32 as in Karmada."""
    return wrap_int32(sum(target.replicas for target in targets))
