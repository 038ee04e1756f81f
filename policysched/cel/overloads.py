"""The table of functions: signatures for the checker, implementations for calls.

A module of `policysched.cel.functions` registers its functions with `define`. An implementation
gets runtime values; one that needs the meter gets it as its first argument.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from policysched.cel.static_types import Type
from policysched.cel.values import find_classes

Implementation = Callable[..., Any]
_F = TypeVar("_F", bound=Implementation)


class Register(Protocol):
    """A decorator that registers an implementation and returns it."""

    def __call__(self, implementation: _F, /) -> _F:
        """Register the implementation of one signature."""


@dataclasses.dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function.

    Attributes:
        function: the name, such as `startsWith`, `sets.contains` or `_+_`.
        is_method: whether the first parameter is the receiver, written before the name.
        parameters: types; the receiver first.
        result: the type of the result.
        implementation: gets the values, after the meter if `is_metered`.
        is_metered: whether it charges by itself.
        names_types: whether the error for other types names them.
    """

    function: str
    is_method: bool
    parameters: tuple[Type, ...]
    result: Type
    implementation: Implementation
    is_metered: bool
    names_types: bool

    def find_accepted_classes(self) -> tuple[frozenset[type] | None, ...]:
        """Return the classes that each parameter takes; None for all."""
        return tuple(
            None if each.is_dynamic or each.is_parameter else find_classes(each.name)
            for each in self.parameters
        )


OVERLOADS: Final[dict[str, list[Overload]]] = {}


def define(
    function: str,
    parameters: tuple[Type, ...],
    result: Type,
    *,
    is_method: bool = False,
    is_metered: bool = False,
    names_types: bool = True,
) -> Register:
    """Register the decorated implementation of one signature."""

    def register(implementation: _F, /) -> _F:
        overload = Overload(
            function, is_method, parameters, result, implementation, is_metered, names_types
        )
        OVERLOADS.setdefault(function, []).append(overload)
        return implementation

    return register


def define_method(
    function: str,
    parameters: tuple[Type, ...],
    result: Type,
    *,
    is_metered: bool = False,
    names_types: bool = True,
) -> Register:
    """Register the decorated implementation of a method; the receiver's type comes first."""
    return define(
        function,
        parameters,
        result,
        is_method=True,
        is_metered=is_metered,
        names_types=names_types,
    )
