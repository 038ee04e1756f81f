"""Runtime values of expressions.

    CEL         Python                      CEL          Python
    int         int                         list         list
    uint        Uint                        map          Map
    double      float                       optional     Optional
    bool        bool                        type         TypeValue
    string      str                         Quantity     quantities.Quantity
    bytes       bytes                       Semver       semvers.Semver
    null        None                        the device   Map

`bool` and `Uint` are ints for Python, so this package tests `type(value) is int`, not `isinstance`.
"""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from policysched import int64
from policysched.cel.failures import AbortedError

Value: TypeAlias = Any
"""A value as in the table; each operation checks which types it accepts."""


MAX_UINT: Final = 2**64 - 1


class Uint(int):
    """An unsigned integer, which is another type than int for CEL."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value, such as the result of `type(1)`."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing."""

    value: Value = None
    has_value: bool = True


NO_VALUE: Final = Optional(has_value=False)


@dataclasses.dataclass(frozen=True, slots=True)
class _Key:
    """A key that a dict would confuse with others, or could not hold.

    Attributes:
        identity: what the key is equal by: type and value, or the object itself as in Go.
        value: the key in CEL.
    """

    identity: tuple[Value, ...]
    value: Value = dataclasses.field(compare=False)


class StrictValue(abc.ABC):
    """A value of a Kubernetes library; only values of its own type can be compared with it."""

    __slots__ = ()

    @abc.abstractmethod
    def equals(self, other: Value) -> bool:
        """Return whether the other value is equal.

        Raises:
            EvaluationError: it has another type.
        """


class Map:
    """A map; 1, 1u and 1.0 are different keys, but each finds the others.

    It keeps the dict that it is made of, whose keys are strings or made by `make_key`.

    Attributes:
        default: the value of an unknown key, as attributes and capacity have one; or None.
    """

    __slots__ = ("_items", "default")

    def __init__(self, items: dict[Value, Value], default: Map | None = None) -> None:
        self._items = items
        self.default = default

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[Value, Value]]) -> Map:
        """Return the map of keys of all types, and their values."""
        return cls({make_key(key): value for key, value in pairs})

    def find(self, key: Value) -> tuple[Value, bool]:
        """Return the value of a key, or the default, and whether there is one.

        Raises:
            AbortedError: the key is of a type that Go cannot look up.
        """
        own = self._find_own(key)
        if own is not None:
            return self._items[own], True
        return self.default, self.default is not None

    def has_own(self, key: Value) -> bool:
        """Return whether the key itself is in the map.

        Raises:
            AbortedError: the key is of a type that Go cannot look up.
        """
        return self._find_own(key) is not None

    def _find_own(self, key: Value) -> Value:
        if type(key) is str:
            return key if key in self._items else None
        candidates = map(make_key, (key, *list_equal_numbers(key))) if self._items else ()
        return next((each for each in candidates if each in self._items), None)

    def items(self) -> Iterator[tuple[Value, Value]]:
        """Return keys and values."""
        return ((_read_key(key), value) for key, value in self._items.items())

    def keys(self) -> Iterator[Value]:
        """Return the keys."""
        return map(_read_key, self._items)

    def __len__(self) -> int:
        return len(self._items)


def make_key(key: Value) -> Value:
    """Return the key of a dict for a key of a map.

    Raises:
        AbortedError: the key is of a type that Go cannot hash.
    """
    kind = type(key)
    if kind is str or kind is int:
        return key
    if kind in _UNHASHABLE:
        raise AbortedError(
            f"internal error: runtime error: hash of unhashable type {get_type_name(key)}"
        )
    if kind in _POINTERS:
        return _Key((id(key),), key)
    is_nan = kind is float and math.isnan(key)
    return _Key((object(),) if is_nan else (kind, key), key)


def _read_key(key: Value) -> Value:
    return key.value if type(key) is _Key else key


def list_equal_numbers(value: Value) -> list[Value]:
    """Return the numbers of other types that a number finds in a map."""
    kind = type(value)
    if kind is int:
        return [Uint(value)] if value >= 0 else []
    if kind is Uint:
        return [int(value)] if value <= int64.MAX else []
    if kind is not float or not value.is_integer():
        return []
    number = int(value)
    ints = [number] if int64.fits_int64(number) else []
    return [*ints, Uint(number)] if 0 <= number <= MAX_UINT else ints


TYPE_NAMES: dict[type, str] = {
    int: "int",
    Uint: "uint",
    float: "double",
    bool: "bool",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    Map: "map",
    Optional: "optional_type",
    TypeValue: "type",
}
"""CEL's name of each class of values; the libraries add their own classes."""


def get_type_name(value: Value) -> str:
    """Return CEL's name of the type of a value."""
    return TYPE_NAMES[type(value)]


def find_classes(type_name: str) -> frozenset[type]:
    """Return the classes of the values of a type."""
    return frozenset(cls for cls, name in TYPE_NAMES.items() if name == type_name)


_POINTERS: set[type] = {list, Map, Optional}
"""Classes of values that are pointers in Go: as keys, equal values are different."""
_UNHASHABLE: set[type] = {bytes}
"""Classes whose values Go cannot look up in a map; a lookup ends the evaluation."""


def register_type(
    cls: type,
    name: str,
    *,
    is_hashable: bool = True,
    is_pointer: bool = False,
    has_zero: bool = False,
) -> None:
    """Register a class of values and the name of its type.

    Args:
        cls: the class.
        name: of the type.
        is_hashable: whether Go can look the values up in a map.
        is_pointer: whether it looks up the object, not the value.
        has_zero: whether a value can be falsy.
    """
    TYPE_NAMES[cls] = name
    if has_zero:
        _ZEROABLE.add(cls)
    if not is_hashable:
        _UNHASHABLE.add(cls)
    if is_pointer:
        _POINTERS.add(cls)


def is_zero(value: Value) -> bool:
    """Return whether a value is its type's zero or empty one, for `optional.ofNonZeroValue`."""
    if isinstance(value, Optional):
        return not value.has_value
    return type(value) in _ZEROABLE and not value


_ZEROABLE: set[type] = {type(None), bool, int, Uint, float, str, bytes, list, Map}
