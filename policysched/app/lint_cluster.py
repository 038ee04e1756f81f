"""A cluster file as facts for `policysched lint`."""

from __future__ import annotations

import datetime

from policysched.app import cluster_file, offline_cluster
from policysched.lang import checked, checked_selector
from policysched.lint import cluster_facts, selector_sets, subject


def read(
    path: str, program: checked.CheckedProgram, now: datetime.datetime
) -> cluster_facts.ClusterFacts:
    """Return what is known of the cluster in a file.

    Raises:
        InputError: the file cannot be read, or is no cluster file.
    """
    found = cluster_file.read(path)
    cluster = offline_cluster.empty(now)
    offline_cluster.fill(cluster, found, path, _annotation_keys(program))
    pods = tuple((pod, cluster.shapes.info(pod).shape) for pod in found.pods if not pod.is_terminal)
    snapshot = cluster.cache.snapshot(now)
    return cluster_facts.ClusterFacts(path, tuple(found.nodes), pods, snapshot)


def _annotation_keys(program: checked.CheckedProgram) -> frozenset[str]:
    """Return the annotations of pods that policies read: others are not kept."""
    return frozenset(
        each.key
        for policy in program.policies
        for occurrence in subject.of_policy(policy)
        for each in selector_sets.requirements(occurrence.selector)
        if isinstance(each, checked_selector.AnnotationRequirement)
    )
