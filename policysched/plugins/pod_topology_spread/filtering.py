"""Compute the verdicts of hard topology spread constraints, for Filter.

Source: `plugins/podtopologyspread/filtering.go`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.plugins.kernels import domain_verdicts, domains, spreading
from policysched.plugins.pod_topology_spread import domain_sums
from policysched.plugins.shared import node_rejection_texts

PASSES, LACKS_LABEL, VIOLATES = 0, 1, 2
"""Verdict numbers."""

Remembered: TypeAlias = "tuple[domain_sums.SpreadConstraintDomains, spreading.SpreadBefore]"
"""A constraint and its counts before any hypothetical change."""


def refresh_domain_verdicts(
    spreads: domain_sums.SpreadConstraintSet,
) -> domain_verdicts.DomainVerdicts:
    """Return the current verdicts of hard constraints.

    Only the tables of constraints with changed counts are recomputed.
    """
    verdicts, is_new = spreads.verdicts, spreads.verdicts is None
    if verdicts is None:
        verdicts = domain_verdicts.DomainVerdicts([spread.nodes for spread in spreads.each])
        spreads.verdicts = verdicts
    for spread, table in zip(spreads.each, verdicts.tables, strict=True):
        if spread.sums.refresh() != [] or is_new:
            table.replace(_compute_domain_verdicts(spread))
    return verdicts


def _compute_domain_verdicts(spread: domain_sums.SpreadConstraintDomains) -> npt.NDArray[np.int16]:
    """Return int16 (D + 1,): the verdict of each domain; the sums must be up to date."""
    constraint = spread.constraint
    violating = spreading.violating_domains(
        spread.sums.table,
        spread.eligible,
        own=constraint.own,
        max_skew=constraint.max_skew,
        min_domains=constraint.min_domains,
    )
    table: npt.NDArray[np.int16] = violating * np.int16(VIOLATES)
    table[0] = LACKS_LABEL if spread.has_outside else PASSES
    return table


def copy_constraint_counts(
    spread: domain_sums.SpreadConstraintDomains, snap: snapshot.Snapshot
) -> Remembered:
    """Return the constraint with a copy of its counts."""
    counted = domains.Counted(spread.counted, spread.get_row_pod_counts(snap))
    min_domains = spread.constraint.min_domains
    return spread, spreading.SpreadBefore(counted, spread.eligible, min_domains)


def compute_what_if_verdicts(
    spread: domain_sums.SpreadConstraintDomains,
    before: spreading.SpreadBefore,
    nodes: snapshot.NodeView,
) -> npt.NDArray[np.int16]:
    """Return int16 (n,): the verdict for each node as if only its own pods had changed."""
    constraint = spread.constraint
    slots = spread.nodes.slots[nodes.rows]
    skew = before.skew(slots, spread.get_row_pod_counts(nodes.snapshot), nodes.rows)
    judged = np.where(skew + constraint.own > constraint.max_skew, VIOLATES, PASSES)
    judged[slots == 0] = LACKS_LABEL
    return judged.astype(np.int16)


def format_skew_evidence(
    spread: domain_sums.SpreadConstraintDomains, node: snapshot.NodeView
) -> str:
    """Format why a constraint rejects the only node of a view; return "" if it passes."""
    snap, constraint = node.snapshot, spread.constraint
    _, before = copy_constraint_counts(spread, snap)
    (verdict,) = compute_what_if_verdicts(spread, before, node).tolist()
    if verdict == PASSES:
        return ""
    found = node_rejection_texts.get_only_node(node)
    if verdict == LACKS_LABEL:
        return node_rejection_texts.format_node_label(found, constraint.topology_key)
    slots, counts = spread.nodes.slots[node.rows], spread.get_row_pod_counts(snap)
    return node_rejection_texts.format_skew_counts(
        found,
        constraint.topology_key,
        here=int(spread.counted.sums(counts)[slots][0]),
        own=constraint.own,
        skew=int(before.skew(slots, counts, node.rows)[0]),
        max_skew=constraint.max_skew,
    )
