"""Filters and scores that look at one node and its pods: what they say, one node at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from policysched import quantity
from policysched.cluster.objects import objects
from tests.reference import requests
from tests.reference.cluster import Cluster, matches_expressions, matches_selector

Answer = tuple[str, tuple[str, ...]] | None
"""(code, reasons), None for a node that passes."""

NEVER = "UnschedulableAndUnresolvable"
NOT_NOW = "Unschedulable"
NATIVE = ("cpu", "memory", "ephemeral-storage")

# --- taints --------------------------------------------------------------------------------------


def tolerates(pod: objects.Pod, taint: objects.Taint) -> bool:
    """Return whether the pod tolerates a taint."""
    for toleration in pod.spec.tolerations:
        effect_fits = toleration.effect in ("", taint.effect)
        key_fits = toleration.key in ("", taint.key)
        if effect_fits and key_fits and _value_fits(toleration, taint):
            return True
    return False


def _value_fits(toleration: objects.Toleration, taint: objects.Taint) -> bool:
    if toleration.operator in ("", "Equal", "Exists"):
        return toleration.operator == "Exists" or toleration.value == taint.value
    actual, wanted = _plain_number(taint.value), _plain_number(toleration.value)
    if actual is None or wanted is None:
        return False
    return (actual > wanted and toleration.operator == "Gt") or (
        actual < wanted and toleration.operator == "Lt"
    )


def _plain_number(text: str) -> int | None:
    """Return the number that is written exactly so, None for any other text."""
    try:
        number = int(text)
    except ValueError:
        return None
    return number if str(number) == text else None


def repelled(pod: objects.Pod, node: objects.Node) -> bool:
    """Return whether a taint of the node keeps the pod away."""
    hard = [t for t in node.spec.taints if t.effect in ("NoSchedule", "NoExecute")]
    return any(not tolerates(pod, t) for t in hard)


def node_unschedulable(pod: objects.Pod, node: objects.Node) -> Answer:
    """NodeUnschedulable."""
    cordon = objects.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    if node.spec.unschedulable and not tolerates(pod, cordon):
        return NEVER, ("node(s) were unschedulable",)
    return None


def taint_toleration(pod: objects.Pod, node: objects.Node) -> Answer:
    """TaintToleration."""
    return (NEVER, ("node(s) had untolerated taint(s)",)) if repelled(pod, node) else None


def taint_score(pod: objects.Pod, node: objects.Node) -> int:
    """Return the number of untolerated PreferNoSchedule taints."""
    soft = [t for t in node.spec.taints if t.effect == "PreferNoSchedule"]
    return len([t for t in soft if not tolerates(pod, t)])


# --- node affinity -------------------------------------------------------------------------------


def matches_term(term: objects.NodeSelectorTerm, node: objects.Node) -> bool:
    """Return whether a node selector term matches; an empty one matches nothing."""
    if not term.match_expressions and not term.match_fields:
        return False
    for field in term.match_fields:
        value = node.name if field.key == "metadata.name" else ""
        if len(field.values) != 1 or field.operator not in ("In", "NotIn"):
            return False
        if (field.operator == "In") != (value == field.values[0]):
            return False
    return matches_expressions(term.match_expressions, node.metadata.labels)


def matches_required(affinity: objects.NodeAffinity | None, node: objects.Node) -> bool:
    """Return whether required terms match; no requirement matches every node."""
    if affinity is None or affinity.required_during_scheduling_ignored_during_execution is None:
        return True
    terms = affinity.required_during_scheduling_ignored_during_execution.node_selector_terms
    return any(matches_term(t, node) for t in terms)


def matches_node_affinity(pod: objects.Pod, node: objects.Node) -> bool:
    """Return whether nodeSelector and required node affinity match."""
    labels = node.metadata.labels
    if any(labels.get(k) != v for k, v in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    return matches_required(affinity, node)


def node_affinity(
    pod: objects.Pod, node: objects.Node, added: objects.NodeAffinity | None
) -> Answer:
    """NodeAffinity with an added affinity."""
    if not matches_required(added, node):
        return NEVER, ("node(s) didn't match scheduler-enforced node affinity",)
    if not matches_node_affinity(pod, node):
        return NEVER, ("node(s) didn't match Pod's node affinity/selector",)
    return None


def node_affinity_score(
    pod: objects.Pod, node: objects.Node, added: objects.NodeAffinity | None
) -> int:
    """Return the weights of matching preferred terms, added."""
    own = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    total = 0
    for affinity in (added, own):
        if affinity is not None:
            for preferred in affinity.preferred_during_scheduling_ignored_during_execution:
                if matches_term(preferred.preference, node):
                    total += preferred.weight
    return total


# --- ports ---------------------------------------------------------------------------------------


def host_ports(pod: objects.Pod) -> list[tuple[str, str, int]]:
    """Return (address, protocol, port) of all host ports that are held while the pod runs."""
    sidecars = [c for c in pod.spec.init_containers if c.restart_policy == "Always"]
    return [
        (p.host_ip or "0.0.0.0", p.protocol, p.host_port)  # noqa: S104 - the API's word
        for c in (*pod.spec.containers, *sidecars)
        for p in c.ports
        if p.host_port
    ]


def node_ports(pod: objects.Pod, node: objects.Node, cluster: Cluster) -> Answer:
    """NodePorts."""
    taken = [port for other in cluster.pods_on(node) for port in host_ports(other)]
    for address, protocol, number in host_ports(pod):
        for other_address, *rest in taken:
            overlap = "0.0.0.0" in (address, other_address) or address == other_address  # noqa: S104 - the API's word
            if overlap and rest == [protocol, number]:
                return NOT_NOW, ("node(s) didn't have free ports for the requested pod ports",)
    return None


# --- resources -----------------------------------------------------------------------------------


def allocatable(node: objects.Node, resource: str) -> int:
    """Return what a node offers, in milli-CPU or whole units."""
    text = str(node.status.allocatable.get(resource, 0))
    return (
        quantity.parse_milli_units(text) if resource == "cpu" else quantity.parse_whole_units(text)
    )


def used(node: objects.Node, resource: str, cluster: Cluster) -> int:
    """Return what the pods of a node request."""
    return sum(requests.requested(p).get(resource, 0) for p in cluster.pods_on(node))


def used_nonzero(node: objects.Node, resource: str, cluster: Cluster) -> int:
    """Return the same with defaults for cpu and memory."""
    return sum(requests.placed_nonzero(p).get(resource, 0) for p in cluster.pods_on(node))


def node_resources_fit(
    pod: objects.Pod,
    node: objects.Node,
    cluster: Cluster,
    ignored: Sequence[str] = (),
    ignored_groups: Sequence[str] = (),
) -> Answer:
    """NodeResourcesFit."""
    reasons = []
    code = NOT_NOW
    if len(cluster.pods_on(node)) + 1 > allocatable(node, "pods"):
        reasons.append("Too many pods")
    wanted = requests.requested(pod)
    others = sorted(r for r in wanted if r not in NATIVE)
    for resource in (*NATIVE, *others):
        group, slash, _ = resource.partition("/")
        is_ignored = bool(slash) and (resource in ignored or group in ignored_groups)
        amount = wanted.get(resource, 0)
        if amount == 0 or is_ignored:
            continue
        total = allocatable(node, resource)
        if amount > total - used(node, resource, cluster):
            reasons.append(f"Insufficient {resource}")
            if amount > total:
                code = NEVER
    return (code, tuple(reasons)) if reasons else None


def fit_score(
    pod: objects.Pod,
    node: objects.Node,
    cluster: Cluster,
    strategy: str,
    resources: Iterable[tuple[str, int]],
    shape: Sequence[tuple[int, int]] = (),
) -> int:
    """Return the score of NodeResourcesFit; `shape` has scores of 0 to 10."""
    total = weights = 0
    wanted = requests.incoming_scored(pod)
    for resource, weight in resources:
        if resource not in NATIVE and not wanted.get(resource):
            continue
        capacity = allocatable(node, resource)
        if capacity == 0:
            continue
        placed = used_nonzero if resource in ("cpu", "memory") else used
        load = placed(node, resource, cluster) + wanted.get(resource, 0)
        if strategy == "LeastAllocated":
            points = 0 if load > capacity else (capacity - load) * 100 // capacity
        elif strategy == "MostAllocated":
            points = min(load, capacity) * 100 // capacity
        else:
            points = on_line(shape, 100 if load > capacity else load * 100 // capacity)
            if points == 0:
                continue
        total += points * weight
        weights += weight
    if weights == 0:
        return 0
    if strategy == "RequestedToCapacityRatio":
        return math.floor(total / weights + 0.5)
    return total // weights


def on_line(shape: Sequence[tuple[int, int]], utilization: int) -> int:
    """Return the points, 0 to 100, of a broken line at a utilisation."""
    corners = [(x, y * 10) for x, y in shape]
    if utilization <= corners[0][0]:
        return corners[0][1]
    for (x0, y0), (x1, y1) in itertools.pairwise(corners):
        if utilization <= x1:
            return y0 + int((y1 - y0) * (utilization - x0) / (x1 - x0))
    return corners[-1][1]


def balanced_score(
    pod: objects.Pod, node: objects.Node, cluster: Cluster, resources: Sequence[str]
) -> int:
    """Return the score of NodeResourcesBalancedAllocation."""
    wanted = requests.requested(pod)
    with_pod, without_pod = [], []
    for resource in resources:
        capacity = allocatable(node, resource)
        if capacity == 0 or (resource not in NATIVE and not wanted.get(resource)):
            continue
        load = used(node, resource, cluster)
        with_pod.append(min(1.0, (load + wanted.get(resource, 0)) / capacity))
        without_pod.append(min(1.0, load / capacity))
    return 50 + (50 + evenness(with_pod) - evenness(without_pod)) // 2


def evenness(fractions: Sequence[float]) -> int:
    """Return 100 for equal fractions, less the more they deviate."""
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        total = 0.0
        for fraction in fractions:
            total += fraction
        mean = total / len(fractions)
        squares = 0.0
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        deviation = math.sqrt(squares / len(fractions))
    return int((1 - deviation) * 100)


# --- images --------------------------------------------------------------------------------------


def image_score(
    pod: objects.Pod, node: objects.Node, cluster: Cluster, sizes: dict[str, int]
) -> int:
    """Return the score of ImageLocality; `sizes` are the bytes of each image name."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    names = [c.image for c in containers]
    names += [v.image.reference for v in pod.spec.volumes if v.image is not None]
    total = 0
    for name in names:
        full = name if ":" in name.rpartition("/")[2] else f"{name}:latest"
        holders = [n for n in cluster.nodes.values() if full in image_names(n)]
        if node in holders:
            total += int(float(sizes[full]) * (len(holders) / len(cluster.nodes)))
    smallest, largest = 23 * 1024 * 1024, 1000 * 1024 * 1024 * len(containers)
    clipped = smallest if total < smallest else min(total, largest)
    return 100 * (clipped - smallest) // (largest - smallest)


def image_names(node: objects.Node) -> set[str]:
    """Return all image names that a node reports."""
    return {name for image in node.status.images for name in image.names}


# --- selectors of pods ---------------------------------------------------------------------------


def selects(selector: objects.LabelSelector | None, pod: objects.Pod) -> bool:
    """Return whether a selector selects a pod."""
    return matches_selector(selector, pod.metadata.labels)
