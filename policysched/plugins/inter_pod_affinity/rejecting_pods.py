"""Format the pods that cause required pod affinity to reject a node."""

from __future__ import annotations

from policysched.cluster import snapshot
from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.plugins.shared import node_rejection_texts


def format_repelled_pods(shape: pod_shape.PodShape, snap: snapshot.Snapshot, row: int) -> str:
    """Format the pods in the node's domains that match the pod's anti-affinity."""
    texts = []
    for term in shape.anti_affinity_terms:
        query = pod_counts.PodsMatchingAllTerms((term,))
        pods = node_rejection_texts.list_counted_pods_in_domain(snap, query, term.topology_key, row)
        if pods:
            texts.append(
                f"{node_rejection_texts.join_names_briefly(pods)} (topologyKey {term.topology_key})"
            )
    return "; ".join(texts)


def format_repelling_pods(shape: pod_shape.PodShape, snap: snapshot.Snapshot, row: int) -> str:
    """Format the pods in the node's domains whose anti-affinity matches the pod."""
    texts = []
    for owned, column in snap.counts.find_terms_matching_incoming_pod(
        pod_counts.TermKind.REQUIRED_ANTI_AFFINITY, shape
    ):
        term = owned.term
        rows = node_rejection_texts.find_rows_in_domain(
            snap, term.topology_key, row, column.get_counts(snap.size)
        )

        def carries(info: pod_shape.PodInfo, term: pod_shape.AffinityTerm = term) -> bool:
            return term in info.shape.anti_affinity_terms

        pods = node_rejection_texts.list_pods_on_rows(snap, rows, carries)
        if pods:
            texts.append(
                f"{node_rejection_texts.join_names_briefly(pods)} (topologyKey {term.topology_key})"
            )
    return "; ".join(texts)


def format_unmatched_domains(shape: pod_shape.PodShape, snap: snapshot.Snapshot, row: int) -> str:
    """Format the domains of the node in which no pod matches all required terms."""
    query = pod_counts.PodsMatchingAllTerms(shape.affinity_terms)
    node = snap.nodes.nodes[row]
    texts = []
    for term in shape.affinity_terms:
        key = term.topology_key
        if node is not None and not node_rejection_texts.list_counted_pods_in_domain(
            snap, query, key, row
        ):
            place = node_rejection_texts.format_node_label(node, key)
            lacks = key not in node.metadata.labels
            texts.append(place if lacks else f"no matching pod where {place}")
    return "; ".join(dict.fromkeys(texts))
