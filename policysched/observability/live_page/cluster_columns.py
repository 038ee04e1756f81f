"""Columns about all nodes: names, labels and amounts, for a map of the cluster.

A column is an array of one entry for each node, in the order of `names`, so that 25,000 nodes are a
few arrays and not 25,000 objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.lang.checked import checked
from policysched.observability.live_page import node_samples

_MAX_LABEL_VALUES = 200
"""A label with more values, such as the host name, makes no groups that a person can read."""
_MAX_LABELS = 60
READY, CORDONED, NOT_READY = 0, 1, 2
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
"""Taint of a cordoned node: k8s.io/api/core/v1/well_known_taints.go."""
_REPELLING = frozenset({"NoSchedule", "NoExecute"})

Rows: TypeAlias = npt.NDArray[np.intp]


def list_rows(snap: snapshot.Snapshot) -> Rows:
    """Return the rows of the nodes in the order of their names, intp (n,)."""
    names = snap.nodes.names
    return np.array(
        sorted(np.flatnonzero(snap.is_alive).tolist(), key=names.__getitem__), dtype=np.intp
    )


def list_nodes(snap: snapshot.Snapshot, rows: Rows) -> list[objects.Node]:
    """Return the nodes at `rows`."""
    nodes = (snap.nodes.nodes[row] for row in rows.tolist())
    return [node for node in nodes if node is not None]


def make_node_columns(nodes: Sequence[objects.Node]) -> dict[str, Any]:
    """Return the columns that change only with the nodes: names, state, taints, labels."""
    return {
        "names": [node.metadata.name for node in nodes],
        "state": [_find_node_state(node) for node in nodes],
        "taints": list_taints([node.spec.taints for node in nodes]),
        "labels": list_labels([node.metadata.labels for node in nodes]),
    }


def make_usage_columns(
    snap: snapshot.Snapshot, rows: Rows, metrics: Iterable[checked.CheckedMetric]
) -> dict[str, Any]:
    """Return the columns that change with pods and samples."""
    return {
        "pods": {
            "used": snap.nodes.pod_count[rows].tolist(),
            "of": snap.nodes.allowed_pods[rows].tolist(),
        },
        "resources": _list_resources(snap, rows),
        "metrics": _list_metrics(snap, rows, metrics),
    }


def _find_node_state(node: objects.Node) -> int:
    if any(each.type == "Ready" and each.status != "True" for each in node.status.conditions):
        return NOT_READY
    return CORDONED if node.spec.unschedulable else READY


def _list_resources(snap: snapshot.Snapshot, rows: Rows) -> dict[str, dict[str, list[int]]]:
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


def list_labels(labels: list[dict[str, str]]) -> dict[str, dict[str, list[Any]]]:
    """Return the labels by which rows can be grouped: those with at most 200 values."""
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


def list_taints(taints: Iterable[Sequence[objects.Taint]]) -> dict[str, list[Any]]:
    """Return which taints keep pods without a toleration away, as text; a cordon is none."""
    numbers: dict[str, int] = {}
    rows = [
        ", ".join(
            f"{each.key}{each.value and '='}{each.value}:{each.effect}"
            for each in of_node
            if each.effect in _REPELLING and each.key != _UNSCHEDULABLE
        )
        for of_node in taints
    ]
    of = [numbers.setdefault(text, len(numbers)) if text else -1 for text in rows]
    return {"values": list(numbers), "of": of}


def _list_metrics(
    snap: snapshot.Snapshot, rows: Rows, metrics: Iterable[checked.CheckedMetric]
) -> dict[str, list[float | None]]:
    """Return the values of each metric that has samples; None where rules see none."""
    names = [snap.nodes.names[row] for row in rows.tolist()]
    return {
        each.name: node_samples.list_valid_values(snap.metrics, each, names, snap.now)
        for each in metrics
        if snap.metrics.get_newest_samples(each.key)
    }
