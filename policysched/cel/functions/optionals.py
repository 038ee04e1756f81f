"""Functions of optionals; `optMap` is a macro. Source: cel-go `cel/library.go`."""

from __future__ import annotations

from policysched.cel.failures import EvaluationError
from policysched.cel.meter import Meter
from policysched.cel.overloads import define, define_method
from policysched.cel.static_types import BOOL, A, list_of, optional_of
from policysched.cel.values import NO_VALUE, Optional, Value, is_zero

define("optional.of", (A,), optional_of(A))(Optional)


@define("optional.none", (), optional_of(A))
def get_none() -> Optional:
    """Return the optional without a value."""
    return NO_VALUE


@define("optional.ofNonZeroValue", (A,), optional_of(A))
def make_of_non_zero(value: Value) -> Optional:
    """Return an optional that has no value if it is zero or empty."""
    return NO_VALUE if is_zero(value) else Optional(value)


@define_method("value", (optional_of(A),), A)
def get_value(optional: Optional) -> Value:
    """Return the value."""
    if not optional.has_value:
        raise EvaluationError("optional.none() dereference")
    return optional.value


@define_method("hasValue", (optional_of(A),), BOOL)
def has_value(optional: Optional) -> bool:
    """Return whether there is a value."""
    return optional.has_value


@define_method("or", (optional_of(A), optional_of(A)), optional_of(A))
def choose_optional(optional: Optional, other: Optional) -> Optional:
    """Return the first optional that has a value; the planner does not evaluate others."""
    return optional if optional.has_value else other


@define_method("orValue", (optional_of(A), A), A)
def choose_value(optional: Optional, other: Value) -> Value:
    """Return the value or, if there is none, the other; the planner does not evaluate others."""
    return optional.value if optional.has_value else other


@define_method("first", (list_of(A),), optional_of(A))
def get_first(items: list[Value]) -> Optional:
    """Return the first element, if there is one."""
    return Optional(items[0]) if items else NO_VALUE


@define_method("last", (list_of(A),), optional_of(A))
def get_last(items: list[Value]) -> Optional:
    """Return the last element, if there is one."""
    return Optional(items[-1]) if items else NO_VALUE


@define("optional.unwrap", (list_of(optional_of(A)),), list_of(A), is_metered=True)
@define_method("unwrapOpt", (list_of(optional_of(A)),), list_of(A), is_metered=True)
def unwrap_all(meter: Meter, items: list[Value]) -> list[Value]:
    """Return the values of a list of optionals."""
    meter.charge(1 + len(items))
    if any(type(item) is not Optional for item in items):
        raise EvaluationError("value is not an optional")
    return [item.value for item in items if item.has_value]
