"""What kernels use of C's math library, for kernels that Python interprets."""

from __future__ import annotations

import math

fmod, isfinite, isnan, sqrt = math.fmod, math.isfinite, math.isnan, math.sqrt


def ceil(value: float) -> float:
    """Return the smallest whole number that is not below; NaN stays."""
    return value if math.isnan(value) else float(math.ceil(value))


def floor(value: float) -> float:
    """Return the largest whole number that is not above; NaN stays."""
    return value if math.isnan(value) else float(math.floor(value))


def rint(value: float) -> float:
    """Return the nearest whole number, halves to even; NaN stays."""
    return value if math.isnan(value) else float(round(value))
