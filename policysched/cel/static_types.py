"""Static types of expressions, and which types can be assigned to others.

The rules are those of the checker of cel-go 0.26 (`checker/types.go`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from policysched.cel.failures import CompilationError

_MAX_SIZE = 100
"""Names in a type; `{a: a}` doubles the size, and nothing useful comes near the limit."""
_MAX_STEPS = 400_000
"""Comparisons of types; an expression of 10 KiB with 900 sums takes 25,000."""


@dataclasses.dataclass(frozen=True, slots=True)
class Type:
    """A type such as `int`, `list(string)` or a type parameter.

    Attributes:
        name: the name without parameters.
        parameters: types of elements, of keys and values, or of an optional's value.
        is_parameter: whether it stands for another type, as `A` in `list(A)`.
    """

    name: str
    parameters: tuple[Type, ...] = ()
    is_parameter: bool = False
    _size: int = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse a type that is too large to work with.

        Raises:
            CompilationError: it has too many parts.
        """
        size = 1 + sum(each._size for each in self.parameters)  # noqa: SLF001 - its own class
        if size > _MAX_SIZE:
            raise CompilationError("the types of the expression are nested too deeply")
        object.__setattr__(self, "_size", size)

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(map(str, self.parameters))})"

    @property
    def is_dynamic(self) -> bool:
        """Whether values of any type may occur."""
        return self.name in {"dyn", "any"}


BOOL, INT, UINT, DOUBLE = Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES, NULL = Type("string"), Type("bytes"), Type("null_type")
DURATION, TIMESTAMP = Type("google.protobuf.Duration"), Type("google.protobuf.Timestamp")
DYN, ANY = Type("dyn"), Type("any")
QUANTITY, SEMVER = Type("kubernetes.Quantity"), Type("kubernetes.Semver")
URL, NAMED_FORMAT = Type("kubernetes.URL"), Type("kubernetes.NamedFormat")
IP, CIDR = Type("net.IP"), Type("net.CIDR")
DEVICE = Type("kubernetes.DRADevice")
A, B = Type("A", is_parameter=True), Type("B", is_parameter=True)

_NULLABLE = frozenset(
    each.name for each in (DURATION, TIMESTAMP, QUANTITY, SEMVER, URL, NAMED_FORMAT, IP, CIDR)
) | {DEVICE.name, "optional_type"}


def list_of(element: Type) -> Type:
    """Return the type of lists with such elements."""
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return the type of maps from such keys to such values."""
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    """Return the type of optionals of such values."""
    return Type("optional_type", (value,))


def type_of(value: Type) -> Type:
    """Return the type of the type itself, as `type(1)` has it."""
    return Type("type", (value,))


def unwrap_optional(type_: Type) -> tuple[Type, bool]:
    """Return the type of the value, and whether the type was optional."""
    return (type_.parameters[0], True) if type_.name == "optional_type" else (type_, False)


class Substitutions:
    """The types for which the type parameters found so far stand.

    Parameters can stand for types with other parameters, twice each: following them takes a time
    that doubles with each level, so the steps are counted.
    """

    def __init__(self) -> None:
        self._types: dict[Type, Type] = {}
        self._changes: list[tuple[Type, Type | None]] = []
        self._count = 0
        self._steps_left = _MAX_STEPS

    def make_parameter(self) -> Type:
        """Return a new type parameter."""
        self._count += 1
        return Type(f"_var{self._count}", is_parameter=True)

    def instantiate(self, types: Sequence[Type]) -> list[Type]:
        """Return the types with new parameters for their own."""
        fresh: dict[Type, Type] = {}
        return [self._replace_parameters(each, fresh) for each in types]

    def resolve(self, type_: Type) -> Type:
        """Return the type with its known parameters replaced."""
        while type_.is_parameter and type_ in self._types:
            type_ = self._types[type_]
        if not type_.parameters:
            return type_
        return Type(type_.name, tuple(self.resolve(each) for each in type_.parameters))

    def unify(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        """Return whether the given types are assignable; if not, nothing changes."""
        self._changes.clear()
        if self._are_assignable(given, wanted):
            return True
        for parameter, before in reversed(self._changes):
            if before is None:
                del self._types[parameter]
            else:
                self._types[parameter] = before
        return False

    def join(self, first: Type, second: Type) -> Type | None:
        """Return the more general of two types, or None if they do not agree."""
        if not self.unify([first], [second]):
            return None
        return _find_most_general(first, second)

    def _replace_parameters(self, type_: Type, fresh: dict[Type, Type]) -> Type:
        if type_.is_parameter:
            if type_ not in fresh:
                fresh[type_] = self.make_parameter()
            return fresh[type_]
        if not type_.parameters:
            return type_
        parameters = tuple(self._replace_parameters(each, fresh) for each in type_.parameters)
        return Type(type_.name, parameters)

    def _are_assignable(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        return len(given) == len(wanted) and all(map(self._is_assignable, given, wanted))

    def _is_assignable(self, given: Type, wanted: Type) -> bool:
        self._count_step()
        if wanted.is_parameter:
            is_valid, is_known = self._substitute(given, wanted)
            if is_valid or is_known:
                return is_valid
        if given.is_parameter:
            return self._substitute(wanted, given)[0]
        if given.is_dynamic or wanted.is_dynamic:
            return True
        if NULL in {given, wanted}:
            other = wanted if given == NULL else given
            return other == NULL or other.name in _NULLABLE
        if given.name == "type":
            return wanted.name == "type"
        return given.name == wanted.name and self._are_assignable(
            given.parameters, wanted.parameters
        )

    def _substitute(self, type_: Type, parameter: Type) -> tuple[bool, bool]:
        """Let the parameter stand for the type; return whether it can, and whether it did."""
        if type_ == parameter:
            return True, True
        known = self._types.get(parameter)
        if known is None:
            if self._contains(type_, parameter):
                return False, False
            self._set(parameter, type_)
            return True, False
        if type_ == known:
            return True, True
        if not self._is_assignable(type_, known):
            return False, True
        general = _find_most_general(type_, known)
        if not self._contains(general, parameter):
            self._set(parameter, general)
        return True, True

    def _set(self, parameter: Type, type_: Type) -> None:
        self._changes.append((parameter, self._types.get(parameter)))
        self._types[parameter] = type_

    def _count_step(self) -> None:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise CompilationError("the types of the expression take too long to check")

    def _contains(self, type_: Type, parameter: Type) -> bool:
        self._count_step()
        if type_ == parameter:
            return True
        if type_.is_parameter:
            known = self._types.get(type_)
            return known is not None and self._contains(known, parameter)
        return any(self._contains(each, parameter) for each in type_.parameters)


def _find_most_general(first: Type, second: Type) -> Type:
    return first if _is_as_general(first, second) else second


def _is_as_general(first: Type, second: Type) -> bool:
    if first.is_dynamic or first.is_parameter:
        return True
    if second.is_dynamic or second.is_parameter or first.name != second.name:
        return False
    if first.name == "type":
        return True
    return len(first.parameters) == len(second.parameters) and all(
        map(_is_as_general, first.parameters, second.parameters)
    )
