"""Divide seats in proportion to votes by Webster's method (Sainte-Laguë).

Source: Karmada v1.18.2 `pkg/util/helper/webstermethod.go`. Each seat goes to the party with the
greatest votes / (2 * seats + 1) in float64. A tie goes to the party with fewer seats; the order of
names resolves other ties. The uid of the resource determines whether names are in ascending or
descending order, so that ties do not always favour the same cluster.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193


def divide_seats(seats: int, votes: Mapping[str, int], uid: str) -> dict[str, int]:
    """Return the seats of each party, ordered by name.

    Args:
        seats: number of seats to divide; a negative number counts as 0.
        votes: votes of each party; at least one must not be 0.
        uid: uid of the resource; its hash determines which name wins a tie.
    """
    given = _compute_sure_seats(seats, votes)
    names = sorted(votes, reverse=has_odd_hash(uid))
    # Order of the heap: greatest priority, then fewest seats, then first name.
    heap = [
        (-votes[name] / (2 * given[name] + 1), given[name], place, name)
        for place, name in enumerate(names)
    ]
    heapq.heapify(heap)
    for _ in range(seats - sum(given.values())):
        _, taken, place, name = heap[0]
        given[name] = taken + 1
        heapq.heapreplace(heap, (-votes[name] / (2 * taken + 3), taken + 1, place, name))
    return dict(sorted(given.items()))


def _compute_sure_seats(seats: int, votes: Mapping[str, int]) -> dict[str, int]:
    """Return the seats that each party certainly gets, so that the heap assigns only the rest.

    Seat number s + 1 of a party has the priority votes / (2 * s + 1), and is assigned before all
    seats with a lower priority. At most sum(votes) / (2 * t) + parties / 2 seats have a priority
    greater than t. With the t below, these are at most `seats`, so all of them are assigned; one
    seat fewer for each party compensates for rounding.
    """
    slack = 2 * seats - len(votes)
    total = sum(votes.values())
    if slack <= 0 or total <= 0 or min(votes.values()) < 0:
        return dict.fromkeys(votes, 0)
    threshold = total / slack
    return {
        name: max(0, math.ceil((count / threshold - 1) / 2) - 1) for name, count in votes.items()
    }


def has_odd_hash(uid: str) -> bool:
    """Return whether FNV-1a of the uid is odd; an empty uid counts as even."""
    digest = _FNV_OFFSET
    for byte in uid.encode():
        digest = (digest ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return bool(uid) and digest & 1 == 1
