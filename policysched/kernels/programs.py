"""Expressions of policy rules on any rows: instructions over registers, block by block.

A register holds float64 for each row of a block. NaN is a missing number or an unknown condition; 1
and 0 are a condition that holds or does not. What is not finite becomes NaN. An instruction is
int32 (operation, target, left, right); the last three are registers unless stated otherwise.

Operations have their numbers in the code, because a compiled loop cannot read a name of Python.
"""

from __future__ import annotations

from policysched.kernels import cython_stand_in as cython
from policysched.kernels.math_stand_in import ceil, floor, fmod, isnan, rint

BLOCK = 128
"""Rows of a block: the registers of most programs fit into the first-level cache."""

# Loads. `left` is a constant, an input, or a column of amounts.
CONSTANT, INPUT = 0, 1
ALLOCATABLE, REQUESTED, FREE = 2, 3, 4
ALLOWED_PODS, POD_COUNT, FREE_PODS = 5, 6, 7
# Numbers of numbers.
ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO, MINIMUM, MAXIMUM = 8, 9, 10, 11, 12, 13, 14
ABSOLUTE, FLOOR, CEILING, ELSE = 15, 16, 17, 18
# Conditions, in Kleene's logic.
EQUAL, UNEQUAL, LESS, LESS_OR_EQUAL, GREATER, GREATER_OR_EQUAL = 19, 20, 21, 22, 23, 24
AND, OR, NOT = 25, 26, 27
# Ends, which write the result `target`. `right` is the first of their constants.
STORE = 28
REJECT = 29
"""1 if the condition holds, or if it is unknown and the constant is 1; else 0."""
CONDITION_POINTS = 30
"""10,000 or 0; the constant if the condition is unknown."""
LINEAR_POINTS = 31
"""Constants: points if missing, low / 2, (high - low) / 2 or 0 for a step, high, 1 for low."""
SHAPE_POINTS = 32
"""Constants: points if missing, number of corners, and for each its value and its points."""


def run_program(
    code: cython.int[:, ::1],
    constants: cython.double[::1],
    rows: cython.Py_ssize_t[::1],
    allocatable: cython.longlong[:, ::1],
    requested: cython.longlong[:, ::1],
    allowed_pods: cython.longlong[::1],
    pod_count: cython.longlong[::1],
    input_rows: cython.Py_ssize_t[::1],
    inputs: cython.double[:, ::1],
    registers: cython.double[:, ::1],
    out: cython.double[:, ::1],
) -> None:
    """Write E results for each of m rows.

    Shapes:
        code: int32 (I, 4), instructions.
        constants: float64 (K,).
        rows: intp (m,), rows of the amounts.
        allocatable, requested: int64 (C, R).
        allowed_pods, pod_count: int64 (C,).
        input_rows: intp (m,), rows of the inputs.
        inputs: float64 (J, L).
        registers: float64 (G, BLOCK), scratch.
        out: float64 (E, m).
    """
    start: cython.Py_ssize_t
    count: cython.Py_ssize_t
    k: cython.Py_ssize_t
    op: cython.int
    t: cython.int
    a: cython.int
    b: cython.int
    with cython.nogil:
        for start in range(0, rows.shape[0], 128):
            count = rows.shape[0] - start
            count = count if count < 128 else 128
            for k in range(code.shape[0]):
                op, t, a, b = code[k, 0], code[k, 1], code[k, 2], code[k, 3]
                if op == 0:  # CONSTANT
                    _fill(t, constants[a], count, registers)
                elif op == 1:  # INPUT
                    _load_input(t, inputs[a], input_rows, start, count, registers)
                elif op <= 4:
                    _load_amounts(op, t, a, rows, start, count, allocatable, requested, registers)
                elif op <= 7:
                    _load_pods(op, t, rows, start, count, allowed_pods, pod_count, registers)
                elif op <= 18:
                    _calculate(op, t, a, b, count, registers)
                elif op <= 24:
                    _compare(op, t, a, b, count, registers)
                elif op <= 27:
                    _decide(op, t, a, b, count, registers)
                elif op == 32:  # SHAPE_POINTS
                    _write_shape_points(registers[a], constants[b:], start, count, out[t])
                else:
                    _write_result(op, registers[a], constants[b:], start, count, out[t])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _fill(
    target: cython.int,
    value: cython.double,
    count: cython.Py_ssize_t,
    registers: cython.double[:, ::1],
) -> cython.void:
    i: cython.Py_ssize_t
    for i in range(count):
        registers[target, i] = value


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _load_input(
    target: cython.int,
    values: cython.double[::1],
    rows: cython.Py_ssize_t[::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    registers: cython.double[:, ::1],
) -> cython.void:
    i: cython.Py_ssize_t
    for i in range(count):
        registers[target, i] = values[rows[start + i]]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _load_amounts(
    op: cython.int,
    target: cython.int,
    column: cython.int,
    rows: cython.Py_ssize_t[::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    allocatable: cython.longlong[:, ::1],
    requested: cython.longlong[:, ::1],
    registers: cython.double[:, ::1],
) -> cython.void:
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    for i in range(count):
        row = rows[start + i]
        if op == 2:  # ALLOCATABLE
            registers[target, i] = cython.cast(cython.double, allocatable[row, column])
        elif op == 3:  # REQUESTED
            registers[target, i] = cython.cast(cython.double, requested[row, column])
        else:  # FREE, which wraps around as in Go
            registers[target, i] = cython.cast(
                cython.double, allocatable[row, column] - requested[row, column]
            )


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _load_pods(
    op: cython.int,
    target: cython.int,
    rows: cython.Py_ssize_t[::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    allowed_pods: cython.longlong[::1],
    pod_count: cython.longlong[::1],
    registers: cython.double[:, ::1],
) -> cython.void:
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    for i in range(count):
        row = rows[start + i]
        if op == 5:  # ALLOWED_PODS
            registers[target, i] = cython.cast(cython.double, allowed_pods[row])
        elif op == 6:  # POD_COUNT
            registers[target, i] = cython.cast(cython.double, pod_count[row])
        else:  # FREE_PODS
            registers[target, i] = cython.cast(cython.double, allowed_pods[row] - pod_count[row])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _calculate(
    op: cython.int,
    t: cython.int,
    a: cython.int,
    b: cython.int,
    count: cython.Py_ssize_t,
    r: cython.double[:, ::1],
) -> cython.void:
    """Calculate numbers; `r` are the registers."""
    i: cython.Py_ssize_t
    if op == 8:  # ADD
        for i in range(count):
            r[t, i] = r[a, i] + r[b, i]
    elif op == 9:  # SUBTRACT
        for i in range(count):
            r[t, i] = r[a, i] - r[b, i]
    elif op == 10:  # MULTIPLY
        for i in range(count):
            r[t, i] = r[a, i] * r[b, i]
    elif op == 11:  # DIVIDE
        for i in range(count):
            r[t, i] = r[a, i] / r[b, i]
    elif op == 12:  # MODULO
        for i in range(count):
            r[t, i] = _compute_modulo(r[a, i], r[b, i])
    elif op == 13:  # MINIMUM
        for i in range(count):
            r[t, i] = r[a, i] if r[a, i] < r[b, i] or isnan(r[a, i]) else r[b, i]
    elif op == 14:  # MAXIMUM
        for i in range(count):
            r[t, i] = r[a, i] if r[a, i] > r[b, i] or isnan(r[a, i]) else r[b, i]
    elif op == 15:  # ABSOLUTE
        for i in range(count):
            r[t, i] = -r[a, i] if r[a, i] < 0.0 else r[a, i]
    elif op == 16:  # FLOOR
        for i in range(count):
            r[t, i] = floor(r[a, i])
    elif op == 17:  # CEILING
        for i in range(count):
            r[t, i] = ceil(r[a, i])
    else:  # ELSE
        for i in range(count):
            r[t, i] = r[b, i] if isnan(r[a, i]) else r[a, i]
    for i in range(count):
        r[t, i] += r[t, i] - r[t, i]  # infinity becomes NaN, everything else stays


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _compute_modulo(value: cython.double, divisor: cython.double) -> cython.double:
    """Return the remainder, which has the sign of the divisor; NaN for the divisor 0."""
    if divisor == 0.0 or isnan(value) or isnan(divisor):
        return (value - value) / 0.0
    remainder: cython.double = fmod(value, divisor)
    if remainder != 0.0 and (remainder < 0.0) != (divisor < 0.0):
        remainder += divisor
    return remainder


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _compare(
    op: cython.int,
    t: cython.int,
    a: cython.int,
    b: cython.int,
    count: cython.Py_ssize_t,
    r: cython.double[:, ::1],
) -> cython.void:
    """Compare numbers; unknown if one of them is missing."""
    i: cython.Py_ssize_t
    holds: cython.bint
    for i in range(count):
        if op == 19:  # EQUAL
            holds = r[a, i] == r[b, i]
        elif op == 20:  # UNEQUAL
            holds = r[a, i] != r[b, i]
        elif op == 21:  # LESS
            holds = r[a, i] < r[b, i]
        elif op == 22:  # LESS_OR_EQUAL
            holds = r[a, i] <= r[b, i]
        elif op == 23:  # GREATER
            holds = r[a, i] > r[b, i]
        else:  # GREATER_OR_EQUAL
            holds = r[a, i] >= r[b, i]
        r[t, i] = r[a, i] + r[b, i] if isnan(r[a, i]) or isnan(r[b, i]) else holds


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _decide(
    op: cython.int,
    t: cython.int,
    a: cython.int,
    b: cython.int,
    count: cython.Py_ssize_t,
    r: cython.double[:, ::1],
) -> cython.void:
    """Combine conditions: a false operand decides `and`, a true one `or`."""
    i: cython.Py_ssize_t
    if op == 25:  # AND
        for i in range(count):
            r[t, i] = 0.0 if r[a, i] == 0.0 or r[b, i] == 0.0 else r[a, i] * r[b, i]
    elif op == 26:  # OR
        for i in range(count):
            r[t, i] = 1.0 if r[a, i] == 1.0 or r[b, i] == 1.0 else r[a, i] + r[b, i]
    else:  # NOT
        for i in range(count):
            r[t, i] = 1.0 - r[a, i]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _write_result(
    op: cython.int,
    values: cython.double[::1],
    constants: cython.double[::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    out: cython.double[::1],
) -> cython.void:
    i: cython.Py_ssize_t
    share: cython.double
    for i in range(count):
        if op == 28:  # STORE
            out[start + i] = values[i]
        elif op == 29:  # REJECT
            out[start + i] = constants[0] if isnan(values[i]) else values[i]
        elif isnan(values[i]):
            out[start + i] = constants[0]
        elif op == 30:  # CONDITION_POINTS
            out[start + i] = values[i] * 10000.0
        else:  # LINEAR_POINTS
            if constants[2] == 0.0:
                share = 1.0 if values[i] >= constants[3] else 0.0
            else:
                share = (values[i] / 2.0 - constants[1]) / constants[2]
                share = 0.0 if share < 0.0 else share
                share = share if share < 1.0 else 1.0
            share = rint(share * 10000.0)
            out[start + i] = 10000.0 - share if constants[4] != 0.0 else share


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _write_shape_points(
    values: cython.double[::1],
    constants: cython.double[::1],
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    out: cython.double[::1],
) -> cython.void:
    """Write the points on the line through the corners, which is flat outside."""
    i: cython.Py_ssize_t
    left: cython.Py_ssize_t
    last: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, constants[1]) - 1
    x: cython.double
    share: cython.double
    span: cython.double
    for i in range(count):
        if isnan(values[i]) or last == 0:
            out[start + i] = constants[0] if isnan(values[i]) else 100.0 * constants[3]
            continue
        x = constants[2] if values[i] < constants[2] else values[i]
        x = x if x < constants[2 + 2 * last] else constants[2 + 2 * last]
        left = 0
        while left < last - 1 and constants[4 + 2 * left] <= x:
            left += 1
        span = constants[4 + 2 * left] / 2.0 - constants[2 + 2 * left] / 2.0
        if span > 0.0:
            share = (x / 2.0 - constants[2 + 2 * left] / 2.0) / span
        else:
            share = 1.0 if x >= constants[4 + 2 * left] else 0.0
        share = (
            constants[3 + 2 * left] + (constants[5 + 2 * left] - constants[3 + 2 * left]) * share
        )
        out[start + i] = rint(share / 100.0 * 10000.0)
