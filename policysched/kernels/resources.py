"""Requested, free and allocatable amounts: what fits, and the scores of utilisation.

Arguments that kernels share:
    rows: intp (m,), the rows to compute.
    allocatable, requested: int64 (C, R), as in `cluster.columns.columns`.
    nonzero_requested: int64 (C, 2), the same with defaults for CPU and memory.
    ids: intp (k,), the columns of k resources.
    wanted: int64 (k,), the amounts that the pod requests.
    weights: int64 (k,), at least 1.
    out: `out[rows]` is written.

A resource that a node does not have (allocatable 0) does not count in its scores. Amounts near 2⁶³
wrap around as in kube-scheduler, and scores are then out of range.
"""

from __future__ import annotations

from policysched.kernels import cython_stand_in as cython
from policysched.kernels.math_stand_in import sqrt

NO_POD_SLOT = 1
TOO_SMALL = 2
FIRST_RESOURCE_BIT = 2
MORE_SHORT = 1 << 22
"""Bits of `write_fit_codes`."""

FULL = cython.declare(cython.longlong, 100)
"""The highest score of a plugin, and full utilisation in percent."""


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _divide(dividend: cython.longlong, divisor: cython.longlong) -> cython.longlong:
    """Return the quotient rounded towards 0: C and Go do so, Python rounds down."""
    if divisor == -1:  # C cannot divide the smallest number by -1
        return -dividend
    quotient: cython.longlong = dividend // divisor
    if not cython.compiled:
        quotient += quotient < 0 and quotient * divisor != dividend
    return quotient


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _get_fraction(used: cython.longlong, size: cython.longlong) -> cython.double:
    """Return the used fraction of a resource, at most 1."""
    fraction: cython.double = cython.cast(cython.double, used) / cython.cast(cython.double, size)
    return fraction if fraction < 1.0 else 1.0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _compute_used(
    row: cython.Py_ssize_t,
    column: cython.Py_ssize_t,
    wanted: cython.longlong,
    size: cython.longlong,
    requested: cython.longlong[:, ::1],
    nonzero_requested: cython.longlong[:, ::1],
) -> cython.longlong:
    """Return the used amount with the pod, at most `size`; CPU and memory count with defaults."""
    used: cython.longlong = wanted
    used += nonzero_requested[row, column] if column < 2 else requested[row, column]
    return used if used < size else size


def write_fit_codes(
    rows: cython.Py_ssize_t[::1],
    allocatable: cython.longlong[:, ::1],
    requested: cython.longlong[:, ::1],
    pod_count: cython.longlong[::1],
    allowed_pods: cython.longlong[::1],
    ids: cython.Py_ssize_t[::1],
    wanted: cython.longlong[::1],
    by_class: cython.uchar[::1],
    out: cython.int[::1],
) -> None:
    """Write int32 codes: 0 if the pod fits, else a sum of bits.

    Bit 0: the node has no free pod slot. Bit 1: an empty node would be too small as well. Bit
    2 + i: resource i of `ids` is short; bit 22 stands for all resources from number 20 on. If
    `by_class` of a resource is 1, device classes provide it on nodes that have none of it.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    row: cython.Py_ssize_t
    code: cython.int
    with cython.nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            code = 1 if pod_count[row] + 1 > allowed_pods[row] else 0
            for k in range(ids.shape[0]):
                if by_class[k] and allocatable[row, ids[k]] == 0:
                    continue
                if wanted[k] > allocatable[row, ids[k]] - requested[row, ids[k]]:
                    code |= 4 << (k if k < 20 else 20)
                    if wanted[k] > allocatable[row, ids[k]]:
                        code |= 2
            out[row] = code


def write_utilization_points(
    rows: cython.Py_ssize_t[::1],
    allocatable: cython.longlong[:, ::1],
    requested: cython.longlong[:, ::1],
    nonzero_requested: cython.longlong[:, ::1],
    ids: cython.Py_ssize_t[::1],
    wanted: cython.longlong[::1],
    weights: cython.longlong[::1],
    is_least: cython.bint,
    out: cython.longlong[::1],
) -> None:
    """Write the weighted mean of free (or, unless `is_least`, used) percent, int64 0 to 100.

    Rounded down twice: each resource, then the mean. If more is requested than allocatable, nothing
    is free. Sources: `noderesources/least_allocated.go`, `most_allocated.go`.
    Example: with 1 of 4 CPUs used, least allocated is 75 and most allocated 25.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    row: cython.Py_ssize_t
    size: cython.longlong
    used: cython.longlong
    total: cython.longlong
    weight_sum: cython.longlong
    with cython.nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            total = weight_sum = 0
            for k in range(ids.shape[0]):
                size = allocatable[row, ids[k]]
                if size == 0:
                    continue
                used = _compute_used(row, ids[k], wanted[k], size, requested, nonzero_requested)
                if is_least:
                    used = size - used
                total += weights[k] * _divide(used * FULL, size)
                weight_sum += weights[k]
            out[row] = _divide(total, weight_sum) if weight_sum else 0


def write_capacity_ratio_points(
    rows: cython.Py_ssize_t[::1],
    allocatable: cython.longlong[:, ::1],
    requested: cython.longlong[:, ::1],
    nonzero_requested: cython.longlong[:, ::1],
    ids: cython.Py_ssize_t[::1],
    wanted: cython.longlong[::1],
    weights: cython.longlong[::1],
    points_by_percent: cython.longlong[::1],
    out: cython.longlong[::1],
) -> None:
    """Write the weighted mean of the points of each resource's utilisation, halves rounded up.

    `points_by_percent` is int64 (101,). Resources with 0 points do not count.
    Source: `noderesources/requested_to_capacity_ratio.go`.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    row: cython.Py_ssize_t
    size: cython.longlong
    used: cython.longlong
    points: cython.longlong
    total: cython.longlong
    weight_sum: cython.longlong
    with cython.nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            total = weight_sum = 0
            for k in range(ids.shape[0]):
                size = allocatable[row, ids[k]]
                if size == 0:
                    continue
                used = _compute_used(row, ids[k], wanted[k], size, requested, nonzero_requested)
                used = _divide(used * FULL, size)
                used = 0 if used < 0 else used
                points = points_by_percent[used if used < FULL else FULL]
                if points > 0:
                    total += weights[k] * points
                    weight_sum += weights[k]
            out[row] = _round_ratio(total, weight_sum) if weight_sum else 0


def write_balanced_points(
    rows: cython.Py_ssize_t[::1],
    allocatable: cython.longlong[:, ::1],
    requested: cython.longlong[:, ::1],
    ids: cython.Py_ssize_t[::1],
    wanted: cython.longlong[::1],
    out: cython.longlong[::1],
) -> None:
    """Write `50 + (50 + balance with the pod - balance without it) / 2`, rounded down.

    The more evenly the pod leaves the resources used, the higher the score; 75 if it changes
    nothing. Source: `noderesources/balanced_allocation.go`, balancedResourceScorer.
    """
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    gain: cython.longlong
    with cython.nogil:
        for i in range(rows.shape[0]):
            row = rows[i]
            gain = _compute_balance(row, allocatable, requested, ids, wanted, 1)
            gain -= _compute_balance(row, allocatable, requested, ids, wanted, 0)
            out[row] = 50 + _divide(50 + gain, 2)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _compute_balance(
    row: cython.Py_ssize_t,
    allocatable: cython.longlong[:, ::1],
    requested: cython.longlong[:, ::1],
    ids: cython.Py_ssize_t[::1],
    wanted: cython.longlong[::1],
    times: cython.longlong,
) -> cython.longlong:
    """Return `int((1 - standard deviation of the used fractions) × 100)`.

    `times` pods of the requests `wanted` are added. For two resources, the deviation is half their
    distance; for one, it is 0. Sums have the order of `ids`, so that they round as in Go.
    Source: `noderesources/balanced_allocation.go`, balancedResourceScore.
    """
    k: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    fraction: cython.double
    total: cython.double = 0.0
    squares: cython.double = 0.0
    distance: cython.double = 0.0
    for k in range(ids.shape[0]):
        if allocatable[row, ids[k]] != 0:
            fraction = _get_fraction(
                requested[row, ids[k]] + times * wanted[k], allocatable[row, ids[k]]
            )
            total += fraction
            distance += fraction if count % 2 == 0 else -fraction
            count += 1
    if count < 2:
        return FULL
    if count == 2:
        distance = distance if distance >= 0.0 else -distance
        return cython.cast(cython.longlong, (1.0 - distance / 2.0) * 100.0)
    for k in range(ids.shape[0]):
        if allocatable[row, ids[k]] != 0:
            fraction = _get_fraction(
                requested[row, ids[k]] + times * wanted[k], allocatable[row, ids[k]]
            )
            squares += (fraction - total / count) * (fraction - total / count)
    return cython.cast(cython.longlong, (1.0 - sqrt(squares / count)) * 100.0)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _round_ratio(dividend: cython.longlong, divisor: cython.longlong) -> cython.longlong:
    """Return the quotient of numbers ≥ 0 as a whole number, halves rounded up (`math.Round`)."""
    ratio: cython.double = cython.cast(cython.double, dividend) / cython.cast(
        cython.double, divisor
    )
    whole: cython.longlong = cython.cast(cython.longlong, ratio)
    return whole + 1 if ratio - whole >= 0.5 else whole
