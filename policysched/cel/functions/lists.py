"""Functions of lists: Kubernetes' list library, and version 3 of cel-go's.

Sources: `k8s.io/apiserver/pkg/cel/library/lists.go`, cel-go `ext/lists.go`, `ext/sets.go`.
"""

from __future__ import annotations

import functools
import itertools
from typing import Final

from policysched.cel import equality
from policysched.cel.failures import EvaluationError, make_overload_error
from policysched.cel.functions.operators import check_int, check_uint, compare
from policysched.cel.functions.times import Duration, check_duration
from policysched.cel.meter import Meter
from policysched.cel.overloads import define, define_method
from policysched.cel.static_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    Type,
    list_of,
)
from policysched.cel.values import Uint, Value, get_type_name

_ORDERED: Final = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
_ORDERED_NAMES: Final = frozenset(each.name for each in _ORDERED)


def _check_order(items: list[Value]) -> None:
    if any(get_type_name(item) not in _ORDERED_NAMES for item in items):
        raise make_overload_error()


def is_sorted(meter: Meter, items: list[Value]) -> bool:
    """Return whether no element is greater than the next one."""
    meter.charge(1 + len(items))
    _check_order(items)
    return all(_compares_or_zero(first, second) <= 0 for first, second in itertools.pairwise(items))


def _compares_or_zero(first: Value, second: Value) -> int:
    """Return the order of two elements; elements without one count as equal."""
    try:
        return compare(first, second)
    except EvaluationError:
        return 0


def find_extreme(meter: Meter, items: list[Value], *, name: str, sign: int) -> Value:
    """Return the first greatest element if `sign` is 1, the first smallest if it is -1."""
    meter.charge(1 + len(items))
    _check_order(items)
    if not items:
        raise EvaluationError(f"{name} called on empty list")
    best = items[0]
    for item in items[1:]:
        if _compares_or_zero(item, best) == sign:
            best = item
    return best


def add_all(meter: Meter, items: list[Value], *, zero: Value) -> Value:
    """Return the sum of elements of the zero's type."""
    meter.charge(1 + len(items))
    if any(type(item) is not type(zero) for item in items):
        raise make_overload_error()
    total = zero
    for item in items:
        total = _add(total, item)
    return total


def _add(first: Value, second: Value) -> Value:
    if type(first) is int:
        return check_int(first + second)
    if type(first) is Uint:
        return check_uint(int(first) + int(second))
    if type(first) is Duration:
        return check_duration(first.nanoseconds + second.nanoseconds)
    return first + second


for _type in _ORDERED:
    _items = (list_of(_type),)
    define_method("isSorted", _items, BOOL, is_metered=True)(is_sorted)
    for _name, _sign in (("min", -1), ("max", 1)):
        _find = functools.partial(find_extreme, name=_name, sign=_sign)
        define_method(_name, _items, _type, is_metered=True)(_find)
for _type, _zero in ((INT, 0), (UINT, Uint(0)), (DOUBLE, 0.0), (DURATION, Duration(0))):
    _add_all = functools.partial(add_all, zero=_zero)
    define_method("sum", (list_of(_type),), _type, is_metered=True)(_add_all)


@define_method("indexOf", (list_of(A), A), INT, is_metered=True)
def find_first(meter: Meter, items: list[Value], value: Value) -> int:
    """Return the first index of an element, or -1."""
    meter.charge(1 + len(items))
    indices = (i for i, item in enumerate(items) if equality.is_surely_equal(item, value, meter))
    return next(indices, -1)


@define_method("lastIndexOf", (list_of(A), A), INT, is_metered=True)
def find_last(meter: Meter, items: list[Value], value: Value) -> int:
    """Return the last index of an element, or -1."""
    index = find_first(meter, items[::-1], value)
    return len(items) - 1 - index if index >= 0 else -1


@define_method("slice", (list_of(A), INT, INT), list_of(A), is_metered=True)
def cut(meter: Meter, items: list[Value], start: int, end: int) -> list[Value]:
    """Return the elements between two indices."""
    meter.charge(1 + len(items))
    problem = ""
    if start < 0 or end < 0:
        problem = "negative indexes not supported"
    elif start > end:
        problem = "start index must be less than or equal to end index"
    elif len(items) < end:
        problem = f"list is length {len(items)}"
    if problem:
        raise EvaluationError(f"cannot slice({start}, {end}), {problem}")
    return items[start:end]


@define_method("flatten", (list_of(list_of(A)),), list_of(A), is_metered=True)
def flatten_once(meter: Meter, items: list[Value]) -> list[Value]:
    """Return the list with the elements of each nested list in its place, one level deep."""
    return flatten(meter, items, 1)


@define_method("flatten", (list_of(DYN), INT), list_of(DYN), is_metered=True)
def flatten(meter: Meter, items: list[Value], depth: int) -> list[Value]:
    """Return the elements of nested lists, down to a depth."""
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Value] = []
    for item in items:
        meter.charge(1)
        if type(item) is list and depth:
            flat += flatten(meter, item, depth - 1)
        else:
            flat.append(item)
    return flat


def sort_by_keys(meter: Meter, items: list[Value], keys: list[Value]) -> list[Value]:
    """Return the items in the order of their keys, which have one type."""
    meter.charge(1 + 4 * len(items))
    if not items:
        return items
    if len({type(key) for key in keys}) > 1 or get_type_name(keys[0]) not in _ORDERED_NAMES:
        raise EvaluationError("list elements must have the same type")
    return [items[i] for i in sorted(range(len(items)), key=keys.__getitem__)]


def sort(meter: Meter, items: list[Value]) -> list[Value]:
    """Return the elements, the smallest first."""
    return sort_by_keys(meter, items, items)


for _type in _ORDERED:
    define_method("sort", (list_of(_type),), list_of(_type), is_metered=True)(sort)
    define_method(
        "@sortByAssociatedKeys", (list_of(A), list_of(_type)), list_of(A), is_metered=True
    )(sort_by_keys)


@define("lists.range", (INT,), list_of(INT), is_metered=True)
def make_range(meter: Meter, count: int) -> list[int]:
    """Return the numbers from 0 to below `count`."""
    meter.charge(max(1, count))
    return list(range(count))


@define_method("reverse", (list_of(A),), list_of(A), is_metered=True)
def reverse(meter: Meter, items: list[Value]) -> list[Value]:
    """Return the elements, the last first."""
    meter.charge(1 + len(items))
    return items[::-1]


@define_method("distinct", (list_of(A),), list_of(A), is_metered=True)
def remove_repeated(meter: Meter, items: list[Value]) -> list[Value]:
    """Return the elements that are not equal to an earlier one."""
    unique: list[Value] = []
    for item in items:
        meter.charge(1 + len(unique))
        if not any(equality.is_surely_equal(item, other, meter) for other in unique):
            unique.append(item)
    return unique


_LISTS: Final[tuple[Type, Type]] = (list_of(A), list_of(A))


@define("sets.contains", _LISTS, BOOL, is_metered=True)
def is_superset(meter: Meter, items: list[Value], others: list[Value]) -> bool:
    """Return whether each of the others is in the list."""
    return all(equality.contains(items, other, meter) for other in others)


@define("sets.equivalent", _LISTS, BOOL, is_metered=True)
def are_equivalent(meter: Meter, items: list[Value], others: list[Value]) -> bool:
    """Return whether each list has the elements of the other."""
    return is_superset(meter, items, others) and is_superset(meter, others, items)


@define("sets.intersects", _LISTS, BOOL, is_metered=True)
def do_intersect(meter: Meter, items: list[Value], others: list[Value]) -> bool:
    """Return whether the lists have an element in common."""
    return any(equality.contains(others, item, meter) for item in items)
