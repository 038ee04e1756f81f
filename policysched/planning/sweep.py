"""Simulates one cluster with varied weights and params, once for each point of a sweep.

Pods are placed again one by one in queue order: either the pending pods, or all pods that a
scheduler can place. Metrics are constant, so a placement affects them only through the load that
policies add for recent placements.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

from policysched.cluster import what_if
from policysched.cluster.objects import objects
from policysched.cluster.pods import pending_pods
from policysched.inputs import cluster_file
from policysched.lang.checked import checked
from policysched.offline import sessions, simulating
from policysched.planning import balance, deciding, sweep_axes, two_sided_cluster
from policysched.profiles import policies

_DAEMON_SET = "DaemonSet"


@dataclasses.dataclass(frozen=True, slots=True)
class SweepSettings:
    """The pods that a sweep places, and its limit for hot nodes.

    Attributes:
        places_all: whether running pods are placed again in addition to pending pods.
        hot: a node is hot if the requested share of a resource is at least this number.
    """

    places_all: bool = True
    hot: float = 0.8


@dataclasses.dataclass(frozen=True, slots=True)
class SweepPointResult:
    """The state of the cluster after the simulation of one point.

    Attributes:
        point: the values of the axes; None for the policies as written.
        balance: the balance of the final cluster.
        pending: the number of pods without a node in the final cluster.
        broken: the number of pods that now run on a node that filters reject.
        moved: the number of pods on a different node than under the policies as written.
    """

    point: sweep_axes.Point | None
    balance: balance.ClusterBalance
    pending: int
    broken: int
    moved: int = 0


class SweepSimulation:
    """Simulates one cluster repeatedly."""

    def __init__(
        self,
        basis: two_sided_cluster.PlanInputs,
        found: cluster_file.ClusterObjects,
        where: str,
        settings: SweepSettings,
    ) -> None:
        """Simulate the new side of `basis` on the cluster `found`, which errors call `where`.

        `simulate_points` takes the points to vary.
        """
        self._basis = basis
        self._found = found
        self._where = where
        self._settings = settings
        self._broken: list[tuple[object, int]] = []

    def simulate_points(
        self, points: Sequence[sweep_axes.Point], advance: Callable[[int], None] = lambda _: None
    ) -> Iterator[SweepPointResult]:
        """Yield the result of the policies as written and then of each point.

        Raises:
            InputError: a param does not accept a value, or a rule does not exist.
        """
        varied = [self._make_policy_set_at_point(point) for point in points]
        now = {pod.key: pod.spec.node_name for pod in self._found.pods}
        written, before = self._simulate_point(None, self._basis.new.policies, now)
        advance(1)
        yield written
        for point, policy_set in zip(points, varied, strict=True):
            result, nodes = self._simulate_point(point, policy_set, before)
            moved = sum(before[pod] != nodes.get(pod, "") for pod in before)
            advance(1)
            yield dataclasses.replace(result, moved=moved)

    def _simulate_point(
        self,
        point: sweep_axes.Point | None,
        policy_set: policies.PolicySet,
        preferred: Mapping[str, str],
    ) -> tuple[SweepPointResult, dict[str, str]]:
        """Return the result of a point and the node of each queued or evicted pod, "" for none."""
        side = dataclasses.replace(self._basis.new, policies=policy_set)
        found = self._found
        now = self._basis.make_decider(side, found, self._where)
        broken = self._count_rule_violations(now, policy_set)
        if self._settings.places_all:
            found = _make_pods_pending(found, now)
        decider = self._basis.make_decider(side, found, self._where)
        nodes = _place_queued_pods(decider, preferred)
        pending = sum(not node for node in nodes.values())
        after = balance.measure_balance(decider.cluster.cache, self._settings.hot)
        return SweepPointResult(point, after, pending, broken), nodes

    def _make_policy_set_at_point(self, point: sweep_axes.Point) -> policies.PolicySet:
        """Return the policies of the new side with the weights and params of a point."""
        params, weights = {}, {}
        for name, value in point.items():
            axis = sweep_axes.SweepAxis(name, (value,))
            if axis.param is not None:
                params[axis.param] = value
            else:
                weights[axis.rule] = int(value)
        basis, side = self._basis, self._basis.new
        policy_set = side.policies
        if params:
            policy_set = policies.make_policy_set_from_texts(
                side.texts,
                {**side.params, **params},
                basis.scheduler_name,
                side.configuration,
                now=basis.now,
            )
        return sweep_axes.set_rule_weights(policy_set, weights)

    def _count_rule_violations(
        self, now: sessions.PodDecider, policy_set: policies.PolicySet
    ) -> int:
        """Return the number of pods on nodes that filters reject; cached per set of hard rules."""
        rules = _remove_score_rules(policy_set)
        for known, count in self._broken:
            if known == rules:
                return count
        count = sum(not each for each in _iterate_running_pod_fits(now))
        self._broken.append((rules, count))
        return count


def _remove_score_rules(policy_set: policies.PolicySet) -> object:
    """Return the parts of the profiles that determine the feasible nodes: all but scoring rules."""
    program = policy_set.program
    return [
        dataclasses.replace(
            profile,
            policies=tuple(
                dataclasses.replace(
                    policy, rules=tuple(r for r in policy.rules if not _is_score_rule(r))
                )
                for policy in profile.policies
            ),
        )
        for profile in (program.profiles if program else ())
    ]


def _is_score_rule(rule: checked.Rule) -> bool:
    return getattr(rule, "weight", None) is not None


def _iterate_running_pod_fits(now: sessions.PodDecider) -> Iterator[bool]:
    """Yield, for each running pod that a profile serves, whether its node is feasible."""
    cache = now.cluster.cache
    known: dict[tuple[int, str], bool] = {}
    placed = sorted(now.cluster.placed.values(), key=lambda info: info.shape.index)
    for info in placed:
        if not pending_pods.would_be_scheduled(info) or not now.choice.would_be_queued(info):
            continue
        node = info.pod.spec.node_name
        key = (info.shape.index, node)
        if key not in known:
            snap, row = cache.snapshot(), cache.nodes.row_of[node]
            with what_if.WhatIf(snap) as supposed:
                supposed.remove_pods([(info, row)])
                framework = now.choice.require_framework(info)
                decision = deciding.decide_pod(framework, pending_pods.make_pending_pod(info), snap)
                known[key] = bool(decision.get_feasible_mask()[row])
        yield known[key]


def _make_pods_pending(
    found: cluster_file.ClusterObjects, now: sessions.PodDecider
) -> cluster_file.ClusterObjects:
    """Return the cluster with its pods pending, except pods that depend on their node.

    Pods of DaemonSets and pods that no profile serves keep their nodes.
    """
    freed = {
        info.key
        for info in now.cluster.placed.values()
        if pending_pods.would_be_scheduled(info)
        and not _is_daemon_set_pod(info.pod)
        and now.choice.would_be_queued(info)
    }
    pods = [
        pending_pods.remove_node_from_pod(pod) if pod.key in freed else pod for pod in found.pods
    ]
    return dataclasses.replace(found, pods=pods)


def _is_daemon_set_pod(pod: objects.Pod) -> bool:
    return any(
        owner.controller and owner.kind == _DAEMON_SET for owner in pod.metadata.owner_references
    )


def _place_queued_pods(
    decider: sessions.PodDecider, preferred: Mapping[str, str]
) -> dict[str, str]:
    """Place the queued pods and return their nodes; "" for none.

    Among nodes with equal points, the preferred node is chosen.
    """
    simulation = simulating.SchedulingSimulation(decider.cluster.cache, {})
    nodes: dict[str, str] = {}
    for framework, info in simulating.list_pods_in_queue_order(decider.cluster, decider.choice):
        placement = simulation.place_pod(framework, info, preferred.get(info.key))
        nodes[info.key] = placement.node or ""
        nodes |= dict.fromkeys(placement.victims, "")
    return nodes
