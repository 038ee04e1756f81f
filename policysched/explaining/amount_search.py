"""The amount nearest to the present one that fits, found by asking the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from policysched.lang import units

_MEBIBYTE = 1024 * 1024
_MOST_PROPOSALS = 16


def step_of(resource: str, amount: int) -> int:
    """Return how finely an amount is searched: of bytes whole mebibytes, which people write."""
    is_large = units.of_resource(resource) == units.BYTES and amount >= _MEBIBYTE
    return _MEBIBYTE if is_large else 1


def find_nearest(
    fits: Callable[[int], bool], present: int, proposals: Iterable[int], step: int
) -> int | None:
    """Return an amount that fits, while the one that is a step nearer to `present` does not.

    Args:
        fits: asked about amounts of 0 or more; `present` itself must not fit.
        present: the amount as it is.
        proposals: amounts near which the answer may change; those below `present` first.
        step: the distance of amounts that are asked about, multiples of it.
    """
    rounded = {each for p in proposals for each in (p - p % step, p + -p % step)}
    lower = sorted((p for p in rounded if 0 <= p < present), reverse=True)
    higher = sorted(p for p in rounded if p > present)
    for side in (lower, higher):
        refused = present
        for amount in _nearest_and_last(side):
            if fits(amount):
                return _bisect_to_step(fits, amount, refused, step)
            refused = amount
    return None


def _nearest_and_last(amounts: list[int]) -> list[int]:
    """Return the nearest proposals, and the last one, which is the farthest."""
    return amounts if len(amounts) <= _MOST_PROPOSALS else [*amounts[:_MOST_PROPOSALS], amounts[-1]]


def _bisect_to_step(fits: Callable[[int], bool], fitting: int, refused: int, step: int) -> int:
    """Halve the distance between an amount that fits and one that does not, to one step."""
    found = _bisect(fits, fitting, refused, step)
    if found < step:  # less than a mebibyte, so that bytes count
        return _bisect(fits, found, min(refused, step), 1)
    return found


def _bisect(fits: Callable[[int], bool], fitting: int, refused: int, step: int) -> int:
    sign = 1 if refused > fitting else -1
    low, high = 0, -(-abs(refused - fitting) // step)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(fitting + sign * step * middle):
            low = middle
        else:
            high = middle
    return fitting + sign * step * low
