"""Compute the raw scores of soft topology spread constraints, for Score.

Source: `plugins/podtopologyspread/scoring.go`.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.plugins.kernels import spreading
from policysched.plugins.pod_topology_spread import domain_sums, spread_constraints


@dataclasses.dataclass(frozen=True, slots=True)
class SpreadScoreState:
    """The state that PreScore passes to Score and NormalizeScore.

    Attributes:
        weights: weight of each constraint.
        is_ignored: bool (f,), feasible nodes that lack a topology key; None if there are none.
    """

    spreads: list[domain_sums.SpreadConstraintDomains]
    weights: list[float]
    is_ignored: columns.NodeMask | None


def count_feasible_domains(
    spread: domain_sums.SpreadConstraintDomains,
    nodes: snapshot.NodeView,
    is_ignored: columns.NodeMask | None,
) -> int:
    """Return the number of domains among the feasible nodes that are not ignored.

    For the hostname key, every node is its own domain, regardless of its label. Nodes without the
    label form one domain together; they are ignored unless the constraints are system defaults.
    """
    if spread.constraint.topology_key == spread_constraints.HOSTNAME:
        return len(nodes) - (0 if is_ignored is None else int(np.count_nonzero(is_ignored)))
    slots = spread.joined.slots[nodes.rows]
    if is_ignored is not None:
        slots = slots[~is_ignored]
    return int(np.count_nonzero(np.bincount(slots)))


def has_domain_per_node(spread: domain_sums.SpreadConstraintDomains) -> bool:
    """Return whether each node is its own domain, and pods are counted."""
    is_host = spread.constraint.topology_key == spread_constraints.HOSTNAME
    return is_host and not spread.has_outside and spread.column is not None


def score_hostname_constraint(
    spread: domain_sums.SpreadConstraintDomains, nodes: snapshot.NodeView, factor: int
) -> columns.IntArray | int:
    """Return int64 (n,): `factor` times the scores of one `has_domain_per_node` constraint.

    A single number means that all scores are equal.
    """
    on_node = spread.get_row_pod_counts(nodes.snapshot)
    if not isinstance(nodes.rows, slice):
        on_node = on_node.take(nodes.rows)
    fewest, most = on_node.item(on_node.argmin()), on_node.item(on_node.argmax())
    weight = spreading.topology_weight(len(nodes))
    table = spreading.final_points(fewest, most, weight, spread.constraint.max_skew)
    if fewest == most:
        return table.item(most) * factor
    return (table * factor).take(on_node)


def compute_raw_score_table(
    spread: domain_sums.SpreadConstraintDomains, weight: float, nodes: snapshot.NodeView
) -> tuple[columns.FloatArray, npt.NDArray[np.intp]]:
    """Return a table of scores, float64 (k,), and the index of each node in it, intp (n,)."""
    constraint = spread.constraint
    if constraint.topology_key != spread_constraints.HOSTNAME:
        spread.sums.refresh()
        table = spreading.domain_points(spread.sums.table, weight, constraint.max_skew)
        table[0] = 0.0
        return table, spread.nodes.at(nodes.rows)
    on_node = spread.get_row_pod_counts(nodes.snapshot)
    if not isinstance(nodes.rows, slice):
        on_node = on_node.take(nodes.rows)
    most = on_node.item(on_node.argmax())
    if not spread.has_outside:
        return spreading.domain_points(np.arange(most + 1), weight, constraint.max_skew), on_node
    points = spreading.domain_points(np.arange(-1, most + 1), weight, constraint.max_skew)
    points[0] = 0.0
    index = on_node + 1
    index[spread.nodes.at(nodes.rows) == 0] = 0
    return points, index
