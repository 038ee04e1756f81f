"""Loads a cluster file into the scheduler's own state: a cache and the pending pods."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable

from policysched import clock as clocks
from policysched import errors, quantity
from policysched.cluster import cache as caches
from policysched.cluster import elapsed_time
from policysched.cluster.objects import device_objects, objects, storage_objects, time_text
from policysched.cluster.pods import pod_shape
from policysched.inputs import cluster_file


@dataclasses.dataclass(slots=True)
class OfflineCluster:
    """The cluster that `explain` and `simulate` work on.

    Attributes:
        clock: the clock of the cache.
        cache: nodes, placed pods and all other objects except pending pods.
        shapes: the shapes of all its pods.
        placed: the pods on nodes, keyed by `namespace/name`.
        pending: the pods that wait for a node, in the order of the file, which counts as the order
            of arrival. Pods that have ended or are being deleted do not wait. Nominations in the
            status of pods are in effect, as in a scheduler that has received the pods.
        passed_over: why the other pods neither wait nor run, keyed by `namespace/name`.
    """

    clock: clocks.ManualClock
    cache: caches.Cache
    shapes: pod_shape.PodShapeCache
    placed: dict[str, pod_shape.PodInfo] = dataclasses.field(default_factory=dict)
    pending: list[pod_shape.PodInfo] = dataclasses.field(default_factory=list)
    passed_over: dict[str, str] = dataclasses.field(default_factory=dict)


def make_empty_cluster(now: datetime.datetime) -> OfflineCluster:
    """Return an empty cluster whose clock is stopped at `now`."""
    clock = clocks.ManualClock(now)
    return OfflineCluster(clock, caches.Cache(clock), pod_shape.PodShapeCache())


def add_cluster_objects(
    cluster: OfflineCluster,
    found: cluster_file.ClusterObjects,
    where: str,
    annotation_keys: frozenset[str] = frozenset(),
    bounds: elapsed_time.TimeBounds = elapsed_time.NO_BOUNDS,
) -> None:
    """Add the objects of a file.

    Policies read the pod annotations `annotation_keys` and compare times with `bounds`.

    Raises:
        InputError: an object appears twice or has an invalid quantity.
    """
    _refuse_duplicates(where, "Node", (node.name for node in found.nodes))
    _refuse_duplicates(where, "Pod", (pod.key for pod in found.pods))
    _refuse_duplicates(where, "Pod uid", (p.metadata.uid for p in found.pods if p.metadata.uid))
    _refuse_duplicates(
        where, "PodDisruptionBudget", (_make_object_key(b.metadata) for b in found.budgets)
    )
    for stored in storage_objects.API_VERSIONS:
        keys = (_make_object_key(item.metadata) for item in found.storage if type(item) is stored)
        _refuse_duplicates(where, stored.__name__, keys)
    for described in device_objects.KINDS:
        keys = (
            _make_object_key(each.metadata) for each in found.devices if type(each) is described
        )
        _refuse_duplicates(where, described.__name__, keys)
    claims = (each for each in found.devices if isinstance(each, device_objects.ResourceClaim))
    _refuse_duplicates(where, "ResourceClaim uid", (each.metadata.uid for each in claims))
    now_seconds = cluster.cache.snapshot().now_seconds
    cluster.shapes = pod_shape.PodShapeCache(
        annotation_keys,
        bounds=bounds,
        now_seconds=now_seconds,
        find_claim=cluster.cache.storage.claims.get,
    )
    for namespace in found.namespaces:
        cluster.cache.set_namespace(namespace.metadata.name, namespace.metadata.labels)
    for kind, owner in found.owners:
        meta = owner.metadata
        cluster.cache.owners.set_selector(kind, meta.namespace, meta.name, owner.selector)
    for item in found.storage:
        _add_stored_object(cluster, item, where)
    for each in found.devices:
        _add_device_object(cluster, each, where)
    for budget in found.budgets:
        cluster.cache.budgets.set(budget)
    for node in found.nodes:
        _add_node(cluster, node, where)
    for pod in found.pods:
        _add_pod(cluster, pod, where)
    cluster.cache.add_pods(cluster.placed.values())


def _make_object_key(metadata: objects.ObjectMeta) -> str:
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


def _refuse_duplicates(where: str, kind: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise errors.InputError(where, f"the {kind} `{name}` appears twice")
        seen.add(name)


def _add_stored_object(
    cluster: OfflineCluster, item: storage_objects.StorageObject, where: str
) -> None:
    """Add a storage object, or raise InputError if one of its quantities is invalid."""
    kind = type(item)
    try:
        for text in storage_objects.list_quantities(item):
            quantity.parse_whole_units(text)
    except quantity.QuantityError as error:
        place = f"{where}: {kind.__name__} {_make_object_key(item.metadata)}"
        raise errors.InputError(place, str(error)) from error
    cluster.cache.storage.get_store(kind).set(item)


def _add_device_object(
    cluster: OfflineCluster, item: device_objects.DeviceObject, where: str
) -> None:
    """Add an object about devices, or raise InputError if one of its quantities is invalid."""
    devices = cluster.cache.devices
    try:
        match item:
            case device_objects.ResourceClaim():
                devices.claims.set(item)
            case device_objects.ResourceSlice():
                devices.slices.set(item)
            case device_objects.DeviceClass():
                devices.classes.set(item)
    except quantity.QuantityError as error:
        place = f"{where}: {type(item).__name__} {_make_object_key(item.metadata)}"
        raise errors.InputError(place, str(error)) from error


def _add_node(cluster: OfflineCluster, node: objects.Node, where: str) -> None:
    try:
        cluster.cache.set_node(node)
    except quantity.QuantityError as error:
        raise errors.InputError(f"{where}: Node {node.name}", str(error)) from error


def _add_pod(cluster: OfflineCluster, pod: objects.Pod, where: str) -> None:
    """Add a pod as placed, pending or passed over."""
    if pod.is_terminal:
        cluster.passed_over[pod.key] = f"has ended, its phase is {pod.status.phase}"
        return
    if problem := time_text.find_time_problem(pod.status.start_time):
        raise errors.InputError(f"{where}: Pod {pod.key}: status.startTime", problem)
    try:
        info = cluster.shapes.make_pod_info(pod)
    except quantity.QuantityError as error:
        raise errors.InputError(f"{where}: Pod {pod.key}", str(error)) from error
    if pod.spec.node_name:
        cluster.placed[info.key] = info
        return
    cluster.cache.nominated.nominate(info, pod.status.nominated_node_name)
    if info.is_terminating:
        cluster.passed_over[info.key] = "is being deleted, so it does not wait for a node"
    else:
        cluster.pending.append(info)
