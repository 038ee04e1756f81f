"""Functions that round exactly as Go's do, where a score depends on the last bit or on overflow."""

from __future__ import annotations

import functools
import math

import numpy as np

from policysched.cluster.columns import columns

INT64_END = 2**63
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG_COEFFICIENTS = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
"""Of the approximation in fdlibm's `e_log.c`, which Go's `math.Log` evaluates as well."""


@functools.lru_cache(maxsize=4096)
def log(x: float) -> float:
    """Return the natural logarithm of a positive finite number, with the last bit as in Go.

    `math.log` is the platform's and differs in the last bit for about 1 number in 100.
    """
    fraction, exponent = math.frexp(x)
    if fraction < math.sqrt(2) / 2:
        fraction *= 2
        exponent -= 1
    f = fraction - 1
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    l1, l2, l3, l4, l5, l6, l7 = _LOG_COEFFICIENTS
    odd = s2 * (l1 + s4 * (l3 + s4 * (l5 + s4 * l7)))
    even = s4 * (l2 + s4 * (l4 + s4 * l6))
    half_square = 0.5 * f * f
    low = s * (half_square + (odd + even)) + exponent * _LN2_LOW
    return exponent * _LN2_HIGH - ((half_square - low) - f)


def round_half_up(values: columns.FloatArray) -> columns.IntArray:
    """Return int64 (n,): numbers ≥ 0 to the nearest integer, halves up (Go's `math.Round`).

    Adding 0.5 and truncating would lift 0.49999999999999994 to 1.
    """
    whole = np.trunc(values)
    return (whole + (values - whole >= 0.5)).astype(np.int64)  # noqa: PLR2004 - one half


def wrapped(amount: int) -> int:
    """Return what is left of a sum or difference in an int64."""
    if -INT64_END <= amount < INT64_END:
        return amount
    return (amount + INT64_END) % (2 * INT64_END) - INT64_END


def divide(dividend: columns.IntArray, divisor: columns.IntArray) -> columns.IntArray:
    """Return int64 quotients rounded towards 0, of divisors > 0.

    Dividends are negative only after an overflow, so that rounding down is nearly always the same.
    """
    quotient: columns.IntArray = dividend // divisor
    if quotient.size and quotient.min() < 0:
        quotient += (quotient < 0) & (quotient * divisor != dividend)
    return quotient
