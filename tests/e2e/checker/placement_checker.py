"""Judges placements by what the API server says, and by nothing else.

    cluster = cluster_state.Cluster.read(plane.client)
    assert placement_checker.violations(cluster, shipped_policies.TWINS) == []

It shares no code with policysched. It looks at the final state, in which every rule that held when
each pod was placed must still hold, provided that no pod or node went, lost labels or got taints
since, and that all pods that a spread constraint or an affinity term counts carry it themselves or
were there before.
"""

from __future__ import annotations

import collections
import fractions
from typing import TYPE_CHECKING, Any

from tests.e2e.checker import cluster_state, demands, matching, pod_requests, topology

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

_REPELLING = ("NoSchedule", "NoExecute")
_ANY_ADDRESS = ("", "0.0.0.0")  # noqa: S104 - the wildcard of host ports, nothing listens here
_CORDONED = {"key": "node.kubernetes.io/unschedulable", "value": "", "effect": "NoSchedule"}
_NO_POLICIES: Sequence[demands.PolicyTwin] = ()


def violations(
    cluster: cluster_state.Cluster,
    policies: Sequence[demands.PolicyTwin] = _NO_POLICIES,
    *,
    may_pend: Collection[str] = (),
) -> list[str]:
    """Return one readable line for each rule that is broken.

    Args:
        cluster: the final state.
        policies: what the policies that the scheduler ran with mean.
        may_pend: keys (`namespace/name`) of pods that need no node.
    """
    placed = _all_placed(cluster, policies)
    return [
        *_unplaced(cluster, may_pend),
        *(line for pods in _by_node(placed).values() for line in _node_violations(pods)),
        *_topology_violations(cluster, placed),
    ]


def place_for(
    cluster: cluster_state.Cluster,
    pod: Mapping[str, Any],
    policies: Sequence[demands.PolicyTwin] = _NO_POLICIES,
) -> str | None:
    """Return a node that a pending pod could be bound to without breaking a rule, if there is one.

    The cluster itself must be without violations.
    """
    placed = _all_placed(cluster, policies)
    on_node = _by_node(placed)
    for name, node in cluster.nodes.items():
        trial = {**pod, "spec": {**pod["spec"], "nodeName": name}}
        one = cluster_state.Placed(trial, node, demands.demands_of(pod, policies))
        if any(_node_violations([*on_node.get(name, ()), one])):
            continue
        if not any(_topology_violations(cluster, [*placed, one])):
            return name
    return None


def _all_placed(
    cluster: cluster_state.Cluster, policies: Sequence[demands.PolicyTwin]
) -> list[cluster_state.Placed]:
    return [
        cluster_state.Placed(pod, node, demands.demands_of(pod, policies))
        for pod in cluster.pods
        if (node := cluster.nodes.get(cluster_state.node_name(pod))) is not None
    ]


def _by_node(
    placed: Sequence[cluster_state.Placed],
) -> Mapping[str, list[cluster_state.Placed]]:
    on_node = collections.defaultdict(list)
    for one in placed:
        on_node[cluster_state.node_name(one.pod)].append(one)
    return on_node


def _node_violations(placed: Sequence[cluster_state.Placed]) -> Iterator[str]:
    """Say what is wrong with the pods of one node, whatever lies on others."""
    for one in placed:
        yield from _own_violations(one)
    yield from _capacity_violations(placed[0].node, placed)
    yield from _port_violations(placed)


def _topology_violations(
    cluster: cluster_state.Cluster, placed: Sequence[cluster_state.Placed]
) -> Iterator[str]:
    yield from topology.anti_affinity_violations(placed, cluster.namespaces)
    yield from topology.affinity_violations(placed, cluster.namespaces)
    yield from topology.spread_violations(placed, cluster.nodes.values())


def _unplaced(cluster: cluster_state.Cluster, may_pend: Collection[str]) -> Iterator[str]:
    for pod in cluster.pods:
        name = cluster_state.node_name(pod)
        if name and name not in cluster.nodes:
            yield f"{cluster_state.key(pod)} is bound to {name}, which does not exist"
        if name and pod["spec"].get("schedulingGates"):
            yield f"{cluster_state.key(pod)} is bound in spite of its scheduling gates"
        if not name and cluster_state.key(pod) not in may_pend:
            yield f"{cluster_state.key(pod)} is not bound"


# --- the pod and its node -------------------------------------------------------------------------


def _own_violations(placed: cluster_state.Placed) -> Iterator[str]:
    yield from _label_violations(placed)
    yield from _taint_violations(placed)
    for one in placed.demands:
        if one.rejects is not None and one.rejects(placed.pod, placed.node):
            yield f"{placed}: {one.source} rejects this node"


def _label_violations(placed: cluster_state.Placed) -> Iterator[str]:
    labels = placed.node["metadata"].get("labels") or {}
    wanted: Mapping[str, str] = placed.pod["spec"].get("nodeSelector") or {}
    for name, value in wanted.items():
        if labels.get(name) != value:
            yield f"{placed}: nodeSelector wants {name}={value}, the node has {labels.get(name)}"
    for one in placed.demands:
        for selector in one.node_selectors:
            if not matching.node_selector_holds(selector, placed.node):
                yield f"{placed}: required node affinity of {one.source} does not hold"


def _taint_violations(placed: cluster_state.Placed) -> Iterator[str]:
    tolerations = placed.tolerations
    for taint in placed.node["spec"].get("taints") or []:
        if taint["effect"] in _REPELLING and not matching.is_tolerated(taint, tolerations):
            text = f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
            yield f"{placed}: taint {text} is not tolerated"
    if placed.node["spec"].get("unschedulable") and not matching.is_tolerated(
        _CORDONED, tolerations
    ):
        yield f"{placed}: the node is unschedulable"


# --- the pods of a node ---------------------------------------------------------------------------


def _capacity_violations(
    node: Mapping[str, Any], placed: Sequence[cluster_state.Placed]
) -> Iterator[str]:
    name = node["metadata"]["name"]
    room = pod_requests.allocatable(node)
    taken: collections.defaultdict[str, fractions.Fraction]
    taken = collections.defaultdict(fractions.Fraction, pods=fractions.Fraction(len(placed)))
    for one in placed:
        for resource, amount in pod_requests.requests(one.pod).items():
            taken[resource] += amount
    for resource, amount in taken.items():
        has = room.get(resource, fractions.Fraction())
        if amount > has:
            yield f"{name}: {resource}: pods take {float(amount):g} of {float(has):g}"


def _port_violations(placed: Sequence[cluster_state.Placed]) -> Iterator[str]:
    taken: list[tuple[tuple[str, int, str], cluster_state.Placed]] = []
    for one in placed:
        for port in _host_ports(one.pod):
            for other_port, other in taken:
                if other is not one and _ports_clash(port, other_port):
                    yield f"{one}: host port {port[1]}/{port[0]} is taken by {other.name}"
            taken.append((port, one))


def _host_ports(pod: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    spec = pod["spec"]
    sidecars = [c for c in spec.get("initContainers") or [] if c.get("restartPolicy") == "Always"]
    for container in (*sidecars, *spec["containers"]):
        for port in container.get("ports") or []:
            if port.get("hostPort"):
                protocol, address = port.get("protocol") or "TCP", port.get("hostIP") or ""
                yield protocol, port["hostPort"], address


def _ports_clash(one: tuple[str, int, str], other: tuple[str, int, str]) -> bool:
    if one[:2] != other[:2]:
        return False
    return one[2] == other[2] or one[2] in _ANY_ADDRESS or other[2] in _ANY_ADDRESS
