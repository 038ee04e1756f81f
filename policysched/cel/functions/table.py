"""The whole table of functions: importing this module registers the functions of each library."""

from __future__ import annotations

from typing import Final

from policysched.cel import overloads
from policysched.cel.functions import (
    addresses,
    conversions,
    lists,
    named_formats,
    operators,
    optionals,
    quantities,
    regexes,
    semvers,
    string_format,
    strings,
    times,
    urls,
)
from policysched.cel.overloads import Overload
from policysched.cel.static_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    Type,
    list_of,
)

LIBRARIES: Final = (
    addresses,
    conversions,
    lists,
    named_formats,
    operators,
    optionals,
    quantities,
    regexes,
    semvers,
    string_format,
    strings,
    times,
    urls,
)
OVERLOADS: Final = overloads.OVERLOADS

_ARITHMETIC: Final = (DOUBLE, DURATION, INT, TIMESTAMP, UINT)
_COMPARISON: Final = (BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION)
_LEFT_OPERANDS: Final[dict[str, tuple[Type, ...]]] = {
    "_+_": (BYTES, DOUBLE, DURATION, TIMESTAMP, INT, list_of(A), STRING, UINT),
    **dict.fromkeys(("_-_", "_*_", "_/_", "_%_", "-_"), _ARITHMETIC),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _COMPARISON),
}
"""The order in which cel-go declares the overloads of operators.

The first one that fits decides what an element of an empty list is from then on.
"""


def _sort_overloads(function: str, left_operands: tuple[Type, ...]) -> None:
    def find_place(overload: Overload) -> tuple[int, bool, str]:
        left, right = overload.parameters[0], overload.parameters[-1]
        return left_operands.index(left), left != right, right.name

    OVERLOADS[function].sort(key=find_place)


for _function, _left_operands in _LEFT_OPERANDS.items():
    _sort_overloads(_function, _left_operands)
