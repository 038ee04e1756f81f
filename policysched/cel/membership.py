"""Plan `value in [constants]` as a lookup, as cel-go does.

A lookup fails for values that Go cannot hash; a comparison with each item does not.
"""

from __future__ import annotations

from typing import Final

from policysched.cel.plans import Evaluate
from policysched.cel.values import Map, Uint, Value

_CONSTANTS: Final = frozenset({bool, int, Uint, float, str})


def plan_constant_membership(value: Evaluate, items: list[Value]) -> Evaluate | None:
    """Return the function of a frame for `value in items`; None if an item is no simple value."""
    if not all(type(each) in _CONSTANTS for each in items):
        return None
    if not items:
        return lambda _frame: False
    known = Map.from_pairs((item, True) for item in items)
    return lambda frame: known.has_own(value(frame))
