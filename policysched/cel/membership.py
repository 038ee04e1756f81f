"""Plan `value in [constants]` as a lookup, as cel-go does.

A lookup fails for values that Go cannot hash; a comparison with each item does not.
"""

from __future__ import annotations

from typing import Final

from policysched.cel.plans import Evaluate
from policysched.cel.values import Uint, Value, list_equal_numbers, make_key

_CONSTANTS: Final = frozenset({bool, int, Uint, float, str})


def plan_constant_membership(value: Evaluate, items: list[Value]) -> Evaluate | None:
    """Return the function of a frame for `value in items`; None if an item is no simple value."""
    if not all(type(each) in _CONSTANTS for each in items):
        return None
    if not items:
        return lambda _frame: False
    keys = frozenset(make_key(each) for item in items for each in _list_equal(item))
    return lambda frame: make_key(value(frame)) in keys


def _list_equal(item: Value) -> list[Value]:
    """Return the values that are equal to an item; an int is also equal to the nearest double."""
    doubles = [float(item)] if type(item) in {int, Uint} else []
    return [item, *doubles, *list_equal_numbers(item)]
