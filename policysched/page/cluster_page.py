"""The cluster map: names, labels and amounts of all nodes, column by column.

A column is an array of one entry for each node, in the order of `names`, so that 25,000 nodes are a
few arrays and not 25,000 objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.page import page_source

_MAX_LABEL_VALUES = 200
"""A label with more values, such as the host name, makes no groups that a person can read."""
_MAX_LABELS = 60
READY, CORDONED, NOT_READY = 0, 1, 2


def list_rows(snap: snapshot.Snapshot) -> npt.NDArray[np.intp]:
    """Return the rows of the nodes in the order of their names, intp (n,)."""
    names = snap.nodes.names
    return np.array(
        sorted(np.flatnonzero(snap.is_alive).tolist(), key=names.__getitem__), dtype=np.intp
    )


def make_cluster_page(view: page_source.ClusterView, since: int) -> dict[str, Any]:
    """Return the nodes; only the generation if the client has already seen it (`since`)."""
    if since == view.generation:
        return {"generation": view.generation}
    snap = view.decider.cluster.cache.snapshot()
    rows = list_rows(snap)
    nodes = [snap.nodes.nodes[row] for row in rows.tolist()]
    return {
        "generation": view.generation,
        "names": [snap.nodes.names[row] for row in rows.tolist()],
        "state": [_find_node_state(node) for node in nodes if node is not None],
        "pods": {
            "used": snap.nodes.pod_count[rows].tolist(),
            "of": snap.nodes.allowed_pods[rows].tolist(),
        },
        "resources": _list_resources(snap, rows),
        "labels": _list_labels([node.metadata.labels for node in nodes if node is not None]),
        "metrics": _list_metrics(view, snap, rows),
    }


def _find_node_state(node: objects.Node) -> int:
    if any(each.type == "Ready" and each.status != "True" for each in node.status.conditions):
        return NOT_READY
    return CORDONED if node.spec.unschedulable else READY


def _list_resources(
    snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]
) -> dict[str, dict[str, list[int]]]:
    """Return requested and allocatable amounts of each resource that some node has."""
    nodes = snap.nodes
    found = {}
    for index, name in enumerate(nodes.resources.values):
        allocatable = nodes.allocatable[rows, index]
        if name and allocatable.any():
            found[name] = {
                "used": nodes.requested[rows, index].tolist(),
                "of": allocatable.tolist(),
            }
    return found


def _list_labels(labels: list[dict[str, str]]) -> dict[str, dict[str, list[Any]]]:
    """Return the labels by which nodes can be grouped: those with at most 200 values."""
    values: dict[str, dict[str, int]] = {}
    for each in labels:
        for key, value in each.items():
            numbers = values.setdefault(key, {})
            if len(numbers) <= _MAX_LABEL_VALUES:
                numbers.setdefault(value, len(numbers))
    kept = sorted(key for key, numbers in values.items() if len(numbers) <= _MAX_LABEL_VALUES)
    return {
        key: {
            "values": list(values[key]),
            "of": [-1 if key not in each else values[key][each[key]] for each in labels],
        }
        for key in kept[:_MAX_LABELS]
    }


def _list_metrics(
    view: page_source.ClusterView, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]
) -> dict[str, list[float | None]]:
    """Return the newest sample of each metric that the policies declare; None for a missing one."""
    found = {}
    for metric in view.decider.policy_set.node_metrics:
        samples = snap.metrics.get_newest_samples(metric.key)
        if samples:
            names = (snap.nodes.names[row] for row in rows.tolist())
            found[metric.name] = [
                samples[name].value if name in samples else None for name in names
            ]
    return found
