"""Reads a file with the objects of a cluster, of a Karmada control plane, or of both."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from policysched.inputs import cluster_file, karmada_file, object_lists

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORM = object_lists.ExpectedKinds(
    {**cluster_file.FORM.api_versions, **karmada_file.FORM.api_versions},
    cluster_file.FORM.help,
)


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectDump:
    """The objects in a file, divided between a cluster and a Karmada control plane.

    Attributes:
        cluster: the nodes, pods and other objects that scheduling reads.
        plane: the member clusters and bindings.
    """

    cluster: cluster_file.ClusterObjects
    plane: karmada_file.KarmadaControlPlane = dataclasses.field(
        default_factory=karmada_file.KarmadaControlPlane
    )


def read_dump(path: str) -> ObjectDump:
    """Return the objects in the file `path`.

    Raises:
        InputError: the file cannot be read, or has only objects of other kinds.
    """
    return _collect_dump_objects(
        object_lists.split_object_list(object_lists.read_bytes(path), path, _FORM), path
    )


def read_dumps(path: str) -> object_lists.InputLists[ObjectDump]:
    """Return the objects in a file, or on standard input if `path` is `-`.

    Raises:
        InputError: the input is empty; or, while `places` is read, a file or line has only objects
            of other kinds.
    """
    return object_lists.read_input_lists(path, _FORM, _collect_dump_objects)


def _collect_dump_objects(placed: Iterable[object_lists.Placed], where: str) -> ObjectDump:
    """Return the objects, divided between the cluster and the Karmada control plane by kind."""
    of_cluster: list[object_lists.Placed] = []
    of_plane: list[object_lists.Placed] = []
    for each in placed:
        (of_plane if each[1] in karmada_file.KINDS else of_cluster).append(each)
    cluster = cluster_file.collect_cluster_objects(of_cluster, where, may_be_empty=bool(of_plane))
    plane = karmada_file.KarmadaControlPlane()
    if of_plane:
        plane = karmada_file.collect_karmada_control_plane(of_plane, where)
    return ObjectDump(cluster, plane)
