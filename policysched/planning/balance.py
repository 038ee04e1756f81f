"""How evenly a cluster is used: by what pods request, as the scheduler counts it."""

from __future__ import annotations

import dataclasses

import numpy as np

from policysched.cluster import cache as caches
from policysched.cluster.columns import columns

RESOURCES = ("cpu", "memory")


@dataclasses.dataclass(frozen=True, slots=True)
class RequestedShareSpread:
    """How the shares that are requested of one resource differ between nodes.

    Attributes:
        mean: of the shares, 1 for all that nodes have.
        variation: the coefficient of variation: standard deviation over mean, 0 if all is even.
        spread: the highest share less the lowest one.
    """

    mean: float
    variation: float
    spread: float


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterBalance:
    """What a cluster looks like.

    Attributes:
        by_resource: of cpu and memory.
        hot_nodes: how many nodes have one of them requested up to the limit or beyond.
    """

    by_resource: dict[str, RequestedShareSpread]
    hot_nodes: int


def measure_balance(cache: caches.Cache, hot: float) -> ClusterBalance:
    """Return the balance over all nodes that have the resource; `hot` is a share, such as 0.8."""
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
    """Return float64 (N,) shares requested, and bool (N,) where there is anything to request."""
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
