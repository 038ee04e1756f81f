"""Preemption one node and one pod at a time: what DefaultPreemption says of all nodes at once.

Nominated pods and victims are put into copies of the cluster and taken out of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import msgspec

from policysched.cluster.objects import objects
from tests.reference import inter_pod_affinity, pod_topology_spread, single_node
from tests.reference.cluster import Cluster, matches_selector
from tests.reference.single_node import Answer

NO_VICTIMS: Answer = (single_node.NEVER, ("No preemption victims found for incoming pod",))
_LATER_THAN_ALL = "9999"
_FILTERS_BEFORE_PORTS = 3

Victims = tuple[list[str], int]
"""Uids from the most important one on, and how many of them violate a budget."""


@dataclasses.dataclass(frozen=True)
class Budget:
    """A PodDisruptionBudget."""

    namespace: str
    selector: objects.LabelSelector | None
    allowed: int
    disrupted: frozenset[str] = frozenset()


Filter = Callable[[objects.Pod, objects.Node, Cluster], Answer]


class Ports:
    """The host ports in use on a node, as kube-scheduler keeps them: a set.

    A port that two pods have is free as soon as one of them has left.
    """

    def __init__(self, pods: Sequence[objects.Pod]) -> None:
        """Start with the ports of the pods that are there."""
        self.taken = {port for pod in pods for port in single_node.host_ports(pod)}

    def add(self, pod: objects.Pod) -> None:
        """Let a pod come."""
        self.taken |= set(single_node.host_ports(pod))

    def remove(self, pod: objects.Pod) -> None:
        """Let a pod leave."""
        self.taken -= set(single_node.host_ports(pod))

    def with_pods(self, pods: Sequence[objects.Pod]) -> Ports:
        """Return a copy to which pods have come."""
        copy = Ports(pods)
        copy.taken |= self.taken
        return copy

    def rejects(self, pod: objects.Pod) -> Answer:
        """NodePorts."""
        for address, protocol, number in single_node.host_ports(pod):
            for other, other_protocol, other_number in self.taken:
                same = (protocol, number) == (other_protocol, other_number)
                if same and (address == other or "0.0.0.0" in (address, other)):  # noqa: S104 - the API's word for any address
                    return single_node.NOT_NOW, (
                        "node(s) didn't have free ports for the requested pod ports",
                    )
        return None


def filters(pod: objects.Pod, cluster: Cluster) -> list[Filter]:
    """Return the filters in their order, without those that have nothing to say of the pod.

    What InterPodAffinity has to say is decided before anything is tried: pods that are only
    supposed to come do not make it speak.
    """
    found: list[Filter] = [
        lambda p, n, _: single_node.node_unschedulable(p, n),
        lambda p, n, _: single_node.taint_toleration(p, n),
        lambda p, n, _: single_node.node_affinity(p, n, None),
        lambda p, n, c: single_node.node_resources_fit(p, n, c, (), ()),
        lambda p, n, c: pod_topology_spread.pod_topology_spread(
            p, n, c, pod_topology_spread.SYSTEM_DEFAULTS
        ),
    ]
    if _is_concerned(pod, cluster):
        found.append(inter_pod_affinity.inter_pod_affinity)
    return found


def _is_concerned(pod: objects.Pod, cluster: Cluster) -> bool:
    if inter_pod_affinity.required(pod) or inter_pod_affinity.required_anti(pod):
        return True
    return any(
        term.topology_key in node.metadata.labels
        and inter_pod_affinity.term_matches(term, other, pod, cluster, owner_is_placed=True)
        for other, node in cluster.placed()
        for term in inter_pod_affinity.required_anti(other)
    )


def fits(
    pod: objects.Pod,
    node: objects.Node,
    cluster: Cluster,
    asked: Sequence[Filter],
    nominated: Sequence[objects.Pod],
    ports: Ports | None = None,
) -> Answer:
    """Return the first failure beside nominated pods with precedence, else that without them."""
    others = [
        p
        for p in nominated
        if p.status.nominated_node_name == node.name
        and priority(p) >= priority(pod)
        and p.metadata.uid != pod.metadata.uid
    ]
    ports = ports or Ports(cluster.pods_on(node))
    if others:
        beside = with_pods(cluster, others, node)
        failure = first_failure(pod, node, beside, asked, ports.with_pods(others))
        if failure is not None:
            return failure
    return first_failure(pod, node, cluster, asked, ports)


def first_failure(
    pod: objects.Pod,
    node: objects.Node,
    cluster: Cluster,
    asked: Sequence[Filter],
    ports: Ports,
) -> Answer:
    """Return the first failure of the filters; NodePorts comes after those of the node alone."""
    answers = [one(pod, node, cluster) for one in asked]
    answers.insert(_FILTERS_BEFORE_PORTS, ports.rejects(pod))
    return next((answer for answer in answers if answer is not None), None)


def select_victims(
    pod: objects.Pod,
    node: objects.Node,
    cluster: Cluster,
    nominated: Sequence[objects.Pod],
    budgets: Sequence[Budget],
) -> Victims | Answer:
    """Return who has to go from the node, or why nobody's going helps."""
    asked = filters(pod, cluster)
    lesser = [p for p in cluster.pods_on(node) if priority(p) < priority(pod)]
    if not lesser:
        return NO_VICTIMS
    rest = without_pods(cluster, lesser)
    ports = Ports(cluster.pods_on(node))
    for leaving in lesser:
        ports.remove(leaving)
    failure = fits(pod, node, rest, asked, nominated, ports)
    if failure is not None:
        return failure
    violating, sparing = split_by_budget(most_important_first(lesser), budgets)
    victims = []
    for candidate in violating + sparing:
        again = with_pods(rest, [candidate], node)
        ports.add(candidate)
        if fits(pod, node, again, asked, nominated, ports) is None:
            rest = again
        else:
            ports.remove(candidate)
            victims.append(candidate)
    violated = len([v for v in victims if v in violating])
    return [v.metadata.uid for v in most_important_first(victims)], violated


def split_by_budget(
    pods: Sequence[objects.Pod], budgets: Sequence[Budget]
) -> tuple[list[objects.Pod], list[objects.Pod]]:
    """Return the pods whose eviction would violate a budget, and the others."""
    left = [budget.allowed for budget in budgets]
    violating: list[objects.Pod] = []
    sparing: list[objects.Pod] = []
    for pod in pods:
        is_violated = False
        for number, budget in enumerate(budgets):
            if not _guards(budget, pod) or pod.metadata.name in budget.disrupted:
                continue
            left[number] -= 1
            is_violated = is_violated or left[number] < 0
        (violating if is_violated else sparing).append(pod)
    return violating, sparing


def _guards(budget: Budget, pod: objects.Pod) -> bool:
    if budget.namespace != pod.metadata.namespace or not pod.metadata.labels:
        return False
    if budget.selector is None or budget.selector == objects.LabelSelector():
        return False
    return matches_selector(budget.selector, pod.metadata.labels)


def best_nodes(candidates: dict[str, Victims], cluster: Cluster) -> set[str]:
    """Return the nodes that no criterion tells apart, after one criterion after the other."""
    left = set(candidates)
    for criterion in (_violations, _highest_priority, _sum, _count, _earliness):
        points = {name: criterion(candidates[name], cluster) for name in left}
        left = {name for name in left if points[name] == min(points.values())}
    return left


def _violations(victims: Victims, cluster: Cluster) -> int:
    del cluster
    return victims[1]


def _priorities(victims: Victims, cluster: Cluster) -> list[int]:
    return [priority(cluster.pods[uid]) for uid in victims[0]]


def _highest_priority(victims: Victims, cluster: Cluster) -> int:
    return max(_priorities(victims, cluster))


def _sum(victims: Victims, cluster: Cluster) -> int:
    return sum(each + 2**31 for each in _priorities(victims, cluster))


def _count(victims: Victims, cluster: Cluster) -> int:
    del cluster
    return len(victims[0])


def _earliness(victims: Victims, cluster: Cluster) -> int:
    """Return less the later the first of the most important victims started."""
    highest = _highest_priority(victims, cluster)
    pods = [cluster.pods[uid] for uid in victims[0]]
    first = min(_started(p) for p in pods if priority(p) == highest)
    return -int("".join(c for c in first if c.isdigit()).ljust(14, "0"))


def most_important_first(pods: Sequence[objects.Pod]) -> list[objects.Pod]:
    """Return pods by priority, those that started earlier first."""
    return sorted(pods, key=lambda p: (-priority(p), _started(p)))


def _started(pod: objects.Pod) -> str:
    return pod.status.start_time or _LATER_THAN_ALL


def priority(pod: objects.Pod) -> int:
    """Return `spec.priority`, 0 when unset."""
    return pod.spec.priority or 0


def without_pods(cluster: Cluster, pods: Sequence[objects.Pod]) -> Cluster:
    """Return the cluster without some of its pods."""
    gone = {pod.metadata.uid for pod in pods}
    left = {uid: pod for uid, pod in cluster.pods.items() if uid not in gone}
    return dataclasses.replace(cluster, pods=left)


def with_pods(cluster: Cluster, pods: Sequence[objects.Pod], node: objects.Node) -> Cluster:
    """Return the cluster with more pods, on one node."""
    added = {}
    for pod in pods:
        spec = msgspec.structs.replace(pod.spec, node_name=node.name)
        added[pod.metadata.uid] = msgspec.structs.replace(pod, spec=spec)
    return dataclasses.replace(cluster, pods={**cluster.pods, **added})
