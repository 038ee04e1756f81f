"""Bring two operands to the same unit, and report incompatible units."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple, cast

from policysched import units
from policysched.lang.checked import checked_expr
from policysched.lang.checking import diagnostic_collector
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import numerals

Typed = checked_expr.TypedExpr


class Operand(NamedTuple):
    """A number as written and as a typed expression; messages need both."""

    written: syntax_expr.Expr
    typed: Typed


class SameUnitOperands(NamedTuple):
    """Two checked numbers and their common unit."""

    left: Typed
    right: Typed
    unit: units.Unit


def unify_operand_units(
    found: diagnostic_collector.DiagnosticCollector, left: Operand, right: Operand, verb: str
) -> SameUnitOperands | None:
    """Convert both numbers to one unit; report incompatible units and return None.

    Args:
        found: the collector of diagnostics.
        left: first operand.
        right: second operand.
        verb: the operation in the message, such as `is compared with`.
    """
    first, second = left.typed, right.typed
    first = convert_constant_unit(first, get_unit(second)) or first
    second = convert_constant_unit(second, get_unit(first)) or second
    if not (
        is_unit_compatible(first, get_unit(second)) and is_unit_compatible(second, get_unit(first))
    ):
        _report_unit_mismatch(found, left, right, verb)
        return None
    return SameUnitOperands(first, second, _find_common_unit(get_unit(first), get_unit(second)))


def _find_common_unit(first: units.Unit, second: units.Unit) -> units.Unit:
    """Return the unit that is a ratio, or else the first; a computed ratio takes precedence."""
    if first.is_ratio and second.is_ratio:
        return first if first.may_exceed_one else second
    return second if second.is_ratio else first


def convert_constant_unit(typed: Typed, unit: units.Unit) -> checked_expr.Const | None:
    """Convert a plain constant (2 * 3) to another unit, like a literal; None if impossible."""
    if not isinstance(typed, checked_expr.Const):
        return None
    if is_unit_compatible(typed, unit):
        return typed
    if typed.unit == units.NUMBER and unit == units.CORES:
        return dataclasses.replace(typed, value=typed.value * units.CORES_SCALE, unit=unit)
    is_zero = typed.unit == units.NUMBER and typed.value == 0
    return dataclasses.replace(typed, unit=unit) if is_zero else None


def _report_unit_mismatch(
    found: diagnostic_collector.DiagnosticCollector, left: Operand, right: Operand, verb: str
) -> None:
    """Report two operands with incompatible units, with a fix if the intended unit is clear."""
    is_constant = isinstance(left.typed, checked_expr.Const)
    wrong, other = (left, right) if is_constant else (right, left)
    written, unit = found.get_text_on_one_line(wrong.written.span), get_unit(other.typed)
    named = written
    if not isinstance(wrong.typed, checked_expr.Const):
        named = f"`{written}`, which is {_describe_unit(get_unit(wrong.typed))}"
    expected = found.get_text_on_one_line(other.written.span)
    found.add_error(
        "PS102",
        f"`{expected}` is {_describe_unit(unit)} but {verb} {named}",
        wrong.written.span,
        label=_describe_number_unit(wrong.typed),
        secondary=(diagnostics.SpanLabel(other.written.span, str(unit)),),
        notes=_explain_unreachable_share(verb, unit, wrong.typed),
        help=_suggest_share_of_resource(other, written, wrong.typed)
        or _suggest_unit_spelling(written, unit, wrong.typed),
        fix=_make_percent_fix(wrong, written, unit),
    )


def fold_constants(
    expr: checked_expr.ArithmeticOperation,
) -> checked_expr.ArithmeticOperation | checked_expr.Const:
    """Return the result if both operands are constant and the result is finite, or else `expr`."""
    left, right = expr.left, expr.right
    if not isinstance(left, checked_expr.Const) or not isinstance(right, checked_expr.Const):
        return expr
    if expr.operator == "/" and right.value == 0:
        return expr
    results = {
        "+": lambda: left.value + right.value,
        "-": lambda: left.value - right.value,
        "*": lambda: left.value * right.value,
        "/": lambda: left.value / right.value,
    }
    value = results[expr.operator]()
    return checked_expr.Const(value, expr.unit, expr.span) if math.isfinite(value) else expr


def get_unit(typed: Typed) -> units.Unit:
    """Return the unit; a condition, which has already been reported, counts as a plain number."""
    return typed.unit if typed.unit is not None else units.NUMBER


def is_unit_compatible(typed: Typed, unit: units.Unit) -> bool:
    """Return whether a number can be combined with a number in `unit`.

    A plain constant outside -1..1 is not compatible with a declared ratio.
    """
    own = get_unit(typed)
    if not own.has_same_dimension(unit):
        return False
    is_plain = isinstance(typed, checked_expr.Const) and not own.is_ratio
    is_bounded = unit.is_ratio and not unit.may_exceed_one
    return not (is_bounded and is_plain and abs(cast("checked_expr.Const", typed).value) > 1)


def _describe_unit(unit: units.Unit) -> str:
    if unit == units.RATIO:
        return "a ratio (0..1)"
    if unit.is_ratio:
        return "a ratio"
    return "a plain number" if unit.is_dimensionless else f"in {unit}"


def _describe_number_unit(typed: Typed) -> str:
    unit = get_unit(typed)
    return "plain number" if unit == units.NUMBER else str(unit)


def _explain_unreachable_share(verb: str, unit: units.Unit, typed: Typed) -> tuple[str, ...]:
    if unit != units.RATIO or verb != "is compared with" or get_unit(typed) != units.NUMBER:
        return ()
    if not isinstance(typed, checked_expr.Const):
        return ()
    return (f"a ratio cannot exceed 1 (100%), so it never reaches {typed.value:g}",)


def _suggest_unit_spelling(written: str, unit: units.Unit, typed: Typed) -> str:
    """Return how to write a constant in `unit`, or "" if that is not clear."""
    if not isinstance(typed, checked_expr.Const):
        return ""
    if numerals.has_binary_suffix(written) and not unit.byte_power:
        return numerals.BINARY_HELP
    if get_unit(typed) != units.NUMBER:
        return ""
    if not written.replace(".", "", 1).isdigit():
        return ""
    if unit == units.BYTES:
        return numerals.suggest_bytes_spelling(written)
    suffix = {units.RATIO: "%", units.SECONDS: "s"}.get(unit, "")
    return f"write `{written}{suffix}`" if suffix else ""


def _suggest_share_of_resource(other: Operand, written: str, typed: Typed) -> str:
    """Return the help for `free(cpu) < 10%`, which compares an amount with a share."""
    if not isinstance(typed, checked_expr.Const) or not get_unit(typed).is_ratio:
        return ""
    for part in checked_expr.walk_expressions(other.typed):
        if isinstance(part, (checked_expr.NodeResource, checked_expr.PodRequests)):
            name = part.resource if part.resource.isidentifier() else f'"{part.resource}"'
            return f"write `{written} * allocatable({name})`"
    return ""


def _make_percent_fix(operand: Operand, written: str, unit: units.Unit) -> diagnostics.Fix | None:
    if unit != units.RATIO or not _suggest_unit_spelling(written, unit, operand.typed):
        return None
    if not isinstance(operand.written, syntax_expr.Number):
        return None
    return fixes.make_replacement_fix(operand.written.span, f"{written}%")
