"""Points of nodes by comparison with the other feasible nodes.

Each of k scores has a number for each of S slots: a row, or a topology domain that many rows share.
NaN stands for a missing number. Slots with a feasible row are compared: the smallest and the
largest of their numbers are the bounds of the score, and these make points of each number. Bounds
are kept with the number of slots that hold them, so that most changes need no pass over all slots.

Arguments that kernels share:
    numbers: float64 (k, S).
    row_counts: int64 (S,), the feasible rows of each slot.
    bounds: float64 (k, 2), smallest and largest number; inf and -inf if there is none.
    holders: int64 (k, 2), how many compared slots have the smallest and the largest number.
    slot_of_row: intp (N,), the slot of each row.
    slots, rows: intp, which ones.
"""

from __future__ import annotations

from policysched.kernels import cython_stand_in as cython
from policysched.kernels.math_stand_in import isnan, rint

MINMAX, LARGEST, MAXIMUM, POINTS = 0, 1, 2, 3
"""Kinds of comparison (`write_points`)."""

FULL = cython.declare(cython.longlong, 10_000)
"""100 points in hundredths."""
INFINITY = cython.declare(cython.double, float("inf"))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _join(
    slot: cython.Py_ssize_t,
    numbers: cython.double[:, ::1],
    bounds: cython.double[:, ::1],
    holders: cython.longlong[:, ::1],
) -> cython.void:
    """Count in the numbers of a slot; NaN is neither smaller nor larger than anything."""
    i: cython.Py_ssize_t
    number: cython.double
    for i in range(numbers.shape[0]):
        number = numbers[i, slot]
        if number < bounds[i, 0]:
            bounds[i, 0] = number
            holders[i, 0] = 1
        elif number == bounds[i, 0]:
            holders[i, 0] += 1
        if number > bounds[i, 1]:
            bounds[i, 1] = number
            holders[i, 1] = 1
        elif number == bounds[i, 1]:
            holders[i, 1] += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _leave(
    slot: cython.Py_ssize_t,
    numbers: cython.double[:, ::1],
    bounds: cython.double[:, ::1],
    holders: cython.longlong[:, ::1],
) -> cython.bint:
    """Count out the numbers of a slot; return whether nobody holds one of the bounds any more."""
    i: cython.Py_ssize_t
    is_lost: cython.bint = False
    for i in range(numbers.shape[0]):
        if numbers[i, slot] == bounds[i, 0]:
            holders[i, 0] -= 1
            is_lost |= holders[i, 0] == 0
        if numbers[i, slot] == bounds[i, 1]:
            holders[i, 1] -= 1
            is_lost |= holders[i, 1] == 0
    return is_lost


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _replace_numbers(
    slots: cython.Py_ssize_t[::1],
    replacements: cython.double[:, ::1],
    row_counts: cython.longlong[::1],
    numbers: cython.double[:, ::1],
    bounds: cython.double[:, ::1],
    holders: cython.longlong[:, ::1],
) -> cython.bint:
    """Write the numbers of m slots; return whether nobody holds one of the bounds any more."""
    m: cython.Py_ssize_t
    i: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    is_lost: cython.bint = False
    for m in range(slots.shape[0]):
        slot = slots[m]
        if row_counts[slot] != 0:
            is_lost |= _leave(slot, numbers, bounds, holders)
        for i in range(numbers.shape[0]):
            numbers[i, slot] = replacements[i, m]
        if row_counts[slot] != 0:
            _join(slot, numbers, bounds, holders)
    return is_lost


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _move_rows(
    came: cython.Py_ssize_t[::1],
    left: cython.Py_ssize_t[::1],
    slot_of_row: cython.Py_ssize_t[::1],
    row_counts: cython.longlong[::1],
    numbers: cython.double[:, ::1],
    bounds: cython.double[:, ::1],
    holders: cython.longlong[:, ::1],
) -> cython.bint:
    """Count feasible rows; return whether nobody holds one of the bounds any more."""
    m: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    is_lost: cython.bint = False
    for m in range(came.shape[0]):
        slot = slot_of_row[came[m]]
        row_counts[slot] += 1
        if row_counts[slot] == 1:
            _join(slot, numbers, bounds, holders)
    for m in range(left.shape[0]):
        slot = slot_of_row[left[m]]
        row_counts[slot] -= 1
        if row_counts[slot] == 0:
            is_lost |= _leave(slot, numbers, bounds, holders)
    return is_lost


def weigh_points(
    rows: cython.Py_ssize_t[::1],
    points: cython.longlong[:, ::1],
    highest: cython.longlong[::1],
    factors: cython.longlong[::1],
    invalid: cython.longlong,
) -> None:
    """Multiply the points, int64 (k, N), of `rows` by int64 (k,) factors.

    A row with points below 0 or above `highest`, int64 (k,), gets `invalid` from the first plugin
    and 0 from the others.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    row: cython.Py_ssize_t
    is_valid: cython.bint
    with cython.nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            is_valid = True
            for k in range(points.shape[0]):
                is_valid &= points[k, row] >= 0 and points[k, row] <= highest[k]
            for k in range(points.shape[0]):
                if is_valid:
                    points[k, row] *= factors[k]
                else:
                    points[k, row] = invalid if k == 0 else 0


def add_points(
    rows: cython.Py_ssize_t[::1],
    points: cython.longlong[:, ::1],
    totals: cython.longlong[::1],
) -> bool:
    """Add to int64 (N,) totals the points, int64 (k, N), of `rows`.

    Return whether any of these totals is negative.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    row: cython.Py_ssize_t
    is_any_negative: cython.bint = False
    with cython.nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            for k in range(points.shape[0]):
                totals[row] += points[k, row]
            is_any_negative |= totals[row] < 0
    return is_any_negative


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _find_bounds(
    i: cython.Py_ssize_t,
    numbers: cython.double[:, ::1],
    row_counts: cython.longlong[::1],
    bounds: cython.double[:, ::1],
    holders: cython.longlong[:, ::1],
) -> cython.void:
    """Find the bounds of a score among all compared slots."""
    slot: cython.Py_ssize_t
    number: cython.double
    smallest: cython.double = INFINITY
    largest: cython.double = -INFINITY
    at_smallest: cython.longlong = 0
    at_largest: cython.longlong = 0
    for slot in range(row_counts.shape[0]):
        if row_counts[slot] == 0:
            continue
        number = numbers[i, slot]
        if number < smallest:
            smallest = number
            at_smallest = 1
        elif number == smallest:
            at_smallest += 1
        if number > largest:
            largest = number
            at_largest = 1
        elif number == largest:
            at_largest += 1
    bounds[i, 0], bounds[i, 1] = smallest, largest
    holders[i, 0], holders[i, 1] = at_smallest, at_largest


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _compute_point(
    kind: cython.longlong,
    number: cython.double,
    smallest: cython.double,
    largest: cython.double,
    floor: cython.double,
    missing: cython.longlong,
    prefers_low: cython.bint,
) -> cython.longlong:
    """Return the units of a number; see `update_points`."""
    span: cython.double
    share: cython.double
    units: cython.longlong
    if isnan(number):
        return missing
    if kind == 3:  # POINTS
        return cython.cast(cython.longlong, number)
    if kind == 2:  # MAXIMUM
        units = cython.cast(cython.longlong, largest) if largest > 0.0 else 0
        if units != 0:
            units = 100 * cython.cast(cython.longlong, number) // units
        return 100 - units if prefers_low else units
    if kind == 1:  # LARGEST
        if largest <= 0.0:
            return 0
        share = (number if number > 0.0 else 0.0) / largest
        units = cython.cast(cython.longlong, rint((share if share < 1.0 else 1.0) * FULL))
        return FULL - units if prefers_low else units
    span = largest / 2.0 - smallest / 2.0
    span = span if span > floor / 2.0 else floor / 2.0
    if not span > 0.0 or smallest > largest:
        return 0
    share = (largest / 2.0 - number / 2.0) if prefers_low else (number / 2.0 - smallest / 2.0)
    share = share / span
    if not share > 0.0:
        return 0
    return cython.cast(cython.longlong, rint((share if share < 1.0 else 1.0) * FULL))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _write_point(
    i: cython.Py_ssize_t,
    slot: cython.Py_ssize_t,
    settings: cython.double[:, ::1],
    numbers: cython.double[:, ::1],
    bounds: cython.double[:, ::1],
    points: cython.longlong[:, ::1],
    sums: cython.longlong[::1],
) -> cython.void:
    """Write the weighted points of a score at a slot, and correct their sum."""
    weighted: cython.longlong = cython.cast(cython.longlong, settings[i, 4]) * _compute_point(
        cython.cast(cython.longlong, settings[i, 0]),
        numbers[i, slot],
        bounds[i, 0],
        bounds[i, 1],
        settings[i, 1],
        cython.cast(cython.longlong, settings[i, 2]),
        settings[i, 3] != 0.0,
    )
    sums[slot] += weighted - points[i, slot]
    points[i, slot] = weighted


def update_points(
    slots: cython.Py_ssize_t[::1],
    replacements: cython.double[:, ::1],
    came: cython.Py_ssize_t[::1],
    left: cython.Py_ssize_t[::1],
    slot_of_row: cython.Py_ssize_t[::1],
    row_counts: cython.longlong[::1],
    numbers: cython.double[:, ::1],
    bounds: cython.double[:, ::1],
    holders: cython.longlong[:, ::1],
    written: cython.double[:, ::1],
    settings: cython.double[:, ::1],
    points: cython.longlong[:, ::1],
    sums: cython.longlong[::1],
) -> None:
    """Take over numbers of m slots, and which rows are feasible; bring the points up to date.

    A score whose bounds change gets points at all slots, any other one at `slots`.

    Shapes:
        slots, replacements: (m,) and (k, m).
        came, left: rows that became feasible, and rows that are not feasible any more.
        written: float64 (k, 2), the bounds by which points were written. If they are NaN, the
            bounds of the score are found anew.
        settings: float64 (k, 5): kind, floor, units for a missing number, 1 if low numbers are
            preferred, and what one unit adds to the total, a whole number.
        points: int64 (k, S).
        sums: int64 (S,), the sum of `points` over all scores.

    Kinds, for the smallest number s and the largest l:
        MINMAX: hundredths `(v - s) / max(l - s, floor)`, or `(l - v) / …` for low; all 0 if that
            is a division by 0. Numbers are halved first, which keeps differences of huge ones
            finite.
        LARGEST: hundredths `v / l`, or 100 points minus that; below 0 counts as 0; all 0 unless l
            is above 0.
        MAXIMUM: whole points `100 × v / l`, rounded down, or 100 minus that; v is a whole number,
            at least 0. Source: `plugins/helper/normalize_score.go`.
        POINTS: the number itself, which is whole.
    Hundredths are rounded to the nearest, halves to even.
    """
    m: cython.Py_ssize_t
    i: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    is_lost: cython.bint
    with cython.nogil:
        is_lost = _replace_numbers(slots, replacements, row_counts, numbers, bounds, holders)
        is_lost |= _move_rows(came, left, slot_of_row, row_counts, numbers, bounds, holders)
        for i in range(numbers.shape[0]):
            if isnan(written[i, 0]) or (is_lost and (holders[i, 0] == 0 or holders[i, 1] == 0)):
                _find_bounds(i, numbers, row_counts, bounds, holders)
            if bounds[i, 0] == written[i, 0] and bounds[i, 1] == written[i, 1]:
                for m in range(slots.shape[0]):
                    _write_point(i, slots[m], settings, numbers, bounds, points, sums)
                continue
            written[i, 0], written[i, 1] = bounds[i, 0], bounds[i, 1]
            for slot in range(numbers.shape[1]):
                _write_point(i, slot, settings, numbers, bounds, points, sums)


def add_by_slot(
    slot_of_row: cython.Py_ssize_t[::1],
    sums: cython.longlong[::1],
    totals: cython.longlong[::1],
) -> None:
    """Add to each of N rows, int64 `totals`, the number of its slot."""
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(slot_of_row.shape[0]):
            totals[row] += sums[slot_of_row[row]]
