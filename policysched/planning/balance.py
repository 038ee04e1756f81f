"""Measures the balance of a cluster by the requests of its pods."""

from __future__ import annotations

import dataclasses

import numpy as np

from policysched.cluster import cache as caches
from policysched.cluster.columns import columns

RESOURCES = ("cpu", "memory")


@dataclasses.dataclass(frozen=True, slots=True)
class RequestedShareSpread:
    """The distribution of one resource's requested share over the nodes.

    Attributes:
        mean: the mean share; 1 means that all allocatable resources are requested.
        variation: the coefficient of variation: standard deviation over mean; 0 if all shares are
            equal.
        spread: the highest share minus the lowest share.
    """

    mean: float
    variation: float
    spread: float


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterBalance:
    """The balance of a cluster, by which a sweep compares its points.

    Attributes:
        by_resource: the distributions of `cpu` and `memory`.
        hot_nodes: the number of nodes that are hot; see `measure_balance`.
    """

    by_resource: dict[str, RequestedShareSpread]
    hot_nodes: int


def measure_balance(cache: caches.Cache, hot: float) -> ClusterBalance:
    """Return the balance over all nodes that have the resource.

    A node is hot if the requested share of a resource is at least `hot`, for example 0.8.
    """
    nodes = cache.nodes
    is_hot = np.zeros(nodes.size, np.bool_)
    found = {}
    for resource in RESOURCES:
        shares, has = _compute_requested_shares(nodes, resource)
        is_hot |= has & (shares >= hot)
        found[resource] = _measure_spread(shares[has])
    return ClusterBalance(found, int(is_hot.sum()))


def _compute_requested_shares(
    nodes: columns.NodeColumns, resource: str
) -> tuple[columns.FloatArray, columns.BoolArray]:
    """Return the requested shares, float64 (N,), and which nodes have the resource, bool (N,)."""
    column = list(nodes.resources.values).index(resource)
    requested = nodes.requested[: nodes.size, column].astype(np.float64)
    allocatable = nodes.allocatable[: nodes.size, column]
    has = nodes.is_alive[: nodes.size] & (allocatable > 0)
    shares = np.divide(requested, allocatable, out=np.zeros(nodes.size), where=has)
    return shares, has


def _measure_spread(shares: columns.FloatArray) -> RequestedShareSpread:
    mean = float(shares.mean()) if len(shares) else 0.0
    if mean == 0.0:
        return RequestedShareSpread(0.0, 0.0, 0.0)
    return RequestedShareSpread(
        mean, float(shares.std()) / mean, float(shares.max() - shares.min())
    )
