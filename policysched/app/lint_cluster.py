"""A cluster, from a file or running, as facts for `policysched lint`."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING

from policysched import errors
from policysched.app import cluster_file, offline_cluster
from policysched.lang import checked, checked_selector
from policysched.lint import cluster_facts, selector_sets, subject

if TYPE_CHECKING:
    from policysched.app import live_cluster


_KINDS = frozenset({"nodes", "pods", "namespaces"})


def read(
    named: str | live_cluster.LiveCluster,
    program: checked.CheckedProgram,
    now: datetime.datetime,
    told: Callable[[str, int], None] | None = None,
) -> cluster_facts.ClusterFacts:
    """Return what is known of a cluster.

    Args:
        named: a file, `-` for standard input, or a running cluster.
        program: the policies that are compared with it.
        now: the time of the comparison.
        told: is told how many objects of a resource a running cluster has sent.

    Raises:
        InputError: the file cannot be read, or is no cluster file.
        KubeError: the running cluster cannot be read.
    """
    where, found = _objects(named, told)
    return facts(where, found, annotation_keys(program), now)


def facts(
    where: str,
    found: cluster_file.ClusterObjects,
    annotations: frozenset[str],
    now: datetime.datetime,
) -> cluster_facts.ClusterFacts:
    """Return objects as facts; `annotations` are those of pods that policies read.

    Raises:
        InputError: an object is there twice, or holds a text that is no quantity.
    """
    cluster = offline_cluster.empty(now)
    offline_cluster.fill(cluster, found, where, annotations)
    pods = tuple((pod, cluster.shapes.info(pod).shape) for pod in found.pods if not pod.is_terminal)
    snapshot = cluster.cache.snapshot(now)
    return cluster_facts.ClusterFacts(where, tuple(found.nodes), pods, snapshot)


def _objects(
    named: str | live_cluster.LiveCluster, told: Callable[[str, int], None] | None
) -> tuple[str, cluster_file.ClusterObjects]:
    if isinstance(named, str):
        (only, *others) = cluster_file.read_all(named).places
        if others:
            raise errors.InputError(only[0], "there are several clusters, lint compares with one")
        return only
    from policysched.app import live_cluster  # noqa: PLC0415 - brings HTTP, TLS and credentials

    return live_cluster.read(named, live_cluster.Reading(kinds=_KINDS, told=told))


def annotation_keys(program: checked.CheckedProgram) -> frozenset[str]:
    """Return the annotations of pods that policies read: others are not kept."""
    return frozenset(
        each.key
        for policy in program.policies
        for occurrence in subject.of_policy(policy)
        for each in selector_sets.requirements(occurrence.selector)
        if isinstance(each, checked_selector.AnnotationRequirement)
    )
