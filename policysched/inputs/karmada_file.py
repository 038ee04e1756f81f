"""Reads a Karmada control plane from a file, as `kubectl get … -o json` prints it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from policysched import errors
from policysched.inputs import karmada_object_faults, object_faults, object_lists
from policysched.karmada import objects
from policysched.karmada.state import object_validation

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLUSTER, _CLUSTER_BINDING = "Cluster", "ClusterResourceBinding"
KINDS: dict[str, tuple[str, type[objects.Cluster | objects.Binding]]] = {
    _CLUSTER: ("cluster.karmada.io/v1alpha1", objects.Cluster),
    "ResourceBinding": ("work.karmada.io/v1alpha2", objects.Binding),
    _CLUSTER_BINDING: ("work.karmada.io/v1alpha2", objects.Binding),
}
FORM = object_lists.ExpectedKinds(
    {kind: api_version for kind, (api_version, _) in KINDS.items()},
    "a file of a control plane is the output of `kubectl get "
    "clusters,resourcebindings,clusterresourcebindings -A -o json` at the Karmada API server",
)


@dataclasses.dataclass(slots=True)
class KarmadaControlPlane:
    """The clusters and bindings in a file, in the order of the file.

    Attributes:
        skipped: the number of skipped objects of each other kind.
    """

    clusters: list[objects.Cluster] = dataclasses.field(default_factory=list)
    bindings: list[objects.Binding] = dataclasses.field(default_factory=list)
    skipped: Counter[str] = dataclasses.field(default_factory=Counter)


def read_karmada_control_planes(path: str) -> object_lists.InputLists[KarmadaControlPlane]:
    """Return the control plane in a file, or the control planes on standard input for `-`.

    Raises:
        InputError: the input is empty; or, while `places` is read, a file or line contains no
            control plane.
    """
    return object_lists.read_input_lists(path, FORM, collect_karmada_control_plane)


def collect_karmada_control_plane(
    placed: Iterable[object_lists.Placed], where: str
) -> KarmadaControlPlane:
    """Decode the objects and return them as a control plane.

    Raises:
        InputError: an object is invalid, occurs twice or has an unsupported version, or all objects
            were skipped.
    """
    found = KarmadaControlPlane()
    names: set[tuple[str, str]] = set()
    for place, kind, source in placed:
        if kind not in KINDS:
            _refuse_other_version(place, kind)
            found.skipped[kind] += 1
            continue
        decoded = object_lists.add_default_namespace(
            object_lists.decode_object(source, KINDS[kind][1], kind, place),
            is_namespaced=kind == "ResourceBinding",
        )
        name = f"{decoded.metadata.namespace}/{decoded.metadata.name}".removeprefix("/")
        if (kind, name) in names:
            raise FORM.make_wrong_list_error(
                place, f"has the same name as another {kind}: `{name}`"
            )
        names.add((kind, name))
        problem = object_validation.find_object_problem(decoded)
        named = f"{place} ({kind} {name})"
        if problem:
            raise errors.InputError(named, problem)
        if isinstance(decoded, objects.Cluster):
            object_faults.require_no_faults(
                karmada_object_faults.find_cluster_faults(decoded), named
            )
            found.clusters.append(decoded)
        else:
            object_faults.require_no_faults(
                karmada_object_faults.find_binding_faults(decoded), named
            )
            found.bindings.append(msgspec.structs.replace(decoded, kind=kind))
    if found.skipped and not names:
        kinds = ", ".join(sorted(found.skipped))
        raise FORM.make_wrong_list_error(where, f"has no Cluster and no binding, only {kinds}")
    return found


def _refuse_other_version(place: str, kind: str) -> None:
    """Refuse an unsupported version of a known kind, which would otherwise be skipped silently."""
    name, _, version = kind.partition(".")
    if name not in KINDS:
        return
    group, _, number = KINDS[name][0].partition("/")
    if version.partition("/")[0] == group:
        problem = f"is a {name} of `{version}`; only {number} is supported"
        raise errors.InputError(
            place, problem, help=f"kubectl get {name.lower()}s.{number}.{group}"
        )
