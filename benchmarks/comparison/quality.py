"""The quality of placements, judged only by the final state of the API server.

The scorer shares no code with policysched and favours neither scheduler. A measured pod gets the
mean of its points, 0 to 100 for each of these criteria that applies to the pod:

- room: free shares of its node, the mean of cpu and memory (as NodeResourcesFit's LeastAllocated);
- balance: evenness of the requested shares of cpu and memory (as NodeResourcesBalancedAllocation);
- wishes: satisfied share of the weights of its preferred node affinity, pod affinity and
  anti-affinity terms;
- evenness: for each ScheduleAnyway constraint 100 while the skew of the pod's domain is within
  maxSkew, otherwise 100 times maxSkew divided by the skew (as PodTopologySpread).
"""

from __future__ import annotations

import collections
import dataclasses
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from benchmarks.records import measurements
from tests.e2e.checker import cluster_state, matching, placement_checker, pod_requests

Object: TypeAlias = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Shares:
    """Shares of a node's allocatable resources that its pods request."""

    cpu: float
    memory: float


def judge(
    cluster: cluster_state.Cluster, namespace: str, may_pend: Sequence[str] = ()
) -> measurements.Quality:
    """Return the quality of the placements in a namespace.

    Args:
        cluster: the final state.
        namespace: the namespace of the pods that get points.
        may_pend: keys of pods that may be without a node.
    """
    shares = shares_of(cluster)
    points = Points(cluster, shares)
    cpu = [share.cpu for share in shares.values()]
    memory = [share.memory for share in shares.values()]
    return measurements.Quality(
        cpu_std=statistics.pstdev(cpu),
        cpu_max=max(cpu),
        memory_std=statistics.pstdev(memory),
        memory_max=max(memory),
        score=sum(points.of(pod) for pod in points.bound if _get_namespace(pod) == namespace),
        broken_rules=len(placement_checker.violations(cluster, may_pend=may_pend)),
    )


def shares_of(cluster: cluster_state.Cluster) -> dict[str, Shares]:
    """Return the requested shares by node."""
    used: dict[str, dict[str, float]] = {name: {} for name in cluster.nodes}
    for pod in cluster.pods:
        of_node = used.get(cluster_state.node_name(pod), {})
        for resource, amount in pod_requests.requests(pod).items():
            of_node[resource] = of_node.get(resource, 0.0) + float(amount)
    return {
        name: Shares(
            *(_compute_share(used[name], node, resource) for resource in ("cpu", "memory"))
        )
        for name, node in cluster.nodes.items()
    }


def _compute_share(used: Mapping[str, float], node: Object, resource: str) -> float:
    allocatable = float(pod_requests.allocatable(node).get(resource, 0))
    return used.get(resource, 0.0) / allocatable if allocatable else 0.0


class Points:
    """Computes the points of pods in one final state.

    Attributes:
        bound: the pods with a node.
    """

    def __init__(self, cluster: cluster_state.Cluster, shares: Mapping[str, Shares]) -> None:
        """Take the final state and the requested shares by node."""
        self._cluster = cluster
        self._shares = shares
        self.bound = [p for p in cluster.pods if cluster_state.node_name(p) in cluster.nodes]
        self._counts: dict[str, collections.Counter[str]] = {}

    def of(self, pod: Object) -> float:
        """Return the points of a bound pod, 0 to 100."""
        return statistics.fmean(self._compute_parts(pod))

    def _compute_parts(self, pod: Object) -> Iterator[float]:
        share = self._shares[cluster_state.node_name(pod)]
        yield 100 * (1 - (share.cpu + share.memory) / 2)
        yield 100 * (1 - abs(share.cpu - share.memory) / 2)
        wishes = list(self._list_wishes(pod))
        if wishes:
            granted = sum(weight for weight, holds in wishes if holds)
            yield 100 * granted / sum(weight for weight, _ in wishes)
        for constraint in pod["spec"].get("topologySpreadConstraints") or []:
            if constraint["whenUnsatisfiable"] == "ScheduleAnyway":
                yield 100 * min(
                    1.0, constraint["maxSkew"] / max(1, self._compute_skew(pod, constraint))
                )

    def _list_wishes(self, pod: Object) -> Iterator[tuple[int, bool]]:
        """Yield (weight, whether it is satisfied) for each preferred term."""
        affinity = pod["spec"].get("affinity") or {}
        node = self._cluster.nodes[cluster_state.node_name(pod)]
        for wish in _list_preferred(affinity, "nodeAffinity"):
            selector = {"nodeSelectorTerms": [wish["preference"]]}
            yield wish["weight"], matching.node_selector_holds(selector, node)
        for kind in ("podAffinity", "podAntiAffinity"):
            for wish in _list_preferred(affinity, kind):
                has_others = self._count_others(pod, wish["podAffinityTerm"]) > 0
                yield wish["weight"], has_others == (kind == "podAffinity")

    def _count_others(self, pod: Object, term: Object) -> int:
        """Return the number of other pods in the pod's domain that a term selects."""
        namespaces = self._cluster.namespaces
        text = json.dumps([_get_namespace(pod), term], sort_keys=True)
        if text not in self._counts:
            selected = [
                other for other in self.bound if matching.term_holds(term, pod, other, namespaces)
            ]
            self._counts[text] = self._count_by_domain(selected, term["topologyKey"])
        count = self._counts[text][self._get_domain(pod, term["topologyKey"])]
        return count - int(matching.term_holds(term, pod, pod, namespaces))

    def _compute_skew(self, pod: Object, constraint: Object) -> int:
        """Return the difference in pods between the pod's domain and the emptiest one."""
        text = json.dumps([_get_namespace(pod), constraint], sort_keys=True)
        key = constraint["topologyKey"]
        if text not in self._counts:
            selector = constraint.get("labelSelector")
            selected = [
                other
                for other in self.bound
                if _get_namespace(other) == _get_namespace(pod)
                and matching.selector_holds(selector, other["metadata"].get("labels") or {})
            ]
            self._counts[text] = self._count_by_domain(selected, key)
            for node in self._cluster.nodes.values():
                domain = (node["metadata"].get("labels") or {}).get(key)
                if domain is not None:
                    self._counts[text][domain] += 0
        counts = self._counts[text]
        return counts[self._get_domain(pod, key)] - min(counts.values())

    def _count_by_domain(
        self, pods: Sequence[Object], topology_key: str
    ) -> collections.Counter[str]:
        return collections.Counter(self._get_domain(pod, topology_key) for pod in pods)

    def _get_domain(self, pod: Object, topology_key: str) -> str:
        node = self._cluster.nodes[cluster_state.node_name(pod)]
        return str((node["metadata"].get("labels") or {}).get(topology_key, ""))


def _list_preferred(affinity: Object, kind: str) -> Sequence[Object]:
    terms: Sequence[Object] = (affinity.get(kind) or {}).get(
        "preferredDuringSchedulingIgnoredDuringExecution"
    ) or []
    return terms


def _get_namespace(pod: Object) -> str:
    namespace: str = pod["metadata"]["namespace"]
    return namespace
