"""Check constant arguments at compile time: patterns, times and formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policysched.cel.failures import CompilationError, EvaluationError
from policysched.cel.functions import regexes, string_format, times
from policysched.cel.static_types import DURATION, DYN, TIMESTAMP, Type
from policysched.cel.syntax_tree import CelNode, FunctionCall, ListLiteral, Literal, MapLiteral

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


def check_format(text: str, arguments: ListLiteral, types: Sequence[Type]) -> None:
    """Check a constant format with a list of arguments, which have these types.

    Raises:
        CompilationError: the format is wrong, or an argument does not fit.
    """
    try:
        parts = string_format.parse_clauses(text)
    except EvaluationError as error:
        raise CompilationError(str(error)) from None
    clauses = [part for part in parts if isinstance(part, string_format.Clause)]
    if len(clauses) > len(types):
        raise CompilationError(f"index {len(types)} out of range")
    if len(clauses) < len(types):
        raise CompilationError(
            "too many arguments supplied to string.format"
            f" (expected {len(clauses)}, got {len(types)})"
        )
    for clause, argument, type_ in zip(clauses, arguments.elements, types, strict=True):
        if not _can_format(clause.verb, argument, type_):
            raise CompilationError(f"error during formatting: %{clause.verb} was given {type_}")


def _can_format(verb: str, argument: CelNode, type_: Type) -> bool:
    if type_ == DYN:
        return True
    if type_.name not in _FORMATTED_TYPES[verb]:
        return False
    is_literal = isinstance(argument, (ListLiteral, MapLiteral))
    return not is_literal or all(
        each == DYN or each.name in _FORMATTED_TYPES[verb] for each in type_.parameters
    )


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
