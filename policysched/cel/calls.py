"""Call functions: choose the overload by the types of the values, and charge for long values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from policysched.cel.constant_checks import PATTERN_FUNCTIONS
from policysched.cel.failures import (
    AbortedError,
    CompilationError,
    EvaluationError,
    make_overload_error,
)
from policysched.cel.functions.conversions import CONVERSIONS
from policysched.cel.functions.times import Duration, Timestamp
from policysched.cel.meter import Meter
from policysched.cel.overloads import OVERLOADS, Overload
from policysched.cel.plans import Constant, Evaluate, Frame, read_constants
from policysched.cel.static_types import Type
from policysched.cel.syntax_tree import FunctionCall
from policysched.cel.values import Map, Uint, Value, find_classes, get_type_name

_FOLDED: Final = frozenset({"quantity", "semver", "ip", "cidr", "url"})
"""Functions of constants that are called once, when the expression is compiled."""


def plan_function(node: FunctionCall, arguments: Sequence[Evaluate]) -> Evaluate:
    """Return the function of a frame for a call, whose arguments are planned already.

    Raises:
        CompilationError: a conversion of a constant fails.
    """
    evaluate = _plan_dispatch(node, arguments)
    is_folded = node.function in CONVERSIONS | _FOLDED and read_constants(arguments) is not None
    if not is_folded:
        return evaluate
    try:
        value = evaluate([Meter()])
    except AbortedError:
        return evaluate
    except EvaluationError as error:
        if node.function in CONVERSIONS:
            raise CompilationError(f"program instantiation failed: {error}") from None
        return evaluate
    # For cel-go the others are no constants; errors of enclosing expressions depend on that.
    return Constant(value) if node.function in CONVERSIONS else lambda _frame: value


def _plan_dispatch(node: FunctionCall, arguments: Sequence[Evaluate]) -> Evaluate:
    overloads = list(node.overloads)
    if len(overloads) > 1:
        overloads = [
            each for each in OVERLOADS[node.function] if len(each.parameters) == len(arguments)
        ]
    candidates = [_Candidate(each) for each in overloads]
    has_pattern = node.function in PATTERN_FUNCTIONS and isinstance(arguments[1], Constant)
    if len(candidates) == 1 and len(arguments) == 2 and candidates[0].takes_all:  # noqa: PLR2004 - a binary operator
        return _plan_binary(overloads[0], *arguments)

    collect = _plan_arguments(node, arguments)

    def call(frame: Frame) -> Value:
        values = collect(frame)
        for candidate in candidates:
            if candidate.takes(values):
                return candidate.call(frame[0], values)
        raise _fail(node, values, has_pattern=has_pattern)

    return call


def _plan_arguments(
    node: FunctionCall, arguments: Sequence[Evaluate]
) -> Callable[[Frame], list[Value]]:
    """Return the function for the values of the arguments.

    Of two, cel-go evaluates both, unless their values choose the overload.
    """
    if len(arguments) != 2 or len(node.overloads) > 1:  # noqa: PLR2004 - of a binary call
        return lambda frame: [argument(frame) for argument in arguments]
    left, right = arguments
    return lambda frame: _evaluate_both(left, right, frame)


def _plan_binary(overload: Overload, left: Evaluate, right: Evaluate) -> Evaluate:
    """Return the call of `==` and other operators that take values of all types."""
    implementation = overload.implementation
    if overload.is_metered:
        return lambda frame: implementation(frame[0], *_evaluate_both(left, right, frame))
    return lambda frame: implementation(*_evaluate_both(left, right, frame))


def _evaluate_both(left: Evaluate, right: Evaluate, frame: Frame) -> list[Value]:
    """Return both values; the right side can end the whole evaluation even if the left one fails.

    Raises:
        EvaluationError: one has no value.
        AbortedError: one ends the evaluation.
    """
    try:
        value = left(frame)
    except EvaluationError:
        with contextlib.suppress(EvaluationError):
            right(frame)
        raise
    return [value, right(frame)]


class _Candidate:
    """An overload with the classes that its parameters accept."""

    __slots__ = ("_accepted", "_implementation", "_is_metered", "_nested", "takes_all")

    def __init__(self, overload: Overload) -> None:
        self._implementation = overload.implementation
        self._is_metered = overload.is_metered
        self._accepted = [
            (i, classes)
            for i, classes in enumerate(overload.find_accepted_classes())
            if classes is not None
        ]
        self._nested = [
            (i, parameter)
            for i, parameter in enumerate(overload.parameters)
            if any(not each.is_parameter and not each.is_dynamic for each in parameter.parameters)
        ]
        self.takes_all = not self._accepted

    def takes(self, values: list[Value]) -> bool:
        """Return whether the values have the types of the parameters."""
        for i, classes in self._accepted:
            if type(values[i]) not in classes:
                return False
        return all(_has_elements_of(values[i], parameter) for i, parameter in self._nested)

    def call(self, meter: Meter, values: list[Value]) -> Value:
        """Return the result."""
        if self._is_metered:
            return self._implementation(meter, *values)
        for value in values:
            if type(value) in _SIZED:
                meter.charge_value(value)
        return self._implementation(*values)


_SIZED: Final = frozenset({str, bytes, list, Map})


def _has_elements_of(value: Value, type_: Type) -> bool:
    """Return whether the first element of a list has the type of the elements, as cel-go tests."""
    element = type_.parameters[0]
    if type(value) is not list or not value or element.is_parameter or element.is_dynamic:
        return True
    return type(value[0]) in find_classes(element.name)


_ORDERED: Final = frozenset({int, Uint, float, bool, str, bytes, Duration, Timestamp})
_SUBTRACTABLE: Final = frozenset({int, Uint, float, str, Duration, Timestamp})
_MULTIPLIABLE: Final = frozenset({int, Uint, float, str, Duration, Timestamp})
_LEFT_CLASSES: Final = {
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ORDERED),
    **dict.fromkeys(("_*_", "_/_"), _MULTIPLIABLE),
    "_+_": _SUBTRACTABLE | {bytes, list},
    "_-_": _SUBTRACTABLE,
    "_%_": _MULTIPLIABLE - {float},
    "-_": (_SUBTRACTABLE - {Uint}) | {bool},
    "matches": frozenset({str}),
    "size": frozenset({str}),
}
"""Classes of left operands that have an operator; for others, cel-go names it in the error."""


def _fail(node: FunctionCall, values: list[Value], *, has_pattern: bool) -> EvaluationError:
    """Return the error for these values; `has_pattern` if cel-go compiled a constant pattern."""
    known = _LEFT_CLASSES.get(node.function)
    if known is not None and not has_pattern:
        return make_overload_error("" if type(values[0]) in known else node.function)
    if has_pattern or not node.overloads[0].names_types:
        return make_overload_error()
    return make_overload_error(f"{node.function}({', '.join(map(get_type_name, values))})")
