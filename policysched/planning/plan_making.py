"""Makes the complete plan of a policy change for a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from policysched.inputs import cluster_file, metrics_file
from policysched.planning import changes, pending_pods, running_pods, two_sided_cluster


@dataclasses.dataclass(frozen=True, slots=True)
class PolicyChangePlan:
    """The differences that a policy change makes, and the cluster in which they were found.

    Attributes:
        where: the final state of the cluster, in which the new side has placed the pending pods.
        found: the differences between the decisions of the two sides.
    """

    where: two_sided_cluster.TwoSidedCluster
    found: changes.PodChanges


def read_plan_metrics(basis: two_sided_cluster.PlanInputs, path: str) -> metrics_file.MetricsFile:
    """Return the metrics of a file for both sides.

    Raises:
        InputError: the file cannot be read, or it contains a metric that neither side declares.
    """
    declared = [*basis.new.policies.all_metrics, *basis.old.policies.all_metrics]
    return metrics_file.read_metrics_file(
        path, {each.key: each for each in declared}.values(), basis.now
    )


def make_policy_change_plan(
    basis: two_sided_cluster.PlanInputs,
    objects: cluster_file.ClusterObjects,
    where: str,
    begin: Callable[[str, int], Callable[[int], None]],
) -> PolicyChangePlan:
    """Return the plan for a cluster; `where` is its name in errors.

    `begin` is called with the name and size of each part of the work. It returns a function that
    counts finished steps.

    Raises:
        InputError: the cluster is invalid, or a profile cannot be built.
    """
    here = two_sided_cluster.TwoSidedCluster(basis, objects, where)
    old = basis.make_decider(basis.old, objects, where)
    found = changes.PodChanges()
    running_pods.compare_running_pods(here, found, begin("running pods", len(here.cluster.placed)))
    pending_pods.compare_pending_pods(
        here, old, found, begin("pending pods", 2 * len(here.cluster.pending))
    )
    found.edits = here.list_all_edits()
    found.pods.sort(key=lambda each: (each.phase is changes.PlannedPodPhase.PENDING, each.pod))
    return PolicyChangePlan(here, found)
