"""Check constant arguments at compile time: patterns, times and formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from policysched.cel.failures import CompilationError, EvaluationError
from policysched.cel.functions import regexes, string_format, times
from policysched.cel.static_types import DURATION, DYN, TIMESTAMP, Type
from policysched.cel.syntax_tree import CelNode, FunctionCall, Literal

PATTERN_FUNCTIONS = frozenset({"matches", "find", "findAll"})


def check_constants(node: FunctionCall) -> None:
    """Check the constant arguments of a call.

    Raises:
        CompilationError: a constant is no pattern, or no time.
    """
    if node.function in PATTERN_FUNCTIONS:
        _check_patterns(node)
    elif node.function in {"duration", "timestamp"}:
        _check_time(node)


def _check_patterns(node: FunctionCall) -> None:
    # The validator of cel-go takes the text of `matches(text, pattern)` for a pattern as well.
    for argument in node.arguments:
        if isinstance(argument, Literal) and isinstance(argument.value, str):
            try:
                regexes.compile_pattern(argument.value)
            except EvaluationError as error:
                raise CompilationError(f"invalid {node.function} argument: {error}") from None


def _check_time(node: FunctionCall) -> None:
    argument = node.arguments[0]
    if not isinstance(argument, Literal):
        return
    parse = times.parse_duration if node.function == "duration" else times.parse_timestamp
    try:
        if isinstance(argument.value, str):
            parse(argument.value)
    except EvaluationError:
        raise CompilationError(f"invalid {node.function} argument") from None


_Parts = Sequence[tuple[CelNode, Type]]


def check_format(text: str, arguments: _Parts, list_parts: Callable[[CelNode], _Parts]) -> None:
    """Check a constant format with a list of arguments and their types.

    Args:
        text: the format.
        arguments: each with its type.
        list_parts: returns the parts of a list or map literal with their types.

    Raises:
        CompilationError: the format is wrong, or an argument does not fit.
    """
    try:
        parts = string_format.parse_clauses(text)
    except EvaluationError as error:
        raise CompilationError(str(error)) from None
    clauses = [part for part in parts if isinstance(part, string_format.Clause)]
    if len(clauses) > len(arguments):
        raise CompilationError(f"index {len(arguments)} out of range")
    if len(clauses) < len(arguments):
        raise CompilationError(
            "too many arguments supplied to string.format"
            f" (expected {len(clauses)}, got {len(arguments)})"
        )
    for clause, argument in zip(clauses, arguments, strict=True):
        _check_argument(clause.verb, argument, list_parts)


def _check_argument(
    verb: str, argument: tuple[CelNode, Type], list_parts: Callable[[CelNode], _Parts]
) -> None:
    pending = [argument]
    while pending:
        node, type_ = pending.pop()
        if type_ != DYN and type_.name not in _FORMATTED_TYPES[verb]:
            raise CompilationError(f"error during formatting: %{verb} was given {type_}")
        pending += list_parts(node)


_WHOLE_NUMBERS: Final = frozenset({"int", "uint"})
_DECIMALS: Final = frozenset({"double", "string"})
_HEXADECIMALS: Final = _WHOLE_NUMBERS | {"string", "bytes"}
_FORMATTED_TYPES: Final = {
    "s": _WHOLE_NUMBERS
    | {"list", "map", "double", "bool", "string", "bytes", "type", "null_type"}
    | {DURATION.name, TIMESTAMP.name},
    "d": _WHOLE_NUMBERS,
    "f": _DECIMALS,
    "e": _DECIMALS,
    "b": _WHOLE_NUMBERS | {"bool"},
    "x": _HEXADECIMALS,
    "X": _HEXADECIMALS,
    "o": _WHOLE_NUMBERS,
}
"""Static types that a clause takes; `any` is not among them, other than `dyn`."""
