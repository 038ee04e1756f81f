"""A file with what a cluster has, what a Karmada control plane has, or both."""

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
    """The objects of a file.

    Attributes:
        cluster: nodes, pods and what else matters to them.
        plane: member clusters and bindings.
    """

    cluster: cluster_file.ClusterObjects
    plane: karmada_file.KarmadaControlPlane = dataclasses.field(
        default_factory=karmada_file.KarmadaControlPlane
    )


def read_dump(path: str) -> ObjectDump:
    """Return what the file `path` has.

    Raises:
        InputError: it cannot be read, or has nothing of both.
    """
    return _collect_dump_objects(
        object_lists.split_object_list(object_lists.read_bytes(path), path, _FORM), path
    )


def read_dumps(path: str) -> object_lists.InputLists[ObjectDump]:
    """Return what a file has, or standard input where `path` is `-`.

    Raises:
        InputError: there is no input, or, from `places`, a file or line that has nothing of both.
    """
    return object_lists.read_input_lists(path, _FORM, _collect_dump_objects)


def _collect_dump_objects(placed: Iterable[object_lists.Placed], where: str) -> ObjectDump:
    of_cluster: list[object_lists.Placed] = []
    of_plane: list[object_lists.Placed] = []
    for each in placed:
        (of_plane if each[1] in karmada_file.KINDS else of_cluster).append(each)
    cluster = cluster_file.collect_cluster_objects(of_cluster, where, may_be_empty=bool(of_plane))
    plane = karmada_file.KarmadaControlPlane()
    if of_plane:
        plane = karmada_file.collect_karmada_control_plane(of_plane, where)
    return ObjectDump(cluster, plane)
