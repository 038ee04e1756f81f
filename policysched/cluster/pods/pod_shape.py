"""Share the parsed fields of pods that are equal for scheduling.

Pods of one workload differ in name and uid, but rarely in the fields that scheduling reads. A
`PodShape` contains everything that depends only on these fields: requests, selectors, affinity
terms, ports. Parsing, masks, raw scores and counter membership are therefore computed once for each
shape, not for each pod (like pod signatures, KEP-5598). `PodInfo` adds the fields of a single pod.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import weakref
from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from policysched import units
from policysched.cluster import elapsed_time
from policysched.cluster.objects import objects, selector_errors, selectors
from policysched.cluster.pods import legacy_disks, node_terms, pod_requests, storage_requests

_POD_HASH_LABEL = "pod-template-hash"
_INDEXES = itertools.count()
"""Unique in the process, because shapes of several caches coexist after a policy change."""


@dataclasses.dataclass(frozen=True, slots=True)
class AffinityTerm:
    """The pods of an affinity term, and the topology key of their domains.

    `namespaces` are names. Pods also match if the labels of their namespace match
    `namespace_selector`; None matches no namespace. The API server has already merged
    matchLabelKeys and mismatchLabelKeys into `selector`.
    """

    selector: selectors.Selector
    namespaces: frozenset[str]
    namespace_selector: selectors.Selector | None
    topology_key: str

    def matches(
        self,
        namespace: str,
        labels: Mapping[str, str],
        namespace_labels: Mapping[str, str] | None,
    ) -> bool:
        """Return whether a term of the incoming pod matches a pod in `namespace`.

        An unknown namespace (`namespace_labels` None) matches only by name. A selector that matches
        a namespace without labels matches all namespaces, because kube-scheduler also evaluates it
        without labels (`interpodaffinity/plugin.go`, mergeAffinityTermNamespacesIfNotEmpty,
        replaces the selector in a copy of the term).
        """
        selector = self.namespace_selector
        is_meant = namespace in self.namespaces or (
            selector is not None
            and (
                selector.matches({})
                or (namespace_labels is not None and selector.matches(namespace_labels))
            )
        )
        return is_meant and self.selector.matches(labels)

    def matches_incoming_pod(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> bool:
        """Return whether a term of a placed pod matches an incoming pod in `namespace`.

        An unknown namespace counts as a namespace without labels.
        """
        selector = self.namespace_selector
        is_meant = namespace in self.namespaces or (
            selector is not None and selector.matches(namespace_labels)
        )
        return is_meant and self.selector.matches(labels)


@dataclasses.dataclass(frozen=True, slots=True)
class WeightedAffinityTerm:
    """A preferred term; the weight of an anti-affinity term is negative."""

    term: AffinityTerm
    weight: int


@dataclasses.dataclass(frozen=True, slots=True)
class HostPort:
    """A port that a pod claims on its node; `0.0.0.0` conflicts with every address."""

    ip: str
    protocol: str
    port: int


class PodShape:
    """The fields that all pods of a shape share.

    Compare shapes by identity: `PodShapeCache` returns one object for pods that are equal for
    scheduling. `index` is unique and never reused within a process. A pod with ephemeral volumes
    has its own shape, because their claims are named after the pod and owned by it.

    Attributes:
        has_volumes: whether the pod has a volume that a plugin reads; image volumes do not count.
        storage: what the claims of the pod request, as far as policies read it. Pods that are equal
            otherwise have another shape after a claim changed.
        times: how long the pod waits and its age, as far as policies read them. Pods that are equal
            otherwise have another shape from each bound on.
    """

    def __init__(
        self,
        pod: objects.Pod,
        annotations: Mapping[str, str],
        index: int,
        storage: tuple[storage_requests.StorageRequest, ...] = (),
    ) -> None:
        """Copy the shared fields from `pod`, the first pod of this shape."""
        self.index = index
        self.namespace = pod.metadata.namespace
        self.labels = pod.metadata.labels
        self.annotations = annotations
        self.storage = storage
        self.owner = _find_controller(pod)
        self.spec = pod.spec
        self.requests = pod_requests.compute_pod_requests(pod)
        self.has_volumes = any(_is_storage_volume(v) for v in pod.spec.volumes)
        self._pod_name = pod.metadata.name  # read only if the shape belongs to a single pod
        self.times = elapsed_time.NO_TIMES
        self._timeless: PodShape | None = None  # the shape with no times; None if it is this one
        self._timed: weakref.WeakValueDictionary[elapsed_time.PodTimes, PodShape] | None = None

    def at_times(self, times: elapsed_time.PodTimes) -> PodShape:
        """Return the shape of pods that are equal to these, with other times."""
        if times == self.times:
            return self
        if self._timeless is not None:
            return self._timeless.at_times(times)
        if self._timed is None:
            self._timed = weakref.WeakValueDictionary()
        found = self._timed.get(times)
        if found is None:
            found = copy.copy(self)
            vars(found).update(index=next(_INDEXES), times=times, _timeless=self, _timed=None)
            self._timed[times] = found
        return found

    @functools.cached_property
    def request_key(self) -> tuple[tuple[str, int], ...]:
        """A key for caches of the requests that the NodeResources plugins read."""
        requests = self.requests
        return (*sorted(requests.amounts.items()), ("", 0), *sorted(requests.scored.items()))

    def get_requested_amount(self, resource: str) -> int:
        """Return the request of the pod; of `storage`, the sum of the requests of its claims."""
        if resource == units.STORAGE:
            return sum(each.size_bytes for each in self.storage)
        return self.requests.amounts.get(resource, 0)

    @functools.cached_property
    def limits(self) -> pod_requests.Amounts:
        """Limits of the pod; see `pod_requests.compute_pod_limits`."""
        return pod_requests.compute_pod_limits(objects.Pod(objects.ObjectMeta(), self.spec))

    @property
    def priority(self) -> int:
        """`spec.priority`, 0 if unset."""
        return self.spec.priority or 0

    @functools.cached_property
    def node_selector(self) -> selectors.Selector:
        """`spec.nodeSelector`."""
        return selectors.from_match_labels(self.spec.node_selector)

    @functools.cached_property
    def required_node_terms(self) -> tuple[node_terms.NodeTerm, ...] | None:
        """Required node affinity as terms that are ORed; None if unset."""
        affinity = self._affinity.node_affinity
        if affinity is None:
            return None
        required = affinity.required_during_scheduling_ignored_during_execution
        if required is None:
            return None
        return tuple(
            node_terms.make_node_term(t)
            for t in required.node_selector_terms
            if not node_terms.is_empty_term(t)
        )

    @functools.cached_property
    def preferred_node_terms(self) -> tuple[tuple[node_terms.NodeTerm, int], ...]:
        """Preferred node affinity as (term, weight), without empty terms or terms of weight 0."""
        affinity = self._affinity.node_affinity
        preferred = affinity and affinity.preferred_during_scheduling_ignored_during_execution
        return tuple(
            (node_terms.make_node_term(p.preference), p.weight)
            for p in preferred or ()
            if p.weight and not node_terms.is_empty_term(p.preference)
        )

    @functools.cached_property
    def affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Required pod affinity."""
        return self._make_required_terms(self._affinity.pod_affinity)

    @functools.cached_property
    def anti_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Required pod anti-affinity."""
        return self._make_required_terms(self._affinity.pod_anti_affinity)

    @functools.cached_property
    def preferred_terms(self) -> tuple[WeightedAffinityTerm, ...]:
        """Preferred pod affinity (positive weights) and anti-affinity (negative weights)."""
        attract = self._make_preferred_terms(self._affinity.pod_affinity, 1)
        repel = self._make_preferred_terms(self._affinity.pod_anti_affinity, -1)
        return attract + repel

    @functools.cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Host ports of containers and sidecars."""
        sidecars = (c for c in self.spec.init_containers if c.restart_policy == "Always")
        return tuple(
            HostPort(p.host_ip or "0.0.0.0", p.protocol or "TCP", p.host_port)  # noqa: S104 - the API's value for any address; nothing is bound here
            for container in (*self.spec.containers, *sidecars)
            for p in container.ports
            if p.host_port > 0
        )

    @functools.cached_property
    def images(self) -> tuple[str, ...]:
        """Image names of containers and image volumes, as nodes report them, with repeats."""
        containers = (*self.spec.init_containers, *self.spec.containers)
        volumes = (v.image for v in self.spec.volumes if v.image is not None)
        names = (*(c.image for c in containers), *(v.reference for v in volumes))
        return tuple(normalise_image_name(name) for name in names)

    @functools.cached_property
    def claims(self) -> tuple[storage_requests.ClaimUse, ...]:
        """Claims of the volumes, in the order of the volumes, with repeats."""
        return tuple(storage_requests.list_claim_uses(self.spec.volumes, self._pod_name))

    @functools.cached_property
    def disks(self) -> tuple[legacy_disks.DiskMount, ...]:
        """Disks that the pod mounts without a claim."""
        return legacy_disks.list_pod_disks(self.spec.volumes)

    @functools.cached_property
    def workload(self) -> str:
        """The value that `sameWorkload` compares: controller uid, or else pod-template-hash."""
        return self.owner.uid if self.owner else self.labels.get(_POD_HASH_LABEL, "")

    @property
    def own_name(self) -> str:
        """Name of the pod if the shape belongs to a single pod, or else ""."""
        return self._pod_name if _depends_on_own_name(self.spec) else ""

    @property
    def _affinity(self) -> objects.Affinity:
        return self.spec.affinity or objects.Affinity()

    def _make_required_terms(
        self, affinity: objects.PodAffinity | None
    ) -> tuple[AffinityTerm, ...]:
        if affinity is None:
            return ()
        terms = affinity.required_during_scheduling_ignored_during_execution
        if not all(map(_has_valid_selectors, terms)):
            return ()
        return tuple(make_affinity_term(t, self.namespace) for t in terms)

    def _make_preferred_terms(
        self, affinity: objects.PodAffinity | None, sign: int
    ) -> tuple[WeightedAffinityTerm, ...]:
        """Return the preferred terms, with weights multiplied by `sign`; () if one is invalid."""
        if affinity is None:
            return ()
        weighted = affinity.preferred_during_scheduling_ignored_during_execution
        if not all(_has_valid_selectors(w.pod_affinity_term) for w in weighted):
            return ()
        return tuple(
            WeightedAffinityTerm(
                make_affinity_term(w.pod_affinity_term, self.namespace), sign * w.weight
            )
            for w in weighted
        )


@dataclasses.dataclass(slots=True, eq=False)
class PodInfo:
    """A pod object and its shape.

    Attributes:
        uid: uid of the pod, or its key if the object has none.
        noted_try_seconds: when this process first tried the pod, in whole seconds since 1970; None
            before. The condition of the pod takes precedence.
    """

    pod: objects.Pod
    shape: PodShape
    uid: str = dataclasses.field(init=False)
    noted_try_seconds: int | None = None

    def __post_init__(self) -> None:
        """Store the uid, because it is read very often."""
        self.uid = self.pod.metadata.uid or self.pod.key

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.pod.key

    @property
    def first_try_seconds(self) -> int | None:
        """When the pod was first tried, in whole seconds since 1970; None if it was not."""
        written = elapsed_time.find_first_try_seconds(self.pod)
        return self.noted_try_seconds if written is None else written

    def place_in_time(
        self,
        bounds: elapsed_time.TimeBounds,
        now_seconds: float,
        noted_try_seconds: int | None = None,
    ) -> PodInfo:
        """Return the pod with the shape that it has at a time, as policies with `bounds` see it."""
        if not bounds.is_of_pods and self.shape.times == elapsed_time.NO_TIMES:
            return self
        placed = PodInfo(self.pod, self.shape, noted_try_seconds)
        times = bounds.find_times(self.pod, placed.first_try_seconds, now_seconds)
        placed.shape = self.shape.at_times(times)
        return placed

    @property
    def is_terminating(self) -> bool:
        """Whether the pod is being deleted."""
        return self.pod.metadata.deletion_timestamp is not None

    def make_example(self) -> PodInfo:
        """Return an example of the pods identical to this one: without name, uid and status.

        What is kept for them must not keep a pod that is gone.
        """
        of = self.pod.metadata
        metadata = objects.ObjectMeta(
            namespace=of.namespace, labels=of.labels, owner_references=of.owner_references
        )
        return PodInfo(objects.Pod(metadata, self.pod.spec), self.shape)


class PodShapeCache:
    """Interns the shapes of pods, and keeps shapes in use and recently used shapes.

    Jobs and rollouts continually create new shapes, so unused shapes are soon dropped.
    """

    def __init__(
        self,
        annotation_keys: frozenset[str] = frozenset(),
        limit: int = 1_000,
        bounds: elapsed_time.TimeBounds = elapsed_time.NO_BOUNDS,
        now_seconds: float = 0.0,
        find_claim: storage_requests.FindClaim | None = None,
    ) -> None:
        """Keep up to `limit` recently used shapes, even if no pod has them.

        Pods without a node get the shape of `now_seconds`, as policies with `bounds` see it. A
        running scheduler gives `bounds` to its queue instead. Of the annotations, which often
        differ between equal pods, shapes contain those in `annotation_keys`, which policies read.
        They contain the requests of claims that `find_claim` finds.
        """
        self._annotation_keys = annotation_keys
        self._find_claim = find_claim
        self._bounds, self._now_seconds = bounds, now_seconds
        self._recent: OrderedDict[bytes, PodShape] = OrderedDict()
        self._in_use: weakref.WeakValueDictionary[bytes, PodShape] = weakref.WeakValueDictionary()
        self._limit = limit
        self._encoder = msgspec.json.Encoder(order="sorted")

    def set_annotation_keys(self, keys: frozenset[str]) -> frozenset[str]:
        """Include only the annotations with these keys in new shapes.

        Returns:
            The added or removed keys; pods without these annotations keep their shape.
        """
        changed = keys ^ self._annotation_keys
        self._annotation_keys = keys
        return changed

    def find_claims_with(self, find_claim: storage_requests.FindClaim | None) -> bool:
        """Read claims by `find_claim` for new shapes, None for none; return if this is a change."""
        is_change = (find_claim is None) is not (self._find_claim is None)
        self._find_claim = find_claim
        return is_change

    def make_pod_info(self, pod: objects.Pod) -> PodInfo:
        """Return a `PodInfo` for the pod."""
        info = PodInfo(pod, self.intern_shape(pod))
        is_placed = bool(pod.spec.node_name)
        return info if is_placed else info.place_in_time(self._bounds, self._now_seconds)

    def intern_shape(self, pod: objects.Pod) -> PodShape:
        """Return the shape of the pod; pods that are equal for scheduling get the same object."""
        annotations = self._select_read_annotations(pod)
        storage = storage_requests.list_storage_requests(pod, self._find_claim)
        signature = self._compute_signature(pod, (annotations, storage))
        shape = self._recent.get(signature)
        if shape is not None:
            self._recent.move_to_end(signature)
            return shape
        shape = self._in_use.get(signature)
        if shape is None:
            shape = PodShape(_drop_node_name(pod), annotations, next(_INDEXES), storage)
            self._in_use[signature] = shape
        self._recent[signature] = shape
        if len(self._recent) > self._limit:
            self._recent.popitem(last=False)
        return shape

    def _select_read_annotations(self, pod: objects.Pod) -> dict[str, str]:
        if not self._annotation_keys:
            return {}
        return {k: v for k, v in pod.metadata.annotations.items() if k in self._annotation_keys}

    def _compute_signature(self, pod: objects.Pod, read: tuple[object, ...]) -> bytes:
        spec = drop_unread_spec_fields(pod.spec)
        meta = pod.metadata
        owner = _find_controller(pod)
        held = pod_requests.compute_resized_requests(pod)
        single = (meta.name, meta.uid) if _depends_on_own_name(spec) else None
        return self._encoder.encode((meta.namespace, meta.labels, read, owner, spec, held, single))


def drop_unread_spec_fields(spec: objects.PodSpec) -> objects.PodSpec:
    """Return the spec without fields that differ within a workload but that scheduling ignores.

    Volumes of kinds that are not decoded are dropped: pods with a service account have a
    `kube-api-access-…` volume with a random name.
    """
    volumes = tuple(v for v in spec.volumes if v != objects.Volume(name=v.name))
    if not spec.node_name and len(volumes) == len(spec.volumes):
        return spec
    return msgspec.structs.replace(spec, node_name="", volumes=volumes)


def _depends_on_own_name(spec: objects.PodSpec) -> bool:
    """Return whether scheduling reads the pod's own name and uid."""
    return bool(spec.volumes) and any(v.ephemeral is not None for v in spec.volumes)


def _is_storage_volume(volume: objects.Volume) -> bool:
    return volume != objects.Volume(name=volume.name, image=volume.image)


def make_affinity_term(term: objects.PodAffinityTerm, namespace: str) -> AffinityTerm:
    """Convert a term of a pod in `namespace` to its canonical form.

    A term with neither namespaces nor a namespace selector matches the namespace of its own pod.

    Source: `pkg/scheduler/framework/types.go`, getNamespacesFromPodAffinityTerm.
    """
    own_only = not term.namespaces and term.namespace_selector is None
    names = frozenset((namespace,)) if own_only else frozenset(term.namespaces)
    by_label = term.namespace_selector
    return AffinityTerm(
        selector=selectors.from_label_selector(term.label_selector),
        namespaces=names,
        namespace_selector=None if by_label is None else selectors.from_label_selector(by_label),
        topology_key=term.topology_key,
    )


def _has_valid_selectors(term: objects.PodAffinityTerm) -> bool:
    """Return whether Kubernetes can parse both selectors.

    If it cannot, the pod's terms of this kind are all ignored.

    Source: `k8s.io/kube-scheduler/framework`, GetAffinityTerms.
    """
    selected = (term.label_selector, term.namespace_selector)
    return not any(selector_errors.find_label_selector_error(s) for s in selected)


def normalise_image_name(name: str) -> str:
    """Return the image name, with `:latest` added if it has neither tag nor digest.

    Source: plugins/imagelocality/image_locality.go, normalizedImageName.
    """
    return name if name.rfind(":") > name.rfind("/") else name + ":latest"


def _find_controller(pod: objects.Pod) -> objects.OwnerReference | None:
    return next((o for o in pod.metadata.owner_references if o.controller), None)


def _drop_node_name(pod: objects.Pod) -> objects.Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=""))
