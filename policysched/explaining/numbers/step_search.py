"""Finds the smallest number of steps for which a predicate holds."""

from __future__ import annotations

from collections.abc import Callable


def find_fewest_steps(holds: Callable[[int], bool], most: int) -> int | None:
    """Return a number of steps k in 1..most such that `holds(k)` and not `holds(k - 1)`.

    The search doubles k until the predicate holds, then bisects. If the predicate stays true from
    some k on, the result is the smallest such k. If it holds in several ranges, the result is the
    start of one range.

    Args:
        holds: the predicate; it must not hold for 0.
        most: the largest k to try.

    Returns:
        None if the predicate holds for no tried k.
    """
    below, above = 0, 1
    while above <= most and not holds(above):
        below, above = above, 2 * above
    if above > most:
        if below >= most or not holds(most):
            return None
        above = most
    while above - below > 1:
        middle = (below + above) // 2
        if holds(middle):
            above = middle
        else:
            below = middle
    return above
