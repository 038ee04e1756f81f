"""Pods counted by topology domain: the distinct values of one node label."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policysched.cluster import columns


class DomainTotals(NamedTuple):
    """Sums over the nodes of each domain.

    Attributes:
        totals: int64 (D + 1,), by domain; the last entry, which id -1 finds, is 0.
        is_present: bool (D + 1,), the domains that have a counted node; the last entry is False.
    """

    totals: columns.IntArray
    is_present: columns.BoolArray


def by_domain(
    domain_ids: columns.Int32Array, counts: columns.IntArray, domain_count: int
) -> columns.IntArray:
    """Return int64 (D + 1,): the sum of `counts` in each domain, 0 at the end for nodes in none.

    `domain_ids` and `counts` are (n,), id -1 is no domain. Example: ids [0, 1, 0, -1], counts
    [1, 2, 3, 9], D 2 → [4, 2, 0].
    """
    sums = np.bincount(domain_ids + 1, counts, domain_count + 1)
    sums[0] = 0
    return np.roll(sums, -1).astype(np.int64)


def totals(
    domain_ids: columns.Int32Array,
    counts: columns.IntArray,
    is_counted: columns.BoolArray,
    domain_count: int,
) -> DomainTotals:
    """Return the sums over the counted nodes only, and which domains have one; all (n,)."""
    ids, chosen = domain_ids[is_counted], counts[is_counted]
    present = np.zeros(domain_count + 1, np.bool_)
    present[ids] = True
    present[-1] = False
    return DomainTotals(by_domain(ids, chosen, domain_count), present)
