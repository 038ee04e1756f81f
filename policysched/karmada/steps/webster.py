"""Dividing seats in proportion to votes by the method of Webster (Sainte-Laguë).

Source: Karmada v1.18.2 `pkg/util/helper/webstermethod.go`: seats are given one by one to the party
with the greatest votes / (2 * seats + 1) in float64; among equals to the one with fewer seats, then
by name, in an order that the uid of the resource chooses, so that the same cluster does not gain
from every tie.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193


def divide_seats(seats: int, votes: Mapping[str, int], uid: str) -> dict[str, int]:
    """Return the seats of each party, by name in ascending order.

    Args:
        seats: how many there are; none are given when it is negative.
        votes: of each party; not all of them 0.
        uid: of the resource; its hash says which name wins a tie.
    """
    given = _compute_sure_seats(seats, votes)
    names = sorted(votes, reverse=has_odd_hash(uid))
    # Popped first: the greatest priority, then the fewest seats, then the first name.
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
    """Return seats that the method gives in any case, to spare the queue the many first ones.

    A seat number s + 1 of a party is given before every other whose votes / (2 * s + 1) is less.
    At most sum(votes) / (2 * t) + parties / 2 seats have more than t, so with the t below these
    are no more than there are; one a party fewer keeps clear of rounding.
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
    """Return whether FNV-1a of the uid is odd; an empty one counts as even."""
    digest = _FNV_OFFSET
    for byte in uid.encode():
        digest = (digest ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return bool(uid) and digest & 1 == 1
