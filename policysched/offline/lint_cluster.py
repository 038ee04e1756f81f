"""Converts a cluster from a file or a server into facts for `policysched lint`."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING

from policysched import clock as clocks
from policysched import errors
from policysched.cluster import cache as caches
from policysched.cluster.pods import pod_shape
from policysched.compiler.pods import pod_reads
from policysched.inputs import dump_file, karmada_file
from policysched.karmada.policies import binding_shapes, cluster_rows
from policysched.lang.checked import checked, checked_selector
from policysched.lint import rule_input
from policysched.lint.facts import cluster_facts
from policysched.offline import offline_cluster

if TYPE_CHECKING:
    from policysched.inputs import live_cluster


_KINDS = frozenset({"nodes", "pods", "namespaces"})
_DEVICES = frozenset({"resourceslices", "deviceclasses"})


def read_cluster_facts(
    named: str | live_cluster.LiveClusterReference,
    program: checked.CheckedProgram,
    now: datetime.datetime,
    told: Callable[[str, int], None] | None = None,
) -> cluster_facts.ClusterFacts:
    """Return the facts about a cluster.

    Args:
        named: a file, `-` for standard input, or a running cluster.
        program: the policies to compare with the cluster.
        now: the time of the comparison.
        told: is called with each resource of a running cluster and the number of its objects.

    Raises:
        InputError: the file cannot be read, is not a cluster file, contains several clusters or an
            object twice, or has an invalid quantity.
        KubeError: the running cluster cannot be read.
    """
    where, found = _read_cluster_objects(named, _list_kinds_read(program), told)
    return make_cluster_facts(where, found, list_annotation_keys_read(program), now)


def make_cluster_facts(
    where: str,
    found: dump_file.ObjectDump,
    annotations: frozenset[str],
    now: datetime.datetime,
) -> cluster_facts.ClusterFacts:
    """Convert objects to facts; `annotations` are the pod annotation keys that policies read.

    Raises:
        InputError: an object appears twice or has an invalid quantity.
    """
    cluster = offline_cluster.make_empty_cluster(now)
    own = found.cluster
    offline_cluster.add_cluster_objects(cluster, own, where, annotations)
    pods = tuple(
        (pod, cluster.shapes.make_pod_info(pod).shape) for pod in own.pods if not pod.is_terminal
    )
    snapshot = cluster.cache.snapshot(now)
    members = (
        _convert_control_plane_to_facts(where, found.plane, annotations, now)
        if found.plane.clusters
        else None
    )
    return cluster_facts.ClusterFacts(where, tuple(own.nodes), pods, snapshot, members)


def _convert_control_plane_to_facts(
    where: str,
    plane: karmada_file.KarmadaControlPlane,
    annotations: frozenset[str],
    now: datetime.datetime,
) -> cluster_facts.ClusterFacts:
    """Convert the member clusters of a control plane to nodes and its bindings to pods."""
    cache, shapes = caches.Cache(clocks.ManualClock(now)), pod_shape.PodShapeCache(annotations)
    nodes = tuple(cluster_rows.convert_cluster_to_node(each) for each in plane.clusters)
    for node in nodes:
        cache.set_node(node)
    pods = [binding_shapes.convert_binding_to_pod(each) for each in plane.bindings]
    shaped = tuple((pod, shapes.make_pod_info(pod).shape) for pod in pods)
    return cluster_facts.ClusterFacts(where, nodes, shaped, cache.snapshot(now))


def _read_cluster_objects(
    named: str | live_cluster.LiveClusterReference,
    kinds: frozenset[str],
    told: Callable[[str, int], None] | None,
) -> tuple[str, dump_file.ObjectDump]:
    """Return the name of the cluster and its objects, of a running cluster those of `kinds`.

    Raises:
        InputError: the input cannot be read or contains several clusters.
        KubeError: the running cluster cannot be read.
    """
    if isinstance(named, str):
        (only, *others) = dump_file.read_dumps(named).places
        if others:
            raise errors.InputError(only[0], "there are several clusters; lint compares with one")
        return only
    from policysched.inputs import live_cluster  # noqa: PLC0415 - imports an HTTP client

    server, found = live_cluster.read_live_cluster(
        named, live_cluster.ListingOptions(kinds=kinds, told=told)
    )
    return server, dump_file.ObjectDump(found)


def _list_kinds_read(program: checked.CheckedProgram) -> frozenset[str]:
    """Return the kinds of objects with which policies are compared."""
    read = pod_reads.projection(program.policies)
    claims = {"persistentvolumeclaims"} if read.reads_claims else frozenset[str]()
    return _KINDS | claims | (_DEVICES if read.reads_devices else frozenset[str]())


def list_annotation_keys_read(program: checked.CheckedProgram) -> frozenset[str]:
    """Return the annotation keys of pods and bindings that policies read; no others are kept."""
    return frozenset(
        each.key
        for policy in (*program.policies, *program.cluster_policies)
        for occurrence in rule_input.find_selectors(policy)
        for each in checked_selector.walk_requirements(occurrence.selector)
        if isinstance(each, checked_selector.AnnotationRequirement)
    )
