"""Format names, labels, pods and counts for texts about a rejected node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from policysched import spelling
from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.counters import pod_counts
from policysched.cluster.objects import objects, selectors
from policysched.cluster.pods import pod_shape

_MOST_NAMES = 3


def get_only_node(nodes: snapshot.NodeView) -> objects.Node:
    """Return the only node of a view.

    Raises:
        LookupError: the row is dead.
    """
    (node,) = nodes.objects()
    if node is None:
        raise LookupError(nodes.rows)
    return node


def join_names_briefly(names: Sequence[str]) -> str:
    """Join names with commas; of more than three, list three and count the rest."""
    return spelling.join_some_names(names, _MOST_NAMES)


def format_node_label(node: objects.Node, key: str) -> str:
    """Return `KEY=VALUE`, or `no label KEY` if the node does not have the label."""
    value = node.metadata.labels.get(key)
    return f"no label {key}" if value is None else f"{key}={value}"


def list_unmet_requirements(node: objects.Node, selector: selectors.Selector) -> list[str]:
    """Return the requirements that a node does not meet, each with the label of the node."""
    if selector.matches_nothing:
        return ["the selector matches no node"]
    labels = node.metadata.labels
    return [
        f"{format_node_label(node, each.key)}, wanted {each}"
        for each in selector.requirements
        if not each.matches_value(labels.get(each.key))
    ]


def list_pods_on_rows(
    snap: snapshot.Snapshot, rows: Iterable[int], is_meant: Callable[[pod_shape.PodInfo], bool]
) -> list[str]:
    """List the placed pods that `is_meant` accepts as `NAMESPACE/NAME on NODE`, ordered by row."""
    names = snap.nodes.names
    return [
        f"{info.key} on {names[row]}"
        for row in rows
        for info in snap.placed.get_pods(row)
        if is_meant(info)
    ]


def list_counted_pods_in_domain(
    snap: snapshot.Snapshot, query: pod_counts.PodQuery, key: str, row: int
) -> list[str]:
    """List the pods that `query` selects on nodes with the same label value as the row."""
    counts = snap.counts.get_column(query).get_counts(snap.size)
    namespaces = snap.counts.namespaces
    rows = find_rows_in_domain(snap, key, row, counts)
    return list_pods_on_rows(snap, rows, lambda info: query.matches(info.shape, namespaces))


def find_rows_in_domain(
    snap: snapshot.Snapshot, key: str, row: int, counts: columns.IntArray
) -> list[int]:
    """Return the rows with a count above 0 and the same label value as `row`.

    `counts` is int64 (N,).
    """
    ids = snap.nodes.get_label_column(key).ids[: snap.size]
    found: list[int] = np.flatnonzero((ids == ids[row]) & (ids >= 0) & (counts > 0)).tolist()
    return found


def format_skew_counts(
    node: objects.Node, key: str, *, here: int, own: int, skew: int, max_skew: int
) -> str:
    """Format the counts that make a domain exceed maxSkew; `skew` excludes the pod itself."""
    with_own = f", {here + own:,} with this one" if own else ""
    pods = "matching pod" if here == 1 else "matching pods"
    return (
        f"{format_node_label(node, key)} has {here:,} {pods}{with_own}; "
        f"the domain with the fewest has {here - skew:,}; maxSkew {max_skew:,}"
    )
