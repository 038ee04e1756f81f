"""InterPodAffinity: every pod against every pod."""

from __future__ import annotations

from policysched.cluster.objects import objects
from tests.reference.cluster import Cluster, matches_selector
from tests.reference.single_node import NEVER, NOT_NOW, Answer

Term = objects.PodAffinityTerm


def required(pod: objects.Pod) -> tuple[Term, ...]:
    """Return the required affinity terms."""
    affinity = pod.spec.affinity and pod.spec.affinity.pod_affinity
    return affinity.required_during_scheduling_ignored_during_execution if affinity else ()


def required_anti(pod: objects.Pod) -> tuple[Term, ...]:
    """Return the required anti-affinity terms."""
    affinity = pod.spec.affinity and pod.spec.affinity.pod_anti_affinity
    return affinity.required_during_scheduling_ignored_during_execution if affinity else ()


def preferred(pod: objects.Pod) -> list[tuple[Term, int]]:
    """Return the preferred terms, anti-affinity with negative weights."""
    spec = pod.spec.affinity or objects.Affinity()
    empty = objects.PodAffinity()
    near = (spec.pod_affinity or empty).preferred_during_scheduling_ignored_during_execution
    away = (spec.pod_anti_affinity or empty).preferred_during_scheduling_ignored_during_execution
    return [(w.pod_affinity_term, w.weight) for w in near] + [
        (w.pod_affinity_term, -w.weight) for w in away
    ]


def term_matches(
    term: Term, owner: objects.Pod, other: objects.Pod, cluster: Cluster, *, owner_is_placed: bool
) -> bool:
    """Return whether `other` is one of the pods that a term of `owner` means.

    A namespace that is not known counts as one without labels for terms of placed pods. Terms of
    the incoming pod ask the selector a second time, about a namespace without labels.
    """
    namespace = other.metadata.namespace
    names = set(term.namespaces)
    if not names and term.namespace_selector is None:
        names = {owner.metadata.namespace}
    in_namespace = namespace in names
    if not in_namespace and term.namespace_selector is not None:
        labels = cluster.namespaces.get(namespace)
        asked = [labels or {}] if owner_is_placed else [{}, *([labels] if labels else [])]
        in_namespace = any(matches_selector(term.namespace_selector, each) for each in asked)
    return in_namespace and matches_selector(term.label_selector, other.metadata.labels)


def _matches_all(pod: objects.Pod, other: objects.Pod, cluster: Cluster) -> bool:
    return all(term_matches(t, pod, other, cluster, owner_is_placed=False) for t in required(pod))


def _same_domain(one: objects.Node, other: objects.Node, key: str) -> bool:
    value = one.metadata.labels.get(key)
    return value is not None and value == other.metadata.labels.get(key)


def inter_pod_affinity(pod: objects.Pod, node: objects.Node, cluster: Cluster) -> Answer:
    """InterPodAffinity's Filter."""
    labels = node.metadata.labels
    placed = list(cluster.placed())
    matching = [(p, n) for p, n in placed if _matches_all(pod, p, cluster)]
    terms = required(pod)
    has_labels = all(t.topology_key in labels for t in terms)
    near = all(any(_same_domain(node, n, t.topology_key) for _, n in matching) for t in terms)
    nobody = not any(t.topology_key in n.metadata.labels for _, n in matching for t in terms)
    is_first = nobody and _matches_all(pod, pod, cluster)
    if terms and not (has_labels and (near or is_first)):
        return NEVER, ("node(s) didn't match pod affinity rules",)
    for term in required_anti(pod):
        for other, other_node in placed:
            if term_matches(term, pod, other, cluster, owner_is_placed=False) and _same_domain(
                node, other_node, term.topology_key
            ):
                return NOT_NOW, ("node(s) didn't match pod anti-affinity rules",)
    for other, other_node in placed:
        for term in required_anti(other):
            if term_matches(term, other, pod, cluster, owner_is_placed=True) and _same_domain(
                node, other_node, term.topology_key
            ):
                return NOT_NOW, ("node(s) didn't satisfy existing pods anti-affinity rules",)
    return None


def contributions(
    pod: objects.Pod, cluster: Cluster, hard_weight: int
) -> list[tuple[str, str, int]]:
    """Return (topology key, domain, weight) of every pair of a pod and a term that matches it."""
    found = []
    for other, node in cluster.placed():
        pairs = [
            (term, weight)
            for term, weight in preferred(pod)
            if term_matches(term, pod, other, cluster, owner_is_placed=False)
        ]
        acting = preferred(other)
        if hard_weight:
            acting = acting + [(term, hard_weight) for term in required(other)]
        pairs += [
            (term, weight)
            for term, weight in acting
            if term_matches(term, other, pod, cluster, owner_is_placed=True)
        ]
        for term, weight in pairs:
            domain = node.metadata.labels.get(term.topology_key)
            if domain is not None:
                found.append((term.topology_key, domain, weight))
    return found


def scores(
    pod: objects.Pod,
    nodes: list[objects.Node],
    cluster: Cluster,
    *,
    hard_weight: int = 1,
    ignore_preferred_terms: bool = False,
) -> list[int] | None:
    """Return the final scores of the feasible nodes, None when nothing concerns the pod."""
    if ignore_preferred_terms and not preferred(pod):
        return None
    found = contributions(pod, cluster, hard_weight)
    if not found:
        return None
    sums = [
        sum(w for key, domain, w in found if n.metadata.labels.get(key) == domain) for n in nodes
    ]
    span = max(sums) - min(sums)
    return [int(100.0 * ((s - min(sums)) / span)) if span else 0 for s in sums]
