"""Replicas in proportion to the score of a cluster policy: `replicas Divided Weighted by score`.

Karmada has nothing like it. It is its division by room with other weights: what is there already
moves as little, and no cluster gets more than it has room for. A score prefers and does not forbid:
what has no points gets replicas only when the others are full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.karmada.steps import webster

if TYPE_CHECKING:
    from collections.abc import Mapping


def divide_seats_within_capacity(
    seats: int, votes: Mapping[str, int], rooms: Mapping[str, int], uid: str
) -> dict[str, int]:
    """Return seats in proportion to votes, as many as there is room for at each, by name.

    What exceeds the room of one is divided among the others in the same way, and what nobody with
    votes has room for by the room that is left. There must be room for all seats.
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
        for name, count in divide_seats_within_capacity(seats, left, left, uid).items():
            given[name] += count
    return given
