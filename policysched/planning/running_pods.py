"""Compares the fates of running pods, as if each were created again in the current cluster.

The pod is removed from its node, both sides decide on it, and it is put back. No other pod is
preempted for it. Metrics are unchanged, so they include the load of the pod itself. The decisions
for identical pods on one node are compared once. Pods that no edit concerns are not compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from policysched.cluster import what_if
from policysched.cluster.pods import pending_pods, pod_shape
from policysched.planning import changes, deciding, decision_comparing, two_sided_cluster
from policysched.plugins.dynamic_resources import released_claims


def compare_running_pods(
    where: two_sided_cluster.TwoSidedCluster,
    found: changes.PodChanges,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Add the changes for running pods to `found`; `advance` gets the number of compared pods."""
    groups: dict[
        tuple[two_sided_cluster.DecidingProfileNames, int, str], list[pod_shape.PodInfo]
    ] = {}
    for info in where.cluster.placed.values():
        if not pending_pods.would_be_scheduled(info):
            continue
        pair = where.find_profiles(info)
        if pair.old is None and pair.new is None:
            found.unserved[info.pod.spec.scheduler_name] += 1
            continue
        found.considered[changes.PlannedPodPhase.RUNNING] += 1
        if None in (pair.old, pair.new) or where.get_relevant_edits(pair, info.shape):
            key = (pair, info.shape.index, info.pod.spec.node_name)
            groups.setdefault(key, []).append(info)
    looking = _RunningPodComparer(where, found)
    for (pair, _, node), infos in sorted(groups.items(), key=lambda item: item[0][1:]):
        looking.compare_identical_pods(pair, node, infos)
        advance(len(infos))


class _RunningPodComparer:
    """Compares the fates of running pods, one group of identical pods at a time."""

    def __init__(self, where: two_sided_cluster.TwoSidedCluster, found: changes.PodChanges) -> None:
        self._world = where
        self._found = found
        self._comparing = decision_comparing.DecisionComparer(where, found, deciding.decide_pod)

    def compare_identical_pods(
        self,
        pair: two_sided_cluster.DecidingProfileNames,
        node: str,
        infos: Sequence[pod_shape.PodInfo],
    ) -> None:
        """Compare identical pods on one node and record their changes."""
        snap = self._world.take_snapshot()
        row = self._world.cache.nodes.row_of[node]
        claims = self._world.cache.devices.claims
        with (
            what_if.WhatIf(snap) as supposed,
            released_claims.suppose_released(infos[0], claims),
        ):
            supposed.remove_pods([(infos[0], row)])
            change = self._find_pod_change(pair, node, infos)
        if change is not None:
            self._found.pods += [dataclasses.replace(change, pod=info.key) for info in infos]

    def _find_pod_change(
        self,
        pair: two_sided_cluster.DecidingProfileNames,
        node: str,
        infos: Sequence[pod_shape.PodInfo],
    ) -> changes.PodChange | None:
        """Return the change for the first pod in `infos`; the caller removed it from its node."""
        info, snap = pending_pods.make_pending_pod(infos[0]), self._world.take_snapshot()
        if None in (pair.old, pair.new):
            return self._make_one_sided_change(pair, node, info)
        old = self._comparing.decide_old(pair, info, (node,))
        new = self._comparing.decide_new(pair, info, (old.node, node))
        fates = decision_comparing.make_pod_fate(old), decision_comparing.make_pod_fate(new)
        compared = self._comparing.compare_decisions(pair, info, (old, new), len(infos))
        outcome = compared.classify_fates(fates)
        if outcome is changes.PodChangeKind.SAME:
            return None
        row = snap.nodes.row_of[node]
        return changes.PodChange(
            info.key,
            changes.PlannedPodPhase.RUNNING,
            outcome,
            node,
            *fates,
            lost=compared.lost,
            gained=compared.gained,
            node_lost=bool(old.get_feasible_mask()[row] and not new.get_feasible_mask()[row]),
            cause=compared.cause,
        )

    def _make_one_sided_change(
        self, pair: two_sided_cluster.DecidingProfileNames, node: str, info: pod_shape.PodInfo
    ) -> changes.PodChange:
        """Return the change for a pod that only one side serves."""
        if pair.old is None:
            decision = self._comparing.decide_new(pair, info, (node,))
            outcome = changes.PodChangeKind.PROFILE_ADDED
        else:
            decision = self._comparing.decide_old(pair, info, (node,))
            outcome = changes.PodChangeKind.PROFILE_REMOVED
        return changes.make_one_sided_change(
            info.pod,
            changes.PlannedPodPhase.RUNNING,
            decision_comparing.make_pod_fate(decision),
            outcome,
            node,
        )
