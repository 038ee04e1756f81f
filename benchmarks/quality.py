"""How well pods were placed, judged by the final state of the API server alone.

Shares no code with policysched, and favours neither scheduler: each measured pod gets the mean of
what applies to it, 0 to 100 points for

- room: what is free on its node, the mean of cpu and memory (after NodeResourcesFit's
  LeastAllocated);
- balance: how even cpu and memory are in use there (after NodeResourcesBalancedAllocation);
- wishes: the share of the weights of its preferred node affinity, pod affinity and anti-affinity
  terms that hold;
- evenness: for each ScheduleAnyway constraint 100 while the skew of its domain is within maxSkew,
  else 100 times maxSkew over the skew (after PodTopologySpread).
"""

from __future__ import annotations

import collections
import dataclasses
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from benchmarks import measurements
from tests.e2e.checker import cluster_state, matching, placement_checker, pod_requests

Object: TypeAlias = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Shares:
    """What pods request of a node, as shares of what it has."""

    cpu: float
    memory: float


def judge(
    cluster: cluster_state.Cluster, namespace: str, may_pend: Sequence[str] = ()
) -> measurements.Quality:
    """Return how well the pods of a namespace were placed.

    Args:
        cluster: the final state.
        namespace: of the pods that get points.
        may_pend: keys of pods that need no node.
    """
    shares = shares_of(cluster)
    points = Points(cluster, shares)
    cpu = [one.cpu for one in shares.values()]
    memory = [one.memory for one in shares.values()]
    return measurements.Quality(
        cpu_std=statistics.pstdev(cpu),
        cpu_max=max(cpu),
        memory_std=statistics.pstdev(memory),
        memory_max=max(memory),
        score=sum(points.of(pod) for pod in points.bound if _namespace(pod) == namespace),
        broken_rules=len(placement_checker.violations(cluster, may_pend=may_pend)),
    )


def shares_of(cluster: cluster_state.Cluster) -> dict[str, Shares]:
    """Return the shares in use by node."""
    used: dict[str, dict[str, float]] = {name: {} for name in cluster.nodes}
    for pod in cluster.pods:
        of_node = used.get(cluster_state.node_name(pod), {})
        for resource, amount in pod_requests.requests(pod).items():
            of_node[resource] = of_node.get(resource, 0.0) + float(amount)
    return {
        name: Shares(*(_share(used[name], node, resource) for resource in ("cpu", "memory")))
        for name, node in cluster.nodes.items()
    }


def _share(used: Mapping[str, float], node: Object, resource: str) -> float:
    has = float(pod_requests.allocatable(node).get(resource, 0))
    return used.get(resource, 0.0) / has if has else 0.0


class Points:
    """Gives points to pods of one final state.

    Attributes:
        bound: the pods that have a node.
    """

    def __init__(self, cluster: cluster_state.Cluster, shares: Mapping[str, Shares]) -> None:
        """Take the final state, and what is in use on each node."""
        self._cluster = cluster
        self._shares = shares
        self.bound = [p for p in cluster.pods if cluster_state.node_name(p) in cluster.nodes]
        self._counts: dict[str, collections.Counter[str]] = {}

    def of(self, pod: Object) -> float:
        """Return 0 to 100 points of a bound pod."""
        return statistics.fmean(self._parts(pod))

    def _parts(self, pod: Object) -> Iterator[float]:
        share = self._shares[cluster_state.node_name(pod)]
        yield 100 * (1 - (share.cpu + share.memory) / 2)
        yield 100 * (1 - abs(share.cpu - share.memory) / 2)
        wishes = list(self._wishes(pod))
        if wishes:
            granted = sum(weight for weight, holds in wishes if holds)
            yield 100 * granted / sum(weight for weight, _ in wishes)
        for constraint in pod["spec"].get("topologySpreadConstraints") or []:
            if constraint["whenUnsatisfiable"] == "ScheduleAnyway":
                yield 100 * min(1.0, constraint["maxSkew"] / max(1, self._skew(pod, constraint)))

    def _wishes(self, pod: Object) -> Iterator[tuple[int, bool]]:
        """Give (weight, whether it holds) of each preferred term."""
        affinity = pod["spec"].get("affinity") or {}
        node = self._cluster.nodes[cluster_state.node_name(pod)]
        for wish in _preferred(affinity, "nodeAffinity"):
            selector = {"nodeSelectorTerms": [wish["preference"]]}
            yield wish["weight"], matching.node_selector_holds(selector, node)
        for kind in ("podAffinity", "podAntiAffinity"):
            for wish in _preferred(affinity, kind):
                has_others = self._others(pod, wish["podAffinityTerm"]) > 0
                yield wish["weight"], has_others == (kind == "podAffinity")

    def _others(self, pod: Object, term: Object) -> int:
        """Return how many other pods that a term means lie in the pod's domain."""
        namespaces = self._cluster.namespaces
        text = json.dumps([_namespace(pod), term], sort_keys=True)
        if text not in self._counts:
            meant = [one for one in self.bound if matching.term_holds(term, pod, one, namespaces)]
            self._counts[text] = self._by_domain(meant, term["topologyKey"])
        count = self._counts[text][self._domain(pod, term["topologyKey"])]
        return count - int(matching.term_holds(term, pod, pod, namespaces))

    def _skew(self, pod: Object, constraint: Object) -> int:
        """Return by how many pods the pod's domain has more than the emptiest one."""
        text = json.dumps([_namespace(pod), constraint], sort_keys=True)
        key = constraint["topologyKey"]
        if text not in self._counts:
            selector = constraint.get("labelSelector")
            meant = [
                one
                for one in self.bound
                if _namespace(one) == _namespace(pod)
                and matching.selector_holds(selector, one["metadata"].get("labels") or {})
            ]
            self._counts[text] = self._by_domain(meant, key)
            for node in self._cluster.nodes.values():
                domain = (node["metadata"].get("labels") or {}).get(key)
                if domain is not None:
                    self._counts[text][domain] += 0
        counts = self._counts[text]
        return counts[self._domain(pod, key)] - min(counts.values())

    def _by_domain(self, pods: Sequence[Object], topology_key: str) -> collections.Counter[str]:
        return collections.Counter(self._domain(pod, topology_key) for pod in pods)

    def _domain(self, pod: Object, topology_key: str) -> str:
        node = self._cluster.nodes[cluster_state.node_name(pod)]
        return str((node["metadata"].get("labels") or {}).get(topology_key, ""))


def _preferred(affinity: Object, kind: str) -> Sequence[Object]:
    terms: Sequence[Object] = (affinity.get(kind) or {}).get(
        "preferredDuringSchedulingIgnoredDuringExecution"
    ) or []
    return terms


def _namespace(pod: Object) -> str:
    namespace: str = pod["metadata"]["namespace"]
    return namespace
