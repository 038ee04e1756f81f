"""Short spellings of nodes and pods for tests.

    make_pod("a").labels(app="web").requests(cpu="500m").spread("zone", selector={"app": "web"})
    make_node("n1").labels(zone="a").capacity(cpu="4", memory="8Gi", pods=110).build()

Builders are values: every method returns a new one, so that a common beginning can be shared.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape

EPOCH = datetime.datetime(2026, 1, 5, 12, 0, tzinfo=datetime.UTC)
"""The time at which clocks of tests begin: a Monday at noon."""

_StructT = TypeVar("_StructT", bound=msgspec.Struct)
SelectorLike = objects.LabelSelector | Mapping[str, str] | None


# --- parts ---------------------------------------------------------------------------------------


def expression(key: str, operator: str, *values: str) -> objects.SelectorRequirement:
    """Return one element of `matchExpressions`: `expression("zone", "In", "a", "b")`."""
    return objects.SelectorRequirement(key, operator, values)


def label_selector(
    *expressions: objects.SelectorRequirement, **match_labels: str
) -> objects.LabelSelector:
    """Return a label selector; without arguments it selects everything."""
    return objects.LabelSelector(match_labels=match_labels, match_expressions=expressions)


def node_term(
    *expressions: objects.SelectorRequirement, fields: Iterable[objects.SelectorRequirement] = ()
) -> objects.NodeSelectorTerm:
    """Return a node selector term of label expressions and field expressions."""
    return objects.NodeSelectorTerm(match_expressions=expressions, match_fields=tuple(fields))


def pod_term(
    topology_key: str,
    selector: SelectorLike = None,
    *,
    namespaces: Iterable[str] = (),
    namespace_selector: SelectorLike = None,
) -> objects.PodAffinityTerm:
    """Return a pod affinity term; `selector` may be a plain mapping of labels."""
    return objects.PodAffinityTerm(
        topology_key=topology_key,
        label_selector=_selector(selector),
        namespaces=tuple(namespaces),
        namespace_selector=_selector(namespace_selector),
    )


def _selector(selector: SelectorLike) -> objects.LabelSelector | None:
    if selector is None or isinstance(selector, objects.LabelSelector):
        return selector
    return objects.LabelSelector(match_labels=dict(selector))


def _changed(struct: _StructT, **changes: Any) -> _StructT:
    return msgspec.structs.replace(struct, **changes)


def format_moment(after_seconds: float) -> str:
    """Return the time so many seconds after EPOCH, in the form of the API server."""
    time = EPOCH + datetime.timedelta(seconds=after_seconds)
    return time.isoformat().replace("+00:00", "Z")


# --- pods ----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class PodBuilder:
    """A pod in the making."""

    pod: objects.Pod

    def build(self) -> objects.Pod:
        """Return the pod."""
        return self.pod

    def meta(self, **changes: Any) -> PodBuilder:
        """Replace fields of `metadata`."""
        return PodBuilder(_changed(self.pod, metadata=_changed(self.pod.metadata, **changes)))

    def spec(self, **changes: Any) -> PodBuilder:
        """Replace fields of `spec`."""
        return PodBuilder(_changed(self.pod, spec=_changed(self.pod.spec, **changes)))

    def status(self, **changes: Any) -> PodBuilder:
        """Replace fields of `status`."""
        return PodBuilder(_changed(self.pod, status=_changed(self.pod.status, **changes)))

    # metadata

    def uid(self, uid: str) -> PodBuilder:
        """Set the uid (the default is `uid-<namespace>-<name>`)."""
        return self.meta(uid=uid)

    def labels(self, mapping: Mapping[str, str] | None = None, /, **labels: str) -> PodBuilder:
        """Add labels; keys that are no Python names go into the mapping."""
        return self.meta(labels={**self.pod.metadata.labels, **(mapping or {}), **labels})

    def annotations(self, mapping: Mapping[str, str]) -> PodBuilder:
        """Add annotations."""
        return self.meta(annotations={**self.pod.metadata.annotations, **mapping})

    def owner(self, kind: str, name: str, uid: str = "") -> PodBuilder:
        """Set the controlling owner."""
        owner = objects.OwnerReference(kind=kind, name=name, uid=uid or name, controller=True)
        return self.meta(owner_references=(owner,))

    def terminating(self, since: str = "2026-01-05T11:59:00Z") -> PodBuilder:
        """Set the deletion timestamp."""
        return self.meta(deletion_timestamp=since)

    def created(self, after_seconds: float) -> PodBuilder:
        """Set the time of creation, in seconds after EPOCH."""
        return self.meta(creation_timestamp=format_moment(after_seconds))

    def tried(self, after_seconds: float | None, reason: str = "Unschedulable") -> PodBuilder:
        """Add the condition that a scheduler tried the pod in vain first at this time."""
        since = None if after_seconds is None else format_moment(after_seconds)
        condition = objects.Condition("PodScheduled", "False", reason, "", since)
        return self.status(conditions=(condition,))

    # containers

    def requests(
        self, mapping: objects.ResourceList | None = None, /, **amounts: objects.Quantity
    ) -> PodBuilder:
        """Set the requests of the first container, which is made when there is none."""
        resources = objects.ResourceRequirements(requests={**(mapping or {}), **amounts})
        return self._first_container(resources=resources)

    def image(self, image: str) -> PodBuilder:
        """Set the image of the first container."""
        return self._first_container(image=image)

    def host_port(self, port: int, *, ip: str = "", protocol: str = "TCP") -> PodBuilder:
        """Claim a host port with the first container."""
        added = objects.ContainerPort(host_port=port, host_ip=ip, protocol=protocol)
        ports = self.pod.spec.containers[0].ports if self.pod.spec.containers else ()
        return self._first_container(ports=(*ports, added))

    def container(
        self, *, name: str = "", image: str = "", requests: objects.ResourceList | None = None
    ) -> PodBuilder:
        """Append a container."""
        made = _container(name or f"c{len(self.pod.spec.containers)}", image, requests)
        return self.spec(containers=(*self.pod.spec.containers, made))

    def init_container(
        self,
        *,
        name: str = "",
        image: str = "",
        requests: objects.ResourceList | None = None,
        is_sidecar: bool = False,
    ) -> PodBuilder:
        """Append an init container; a sidecar restarts always."""
        made = _container(name or f"i{len(self.pod.spec.init_containers)}", image, requests)
        made = _changed(made, restart_policy="Always" if is_sidecar else "")
        return self.spec(init_containers=(*self.pod.spec.init_containers, made))

    # volumes

    def volume(self, name: str = "", **source: Any) -> PodBuilder:
        """Append a volume of any source."""
        made = objects.Volume(name=name or f"v{len(self.pod.spec.volumes)}", **source)
        return self.spec(volumes=(*self.pod.spec.volumes, made))

    def claim(self, claim_name: str, *, read_only: bool = False) -> PodBuilder:
        """Append a volume that is a claim."""
        made = objects.PersistentVolumeClaimSource(claim_name=claim_name, read_only=read_only)
        return self.volume(persistent_volume_claim=made)

    def ephemeral(self, volume_name: str) -> PodBuilder:
        """Append an ephemeral volume, whose claim is `<pod>-<volume>`."""
        return self.volume(volume_name, ephemeral=objects.EphemeralVolumeSource())

    # more of the spec

    def overhead(self, **amounts: objects.Quantity) -> PodBuilder:
        """Set `spec.overhead`."""
        return self.spec(overhead=dict(amounts))

    def pod_level_requests(self, **amounts: objects.Quantity) -> PodBuilder:
        """Set `spec.resources.requests`."""
        return self.spec(resources=objects.ResourceRequirements(requests=dict(amounts)))

    def _first_container(self, **changes: Any) -> PodBuilder:
        first, *rest = self.pod.spec.containers or (objects.Container(name="c0"),)
        return self.spec(containers=(_changed(first, **changes), *rest))

    # placement

    def node(self, name: str) -> PodBuilder:
        """Set `spec.nodeName`."""
        return self.spec(node_name=name)

    def nominated(self, node_name: str) -> PodBuilder:
        """Set `status.nominatedNodeName`."""
        return self.status(nominated_node_name=node_name)

    def priority(self, priority: int) -> PodBuilder:
        """Set `spec.priority`."""
        return self.spec(priority=priority)

    def scheduler_name(self, name: str) -> PodBuilder:
        """Set `spec.schedulerName`."""
        return self.spec(scheduler_name=name)

    def gates(self, *names: str) -> PodBuilder:
        """Set the scheduling gates."""
        return self.spec(scheduling_gates=tuple(objects.PodSchedulingGate(n) for n in names))

    def tolerates(
        self, key: str = "", value: str = "", effect: str = "", *, operator: str = ""
    ) -> PodBuilder:
        """Add a toleration: Exists without a value, Equal with one, or the given operator."""
        made = objects.Toleration(
            key=key,
            value=value,
            effect=effect,
            operator=operator or ("Equal" if value else "Exists"),
        )
        return self.spec(tolerations=(*self.pod.spec.tolerations, made))

    def node_selector(
        self, mapping: Mapping[str, str] | None = None, /, **labels: str
    ) -> PodBuilder:
        """Set `spec.nodeSelector`."""
        return self.spec(node_selector={**(mapping or {}), **labels})

    def requires_nodes(self, *terms: objects.NodeSelectorTerm) -> PodBuilder:
        """Set required node affinity: terms are ORed."""
        required = objects.NodeSelector(node_selector_terms=terms)
        old = self._affinity.node_affinity or objects.NodeAffinity()
        changed = _changed(old, required_during_scheduling_ignored_during_execution=required)
        return self.spec(affinity=_changed(self._affinity, node_affinity=changed))

    def prefers_nodes(self, weight: int, term: objects.NodeSelectorTerm) -> PodBuilder:
        """Add a preferred node affinity term."""
        old = self._affinity.node_affinity or objects.NodeAffinity()
        terms = (
            *old.preferred_during_scheduling_ignored_during_execution,
            objects.PreferredSchedulingTerm(weight=weight, preference=term),
        )
        changed = _changed(old, preferred_during_scheduling_ignored_during_execution=terms)
        return self.spec(affinity=_changed(self._affinity, node_affinity=changed))

    def requires_pods(self, *terms: objects.PodAffinityTerm) -> PodBuilder:
        """Set required pod affinity."""
        return self._pod_terms("pod_affinity", required=terms)

    def rejects_pods(self, *terms: objects.PodAffinityTerm) -> PodBuilder:
        """Set required pod anti-affinity."""
        return self._pod_terms("pod_anti_affinity", required=terms)

    def prefers_pods(self, weight: int, term: objects.PodAffinityTerm) -> PodBuilder:
        """Add a preferred pod affinity term."""
        return self._pod_terms("pod_affinity", preferred=(weight, term))

    def avoids_pods(self, weight: int, term: objects.PodAffinityTerm) -> PodBuilder:
        """Add a preferred pod anti-affinity term."""
        return self._pod_terms("pod_anti_affinity", preferred=(weight, term))

    def spread(
        self,
        topology_key: str,
        *,
        max_skew: int = 1,
        when_unsatisfiable: str = "DoNotSchedule",
        selector: SelectorLike = None,
        **fields: Any,
    ) -> PodBuilder:
        """Add a topology spread constraint; `selector` may be a plain mapping of labels."""
        made = objects.TopologySpreadConstraint(
            max_skew=max_skew,
            topology_key=topology_key,
            when_unsatisfiable=when_unsatisfiable,
            label_selector=_selector(selector),
            **fields,
        )
        constraints = (*self.pod.spec.topology_spread_constraints, made)
        return self.spec(topology_spread_constraints=constraints)

    @property
    def _affinity(self) -> objects.Affinity:
        return self.pod.spec.affinity or objects.Affinity()

    def _pod_terms(
        self,
        kind: str,
        *,
        required: tuple[objects.PodAffinityTerm, ...] | None = None,
        preferred: tuple[int, objects.PodAffinityTerm] | None = None,
    ) -> PodBuilder:
        terms = getattr(self._affinity, kind) or objects.PodAffinity()
        if required is not None:
            terms = _changed(terms, required_during_scheduling_ignored_during_execution=required)
        if preferred is not None:
            weight, term = preferred
            added = objects.WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term)
            old = terms.preferred_during_scheduling_ignored_during_execution
            terms = _changed(
                terms, preferred_during_scheduling_ignored_during_execution=(*old, added)
            )
        return self.spec(affinity=_changed(self._affinity, **{kind: terms}))


def _container(name: str, image: str, requests: objects.ResourceList | None) -> objects.Container:
    resources = objects.ResourceRequirements(requests=requests or {})
    return objects.Container(name=name, image=image, resources=resources)


def make_pod(name: str, namespace: str = "default") -> PodBuilder:
    """Begin a pending pod without containers, as `default-scheduler` would see it."""
    meta = objects.ObjectMeta(name=name, namespace=namespace, uid=f"uid-{namespace}-{name}")
    return PodBuilder(objects.Pod(metadata=meta))


# --- nodes ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class NodeBuilder:
    """A node in the making."""

    node: objects.Node

    def build(self) -> objects.Node:
        """Return the node."""
        return self.node

    def labels(self, mapping: Mapping[str, str] | None = None, /, **labels: str) -> NodeBuilder:
        """Add labels; keys that are no Python names go into the mapping."""
        merged = {**self.node.metadata.labels, **(mapping or {}), **labels}
        return self._with(metadata=_changed(self.node.metadata, labels=merged))

    def annotations(self, mapping: Mapping[str, str]) -> NodeBuilder:
        """Add annotations."""
        merged = {**self.node.metadata.annotations, **mapping}
        return self._with(metadata=_changed(self.node.metadata, annotations=merged))

    def capacity(
        self, mapping: objects.ResourceList | None = None, /, **amounts: objects.Quantity
    ) -> NodeBuilder:
        """Add to capacity and allocatable alike."""
        merged = {**self.node.status.allocatable, **(mapping or {}), **amounts}
        return self._status(allocatable=merged, capacity=merged)

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> NodeBuilder:
        """Add one taint."""
        return self.taints(objects.Taint(key=key, value=value, effect=effect))

    def taints(self, *taints: objects.Taint) -> NodeBuilder:
        """Add taints."""
        merged = (*self.node.spec.taints, *taints)
        return self._with(spec=_changed(self.node.spec, taints=merged))

    def unschedulable(self) -> NodeBuilder:
        """Cordon it."""
        return self._with(spec=_changed(self.node.spec, unschedulable=True))

    def images(self, **size_bytes: int) -> NodeBuilder:
        """Add images by name; `image` takes names that are no Python names."""
        builder = self
        for name, size in size_bytes.items():
            builder = builder.image(name, size_bytes=size)
        return builder

    def image(self, *names: str, size_bytes: int) -> NodeBuilder:
        """Add one image that has several names."""
        made = objects.ContainerImage(names=names, size_bytes=size_bytes)
        return self._status(images=(*self.node.status.images, made))

    def declares(self, *features: str) -> NodeBuilder:
        """Set what the kubelet can do."""
        return self._status(declared_features=features)

    def created(self, after_seconds: float) -> NodeBuilder:
        """Set the time of creation, in seconds after EPOCH."""
        metadata = _changed(self.node.metadata, creation_timestamp=format_moment(after_seconds))
        return self._with(metadata=metadata)

    def condition(self, kind: str, status: str) -> NodeBuilder:
        """Set the status of a condition such as `Ready`."""
        made = objects.Condition(type=kind, status=status)
        others = (each for each in self.node.status.conditions if each.type != kind)
        return self._status(conditions=(*others, made))

    def kubelet(self, version: str) -> NodeBuilder:
        """Set the version of the kubelet."""
        return self._status(node_info=objects.NodeInfo(kubelet_version=version))

    def _status(self, **changes: Any) -> NodeBuilder:
        return self._with(status=_changed(self.node.status, **changes))

    def _with(self, **changes: Any) -> NodeBuilder:
        return NodeBuilder(_changed(self.node, **changes))


def make_node(name: str) -> NodeBuilder:
    """Begin a node with its hostname label and room for 110 pods, nothing else."""
    meta = objects.ObjectMeta(name=name, labels={"kubernetes.io/hostname": name})
    return NodeBuilder(objects.Node(metadata=meta)).capacity(pods=110)


# --- clusters ------------------------------------------------------------------------------------


class Cluster(NamedTuple):
    """A cache, and the shapes of its pods; pods to be scheduled take theirs from there too."""

    cache: caches.Cache
    shapes: pod_shape.PodShapeCache

    def info(self, pod: objects.Pod | PodBuilder) -> pod_shape.PodInfo:
        """Return a pod as the scheduler holds it."""
        return self.shapes.make_pod_info(pod.build() if isinstance(pod, PodBuilder) else pod)


def make_cache(
    nodes: Iterable[objects.Node | NodeBuilder] = (),
    pods: Iterable[objects.Pod | PodBuilder] = (),
    clock: clocks.Clock | None = None,
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
) -> Cluster:
    """Return a cache with these nodes, the pods that have a node, and labels of namespaces."""
    cluster = Cluster(caches.Cache(clock or clocks.ManualClock(EPOCH)), pod_shape.PodShapeCache())
    for name, labels in (namespaces or {}).items():
        cluster.cache.set_namespace(name, labels)
    for node in nodes:
        cluster.cache.set_node(node.build() if isinstance(node, NodeBuilder) else node)
    for pod in pods:
        info = cluster.info(pod)
        if info.pod.spec.node_name:
            cluster.cache.add_pod(info)
    return cluster
