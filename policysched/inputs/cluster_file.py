"""Reads a cluster from a file: the output of `kubectl get nodes,pods,… -o json` or `-o yaml`.

The file is a v1 List of objects of any kinds, or one object; a YAML text may contain several
documents. Objects of kinds that scheduling does not read are skipped. JSON is decoded directly into
typed objects; YAML takes about 20 times as long.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable
from typing import TypeAlias

import msgspec

from policysched import errors
from policysched.cluster.objects import (
    device_objects,
    disruption_budgets,
    objects,
    storage_objects,
)
from policysched.cluster.pods import owner_objects, owner_selectors
from policysched.inputs import object_faults, object_lists, older_device_objects

Known: TypeAlias = (
    objects.Node
    | objects.Pod
    | objects.Namespace
    | owner_objects.Service
    | owner_objects.Workload
    | storage_objects.StorageObject
    | device_objects.DeviceObject
    | disruption_budgets.PodDisruptionBudget
)
"""Any object that scheduling reads."""
_OWNER_KINDS = {kind.value[1]: kind for kind in owner_selectors.OwnerKind}
_KINDS: dict[str, tuple[str, type[Known]]] = {
    "Namespace": ("v1", objects.Namespace),
    "Node": ("v1", objects.Node),
    "Pod": ("v1", objects.Pod),
    "PodDisruptionBudget": ("policy/v1", disruption_budgets.PodDisruptionBudget),
    **{kind.__name__: (api, kind) for kind, api in storage_objects.API_VERSIONS.items()},
    **{kind.__name__: (device_objects.API_VERSION, kind) for kind in device_objects.KINDS},
    **{
        name: (kind.value[0], owner_objects.WIRE_TYPES[kind]) for name, kind in _OWNER_KINDS.items()
    },
}
"""Kind → the supported apiVersion, and the type to which its objects are decoded."""
_NAMESPACED = (
    objects.Pod,
    owner_objects.Service,
    owner_objects.Workload,
    disruption_budgets.PodDisruptionBudget,
    *storage_objects.NAMESPACED,
    *device_objects.NAMESPACED,
)

FORM = object_lists.ExpectedKinds(
    {kind: api_version for kind, (api_version, _) in _KINDS.items()},
    "a cluster file is the output of `kubectl get nodes,pods -A -o json`",
)
_KARMADA_GROUPS = ("cluster.karmada.io/", "work.karmada.io/")
Owner: TypeAlias = tuple[owner_selectors.OwnerKind, owner_objects.Service | owner_objects.Workload]


@dataclasses.dataclass(slots=True)
class ClusterObjects:
    """The objects of a cluster file, in the order of the file.

    Attributes:
        owners: services and controllers; default spread constraints use their selectors.
        storage: volumes, claims, classes and other storage objects.
        devices: ResourceClaims, ResourceSlices and DeviceClasses.
        budgets: PodDisruptionBudgets, which limit preemption.
        skipped: the number of skipped objects of each kind.
    """

    nodes: list[objects.Node] = dataclasses.field(default_factory=list)
    pods: list[objects.Pod] = dataclasses.field(default_factory=list)
    namespaces: list[objects.Namespace] = dataclasses.field(default_factory=list)
    owners: list[Owner] = dataclasses.field(default_factory=list)
    storage: list[storage_objects.StorageObject] = dataclasses.field(default_factory=list)
    devices: list[device_objects.DeviceObject] = dataclasses.field(default_factory=list)
    budgets: list[disruption_budgets.PodDisruptionBudget] = dataclasses.field(default_factory=list)
    skipped: Counter[str] = dataclasses.field(default_factory=Counter)


def read_cluster(path: str) -> ClusterObjects:
    """Return the cluster in the file `path`.

    Raises:
        InputError: the file cannot be read, or is not a cluster file.
    """
    return parse_cluster(object_lists.read_bytes(path), path)


def read_clusters(path: str) -> object_lists.InputLists[ClusterObjects]:
    """Return the cluster in a file, or the clusters on standard input.

    See `object_lists.read_input_lists`.

    Raises:
        InputError: the input is empty; or, while `places` is read, a file or line contains no
            cluster.
    """
    return object_lists.read_input_lists(path, FORM, collect_cluster_objects)


def parse_cluster(content: bytes, where: str, *, is_line: bool = False) -> ClusterObjects:
    """Return the cluster that `content` describes; `where` names the content in errors.

    Raises:
        InputError: the content is not a cluster file.
    """
    return collect_cluster_objects(
        object_lists.split_object_list(content, where, FORM, is_line=is_line), where
    )


def collect_cluster_objects(
    placed: Iterable[object_lists.Placed], where: str, *, may_be_empty: bool = False
) -> ClusterObjects:
    """Decode the objects and return them as a cluster.

    Raises:
        InputError: an object is invalid, or, unless `may_be_empty`, all objects were skipped.
    """
    found = ClusterObjects()
    for place, kind, source in placed:
        _add_cluster_object(found, kind, source, place)
    is_empty = not (found.nodes or found.pods or found.namespaces)
    if found.skipped and is_empty and not may_be_empty:
        raise _make_no_cluster_error(found.skipped, where)
    return found


def _make_no_cluster_error(skipped: Collection[str], where: str) -> errors.InputError:
    """Return the error for a file without cluster objects; it may contain Karmada's objects."""
    problem = f"has no Node and no Pod, only {', '.join(sorted(skipped))}"
    if any(kind.partition(".")[2].startswith(_KARMADA_GROUPS) for kind in skipped):
        advice = "for Karmada bindings, run `policysched explain binding` "
        advice += "or `policysched karmada simulate`"
        return errors.InputError(where, problem, help=advice)
    return FORM.make_wrong_list_error(where, problem)


def _add_cluster_object(
    found: ClusterObjects, kind: str, source: object_lists.Source, place: str
) -> None:
    """Decode and validate one object and add it to `found`, or count it as skipped."""
    if kind in older_device_objects.KINDS:
        source = older_device_objects.convert_to_v1(kind, source, place)
        kind = older_device_objects.KINDS[kind]
    if kind not in _KINDS:
        found.skipped[kind] += 1
        return
    wanted = _KINDS[kind][1]
    decoded = object_lists.add_default_namespace(
        object_lists.decode_object(source, wanted, kind, place),
        is_namespaced=issubclass(wanted, _NAMESPACED),
    )
    match decoded:
        case objects.Node():
            named = f"{place} (Node {decoded.name})"
            object_faults.require_no_faults(object_faults.find_node_faults(decoded), named)
            found.nodes.append(decoded)
        case objects.Pod():
            object_faults.require_no_faults(
                object_faults.find_pod_faults(decoded), f"{place} (Pod {decoded.key})"
            )
            found.pods.append(decoded)
        case objects.Namespace():
            found.namespaces.append(decoded)
        case owner_objects.Service() | owner_objects.Workload():
            found.owners.append((_OWNER_KINDS[kind], decoded))
        case disruption_budgets.PodDisruptionBudget():
            found.budgets.append(decoded)
        case device_objects.ResourceClaim():
            found.devices.append(_add_missing_uid(decoded))
        case device_objects.ResourceSlice() | device_objects.DeviceClass():
            found.devices.append(decoded)
        case _:
            found.storage.append(decoded)


def _add_missing_uid(claim: device_objects.ResourceClaim) -> device_objects.ResourceClaim:
    """Return a claim with a uid; a manifest has none, and devices in use are counted by it."""
    if claim.metadata.uid:
        return claim
    metadata = msgspec.structs.replace(claim.metadata, uid=claim.full_name)
    return msgspec.structs.replace(claim, metadata=metadata)
