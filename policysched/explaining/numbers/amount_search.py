"""Finds the fitting amount nearest to the current amount by trial decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from policysched import units

_MEBIBYTE = 1024 * 1024
_GIBIBYTE = 1024 * _MEBIBYTE
_CORE = 1000
_MOST_PROPOSALS = 16
_MOST_DOUBLINGS = 3


def get_amount_search_step(resource: str, amount: int) -> int:
    """Return the step of the search: 1 Mi for byte amounts of at least 1 Mi, 1 otherwise."""
    is_large = units.find_resource_unit(resource) == units.BYTES and amount >= _MEBIBYTE
    return _MEBIBYTE if is_large else 1


def list_amounts_to_probe(resource: str, present: int, proposals: Iterable[int] = ()) -> list[int]:
    """Return whole cores, gibibytes or counts near amounts, and halves and doubles of `present`.

    These amounts find fits between rejected ranges, which expressions such as `floor` can cause.
    """
    unit = units.find_resource_unit(resource)
    whole = {units.CORES: _CORE, units.BYTES: _GIBIBYTE}.get(unit, 1)
    wholes = (each for near in (present, *proposals) for each in _list_multiples_near(near, whole))
    times = range(1, _MOST_DOUBLINGS + 1)
    scaled = (*(present >> n for n in times), *(present << n for n in times))
    return [amount for amount in (*wholes, *scaled) if amount >= 0]


def _list_multiples_near(amount: int, whole: int) -> list[int]:
    """Return the two multiples of `whole` below an amount and the two above it."""
    below, above = (amount - 1) // whole, amount // whole + 1
    return [count * whole for count in (below - 1, below, above, above + 1)]


def find_nearest_fitting_amount(
    fits: Callable[[int], bool],
    present: int,
    proposals: Iterable[int],
    step: int,
    probes: Iterable[int] = (),
) -> int | None:
    """Return a fitting amount such that the amount one step nearer to `present` does not fit.

    Both directions are searched, and the result nearer to `present` is returned.

    Args:
        fits: is called with amounts of 0 or more; `present` itself must not fit.
        present: the current amount.
        proposals: amounts near which the answer may change; on each side only the nearest proposals
            and the farthest one are tried.
        step: the tried amounts are multiples of this; amounts below one step are searched in units
            of 1.
        probes: amounts that are always tried.
    """
    # Use the multiples of `step` on both sides of each proposal.
    rounded = {each for p in proposals for each in (p - p % step, p + -p % step)}
    probed = {each - each % step for each in probes}
    found = []
    for sign in (-1, 1):
        side = _select_nearest_and_last(_select_one_side(rounded, present, sign))
        amounts = _select_one_side({*side, *probed}, present, sign)
        amount = _find_fitting_on_side(fits, present, amounts, step)
        if amount is not None:
            found.append(amount)
    return min(found, key=lambda amount: abs(amount - present), default=None)


def _select_one_side(amounts: Iterable[int], present: int, sign: int) -> list[int]:
    """Return the non-negative amounts on one side of `present`, the nearest first.

    The sign -1 selects the amounts below, 1 the amounts above.
    """
    side = (each for each in amounts if each >= 0 and (each - present) * sign > 0)
    return sorted(side, key=lambda each: abs(each - present))


def _select_nearest_and_last(amounts: list[int]) -> list[int]:
    """Return the nearest `_MOST_PROPOSALS` amounts and the farthest amount."""
    return amounts if len(amounts) <= _MOST_PROPOSALS else [*amounts[:_MOST_PROPOSALS], amounts[-1]]


def _find_fitting_on_side(
    fits: Callable[[int], bool], present: int, amounts: list[int], step: int
) -> int | None:
    refused = present
    for amount in amounts:
        if fits(amount):
            return _bisect_to_step(fits, amount, refused, step)
        refused = amount
    return None


def _bisect_to_step(fits: Callable[[int], bool], fitting: int, refused: int, step: int) -> int:
    """Bisect between a fitting and a rejected amount, down to one step."""
    found = _bisect_amounts(fits, fitting, refused, step)
    if found < step:  # less than one step: search in single units
        return _bisect_amounts(fits, found, min(refused, step), 1)
    return found


def _bisect_amounts(fits: Callable[[int], bool], fitting: int, refused: int, step: int) -> int:
    """Return the fitting amount nearest to `refused`, a multiple of `step` away from `fitting`."""
    sign = 1 if refused > fitting else -1
    low, high = 0, -(-abs(refused - fitting) // step)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(fitting + sign * step * middle):
            low = middle
        else:
            high = middle
    return fitting + sign * step * low
