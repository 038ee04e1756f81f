"""Divide replicas by the score of a cluster policy: `replicas Divided Weighted by score`.

Karmada does not have this division. It works like Karmada's division by available replicas, with
different weights: as few current replicas as possible are moved, and no cluster gets more replicas
than fit. A score is a preference: a cluster without points gets replicas only if the other clusters
are full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.karmada.steps import webster

if TYPE_CHECKING:
    from collections.abc import Mapping


def divide_replicas_within_capacity(
    seats: int, votes: Mapping[str, int], rooms: Mapping[str, int], uid: str
) -> dict[str, int]:
    """Return seats in proportion to votes, limited by the room of each name.

    Seats beyond the room of a name are divided among the other names in the same way. If no name
    with votes has room left, the remaining seats are divided in proportion to the remaining room.
    There must be room for all seats.
    """
    given = dict.fromkeys(sorted(votes), 0)
    open_votes = {name: count for name, count in votes.items() if count > 0 and rooms[name] > 0}
    while seats and open_votes:
        share = webster.divide_seats(seats, open_votes, uid)
        full = {name for name, count in share.items() if count >= rooms[name]}
        for name in full or share:
            given[name] = min(share[name], rooms[name])
            seats -= given[name]
            del open_votes[name]
    left = {name: rooms[name] - given[name] for name in given if rooms[name] > given[name]}
    if seats and left:
        for name, count in divide_replicas_within_capacity(seats, left, left, uid).items():
            given[name] += count
    return given
