"""The smallest number of steps after which something is so, found by asking."""

from __future__ import annotations

from collections.abc import Callable


def find_fewest_steps(holds: Callable[[int], bool], most: int) -> int | None:
    """Return a number of steps k in 1..most such that it holds after k and not after k - 1.

    Steps are doubled until it holds, then halved back, so where it holds from some step on that is
    the fewest; where it holds, ceases to and holds again it is one of the places where it begins.

    Args:
        holds: asked about numbers of steps; after none it must not hold.
        most: how far to look.

    Returns:
        None where it holds at none of the steps that were asked about.
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
