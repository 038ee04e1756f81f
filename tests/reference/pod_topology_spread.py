"""PodTopologySpread: count the pods of every domain, node by node."""

from __future__ import annotations

import math

import msgspec

from policysched.cluster.objects import objects
from tests.reference.cluster import Cluster, Labels, matches_selector
from tests.reference.single_node import (
    NEVER,
    NOT_NOW,
    Answer,
    matches_node_affinity,
    repelled,
)

Constraint = objects.TopologySpreadConstraint
REASON = "node(s) didn't match pod topology spread constraints"
HOSTNAME = "kubernetes.io/hostname"
SYSTEM_DEFAULTS = [
    Constraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway"),
    Constraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable="ScheduleAnyway"
    ),
]


def constraints_of(
    pod: objects.Pod, action: str, cluster: Cluster, defaults: list[Constraint]
) -> list[Constraint]:
    """Return the pod's constraints with complete selectors, or the defaults with its owners'."""
    own = pod.spec.topology_spread_constraints
    if own:
        return [_with_keys(c, pod) for c in own if c.when_unsatisfiable == action]
    selector = _owner_selector(pod, cluster)
    if not selector.match_labels and not selector.match_expressions:
        return []
    wanted = [c for c in defaults if c.when_unsatisfiable == action]
    return [msgspec.structs.replace(c, label_selector=selector) for c in wanted]


def _with_keys(constraint: Constraint, pod: objects.Pod) -> Constraint:
    selector = constraint.label_selector
    if selector is None:
        return constraint
    labels = pod.metadata.labels
    added = tuple(
        objects.SelectorRequirement(k, "In", (labels[k],))
        for k in constraint.match_label_keys
        if k in labels
    )
    changed = msgspec.structs.replace(
        selector, match_expressions=selector.match_expressions + added
    )
    return msgspec.structs.replace(constraint, label_selector=changed)


def _owner_selector(pod: objects.Pod, cluster: Cluster) -> objects.LabelSelector:
    namespace, labels = pod.metadata.namespace, pod.metadata.labels
    pairs: dict[str, str] = {}
    for of_namespace, selector in cluster.services:
        if of_namespace == namespace and all(labels.get(k) == v for k, v in selector.items()):
            pairs.update(selector)
    expressions = []
    for owner in pod.metadata.owner_references:
        found = cluster.replica_sets.get((namespace, owner.name))
        if owner.controller and owner.kind == "ReplicaSet" and found is not None:
            expressions = [
                objects.SelectorRequirement(k, "In", (v,)) for k, v in found.match_labels.items()
            ]
            expressions += found.match_expressions
    return objects.LabelSelector(match_labels=pairs, match_expressions=tuple(expressions))


def matching_pods(pods: list[objects.Pod], constraint: Constraint, pod: objects.Pod) -> int:
    """Return how many of `pods` a constraint of `pod` counts."""
    selector = constraint.label_selector
    if selector is None or selector == objects.LabelSelector():
        return 0
    return len(
        [
            p
            for p in pods
            if p.metadata.namespace == pod.metadata.namespace
            and p.metadata.deletion_timestamp is None
            and matches_selector(selector, p.metadata.labels)
        ]
    )


def is_included(constraint: Constraint, pod: objects.Pod, node: objects.Node) -> bool:
    """Return whether the node inclusion policies count the node."""
    if constraint.node_affinity_policy != "Ignore" and not matches_node_affinity(pod, node):
        return False
    return not (constraint.node_taints_policy == "Honor" and repelled(pod, node))


def has_keys(labels: Labels, constraints: list[Constraint]) -> bool:
    """Return whether all topology keys are there."""
    return all(c.topology_key in labels for c in constraints)


def pod_topology_spread(
    pod: objects.Pod, node: objects.Node, cluster: Cluster, defaults: list[Constraint]
) -> Answer:
    """PodTopologySpread's Filter."""
    constraints = constraints_of(pod, "DoNotSchedule", cluster, defaults)
    for constraint in constraints:
        domains: dict[str, int] = {}
        for other in cluster.nodes.values():
            labels = other.metadata.labels
            if has_keys(labels, constraints) and is_included(constraint, pod, other):
                count = matching_pods(cluster.pods_on(other), constraint, pod)
                value = labels[constraint.topology_key]
                domains[value] = domains.get(value, 0) + count
        domain = node.metadata.labels.get(constraint.topology_key)
        if domain is None:
            return NEVER, (f"{REASON} (missing required label)",)
        minimum = min(domains.values(), default=0)
        if len(domains) < (constraint.min_domains or 1):
            minimum = 0
        own = matches_selector(constraint.label_selector, pod.metadata.labels)
        if domains.get(domain, 0) + own - minimum > constraint.max_skew:
            return NOT_NOW, (REASON,)
    return None


def scores(
    pod: objects.Pod,
    feasible: list[objects.Node],
    cluster: Cluster,
    defaults: list[Constraint],
    *,
    defaults_are_system: bool,
) -> list[int] | None:
    """Return the final scores of the feasible nodes, None for a pod without soft constraints."""
    constraints = constraints_of(pod, "ScheduleAnyway", cluster, defaults)
    if not constraints:
        return None
    needs_all = bool(pod.spec.topology_spread_constraints) or not defaults_are_system
    scored = [n for n in feasible if not needs_all or has_keys(n.metadata.labels, constraints)]
    raw = {
        n.name: _raw_score(pod, n, scored, cluster, constraints, needs_all=needs_all)
        for n in scored
    }
    largest, smallest = max(raw.values(), default=0), min(raw.values(), default=0)
    final = []
    for node in feasible:
        if node.name not in raw:
            final.append(0)
        elif largest == 0:
            final.append(100)
        else:
            final.append(100 * (largest + smallest - raw[node.name]) // largest)
    return final


def _raw_score(
    pod: objects.Pod,
    node: objects.Node,
    scored: list[objects.Node],
    cluster: Cluster,
    constraints: list[Constraint],
    *,
    needs_all: bool,
) -> int:
    total = 0.0
    for constraint in constraints:
        key = constraint.topology_key
        domain = node.metadata.labels.get(key)
        if domain is None:
            continue
        if key == HOSTNAME:
            size = len(scored)
            count = matching_pods(cluster.pods_on(node), constraint, pod)
        else:
            size = len({n.metadata.labels.get(key, "") for n in scored})
            count = 0
            for other in cluster.nodes.values():
                labels = other.metadata.labels
                if needs_all and not has_keys(labels, constraints):
                    continue
                if labels.get(key, "") == domain and is_included(constraint, pod, other):
                    count += matching_pods(cluster.pods_on(other), constraint, pod)
        total += count * math.log(size + 2) + (constraint.max_skew - 1)
    return math.floor(total + 0.5)
