"""What kernels use of the module `cython`, for an environment without it."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

_T = TypeVar("_T")

compiled = False
bint, double, void, Py_ssize_t = bool, float, None, int


class _NoGil:
    """`with nogil:` lets NumPy overflow without a warning, as C does; `@nogil` changes nothing."""

    def __enter__(self) -> None:
        self._before = np.seterr(all="ignore")

    def __exit__(self, *error: object) -> None:
        np.seterr(**self._before)

    def __call__(self, function: _T) -> _T:
        return function


nogil = _NoGil()


def longlong(value: Any) -> np.int64:
    """Return a number as int64; a float is rounded towards 0, and overflows as in C."""
    return np.float64(value).astype(np.int64) if isinstance(value, float) else np.int64(value)


def cfunc(function: _T) -> _T:
    """Return the function; Cython makes it callable from C only."""
    return function


inline = cfunc


def exceptval(*, check: bool) -> Any:
    """Return a decorator that changes nothing."""
    del check
    return cfunc


def declare(kind: Any, value: Any) -> Any:
    """Return the value of a C variable."""
    return cast(kind, value)


def cast(kind: Any, value: Any) -> Any:
    """Return a value converted to a C type."""
    return kind(value)
