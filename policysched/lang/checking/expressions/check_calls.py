"""Check functions in expressions: `free(cpu)`, `label("gpu-memory")`, `min(a, b)`."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Protocol, cast

from policysched import units
from policysched.lang import source
from policysched.lang.checked import checked_expr
from policysched.lang.checking import diagnostic_collector, number_reading
from policysched.lang.checking.expressions import check_devices, check_operands, word_arguments
from policysched.lang.checking.selectors import check_resource_names
from policysched.lang.diagnostics import diagnostics
from policysched.lang.foreign import foreign_words
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import kubernetes_names, vocabulary

Typed = checked_expr.TypedExpr


class NumberChecker(Protocol):
    """The methods of the expression checker that this module calls."""

    env: number_reading.NameEnvironment
    found: diagnostic_collector.DiagnosticCollector

    def check_number(self, expr: syntax_expr.Expr, expected: units.Unit | None) -> Typed | None:
        """Return the typed expression if it is a number; None if an error was reported."""


def check_call(
    checker: NumberChecker, call: syntax_expr.Call, expected: units.Unit | None
) -> Typed | None:
    """Return the typed call; None if an error was reported."""
    name = call.function.text
    found = checker.found
    if name in vocabulary.STRATEGIES:
        report_misplaced_strategy(found, name, call.span)
        return None
    if name not in vocabulary.FUNCTIONS:
        _report_unknown_function(found, call)
        return None
    if name in vocabulary.NODE_RESOURCE_FUNCTIONS or name in ("requests", "limits"):
        return _check_resource_call(checker, call)
    if name in ("label", "annotation"):
        return _check_node_number_call(checker, call)
    if name in vocabulary.DEVICE_COUNT_FUNCTIONS or name in vocabulary.DEVICE_VALUE_FUNCTIONS:
        return check_devices.check_device_call(checker.env, call)
    return _check_arithmetic_call(checker, call, expected)


def _report_unknown_function(
    found: diagnostic_collector.DiagnosticCollector, call: syntax_expr.Call
) -> None:
    """Report an unknown function; for a function of another language, suggest the equivalent."""
    name = call.function.text
    ours = foreign_words.FUNCTIONS.get(name.lower())
    edit = diagnostics.TextEdit(call.function.span, ours) if ours else None
    template = foreign_words.CALLS.get(name.lower())
    arguments = [found.get_text_on_one_line(each.value.span).strip('"') for each in call.arguments]
    if template is not None and len(set(re.findall(r"\{\d\}", template))) == len(arguments):
        edit = diagnostics.TextEdit(call.span, template.format(*arguments))
    if edit is None:
        known = (*vocabulary.FUNCTIONS, *vocabulary.STRATEGIES)
        found.report_undefined_name(
            "function",
            call.function,
            known,
            instead=foreign_words.CALLS_OF_OTHERS.get(name.lower(), ""),
        )
        return
    found.add_error(
        "PS104",
        f"there is no function `{name}`",
        edit.span,
        help=f"write `{edit.replacement}`",
        fix=diagnostics.Fix((edit,), safe=False),
    )


def report_misplaced_strategy(
    found: diagnostic_collector.DiagnosticCollector, name: str, span: source.Span
) -> None:
    """Report a resource strategy inside an expression."""
    found.add_error(
        "PS108",
        f"`{name}` cannot be part of an expression",
        span,
        help=f"write a separate score: `score {name}(cpu: 1, memory: 1)`",
    )


def _check_resource_call(checker: NumberChecker, call: syntax_expr.Call) -> Typed | None:
    """Check `requests`, `limits` and the resource functions of nodes."""
    name = call.function.text
    example = word_arguments.make_example_call(name)
    word = word_arguments.read_word_argument(checker.found, call, example)
    if word is None or check_resource_names.report_wrong_resource(
        checker.env, name, word, _find_reader_domain(checker, name)
    ):
        return None
    resource = word.text
    unit = units.find_resource_unit(resource)
    if name == "requests":
        return checked_expr.PodRequests(resource, unit, call.span)
    if name == "limits":
        if checker.env.target == "cluster":
            checker.found.add_error(
                "PS108",
                "a binding has the requests of its replicas, but not their limits",
                call.span,
                help=f"write `requests({resource})`",
            )
            return None
        return checked_expr.PodLimits(resource, unit, call.span)
    return checked_expr.NodeResource(cast("Any", name), resource, unit, call.span)


def _find_reader_domain(checker: NumberChecker, function: str) -> vocabulary.Domain:
    """Return the kind of objects whose resource a function reads."""
    is_of_cluster = checker.env.target == "cluster"
    if function in vocabulary.NODE_RESOURCE_FUNCTIONS:
        return "cluster" if is_of_cluster else "node"
    return "resource" if is_of_cluster else "pod"


def _check_node_number_call(checker: NumberChecker, call: syntax_expr.Call) -> Typed | None:
    """Check `label` and `annotation`, which read numbers of the node."""
    name: Any = call.function.text
    word = word_arguments.read_word_argument(checker.found, call, f'{name}("example.com/power")')
    if word is None:
        return None
    if name == "annotation" and checker.env.target == "cluster":
        checker.found.add_error(
            "PS108",
            "annotations of clusters cannot be read",
            call.span,
            help='write the number into a label, and read it with `label("…")`',
        )
        return None
    problem = kubernetes_names.find_label_key_problem(word.text)
    if problem:
        checker.found.add_error("PS107", f"the {name} key `{word.text}` {problem}", word.span)
        return None
    return checked_expr.NodeLabelNumber(word.text, units.NUMBER, call.span, name)


def _check_arithmetic_call(
    checker: NumberChecker, call: syntax_expr.Call, expected: units.Unit | None
) -> Typed | None:
    """Check a function of numbers: the number of arguments, and their units."""
    name = call.function.text
    bounds = {"min": (2, 100), "max": (2, 100), "mod": (2, 2)}.get(name, (1, 1))
    has_keys = any(argument.key is not None for argument in call.arguments)
    if has_keys or not bounds[0] <= len(call.arguments) <= bounds[1]:
        count = {(2, 100): "two or more numbers", (2, 2): "two numbers"}.get(bounds, "one number")
        is_single = name in ("min", "max") and len(call.arguments) == 1
        alone = (
            checker.found.get_text_on_one_line(call.arguments[0].value.span) if is_single else ""
        )
        advice = f"write `{alone}`" if alone else ""
        checker.found.add_error("PS108", f"`{name}` takes {count}", call.span, help=advice)
        return None
    if name in ("min", "max", "mod"):
        return _check_arguments_of_one_unit(checker, call, expected)
    operand = checker.check_number(call.arguments[0].value, expected if name != "number" else None)
    if operand is None or operand.unit is None:
        return None
    if name == "number":
        return _convert_to_plain_number(operand, operand.unit)
    if name in ("floor", "ceil"):
        return _round_in_whole_units(call, operand, operand.unit)
    return checked_expr.NumberFunctionCall(cast("Any", name), (operand,), operand.unit, call.span)


def _check_arguments_of_one_unit(
    checker: NumberChecker, call: syntax_expr.Call, expected: units.Unit | None
) -> Typed | None:
    """Check `min`, `max` or `mod`; the first argument that is not a literal determines the unit."""
    values = [argument.value for argument in call.arguments]
    anchor = next(
        (value for value in values if number_reading.resolve_literal(checker.env, value) is None),
        values[0],
    )
    first = checker.check_number(anchor, expected)
    if first is None or first.unit is None:
        return None
    typed: list[Typed] = []
    unit = first.unit
    for value in values:
        own = first if value is anchor else checker.check_number(value, unit)
        if own is None:
            return None
        left, right = check_operands.Operand(anchor, first), check_operands.Operand(value, own)
        both = check_operands.unify_operand_units(checker.found, left, right, "is compared with")
        if both is None:
            return None
        typed.append(both.right)
        if both.unit.is_ratio and not unit.may_exceed_one:
            unit = both.unit
    return checked_expr.NumberFunctionCall(
        cast("Any", call.function.text), tuple(typed), unit, call.span
    )


def _convert_to_plain_number(operand: Typed, unit: units.Unit) -> Typed:
    if unit.core_power == 0:
        return cast("Typed", dataclasses.replace(cast("Any", operand), unit=units.NUMBER))
    scale = checked_expr.Const(units.CORES_SCALE**unit.core_power, units.NUMBER, operand.span)
    return checked_expr.ArithmeticOperation("/", operand, scale, units.NUMBER, operand.span)


def _round_in_whole_units(call: syntax_expr.Call, operand: Typed, unit: units.Unit) -> Typed:
    """Return `operand` rounded in the user's scale: to whole cores, not to whole milli-cores."""
    function = cast("Any", call.function.text)
    if unit.core_power == 0:
        return checked_expr.NumberFunctionCall(function, (operand,), unit, call.span)
    scale = checked_expr.Const(units.CORES_SCALE**unit.core_power, units.NUMBER, call.span)
    whole = checked_expr.ArithmeticOperation("/", operand, scale, unit, call.span)
    rounded = checked_expr.NumberFunctionCall(function, (whole,), unit, call.span)
    return checked_expr.ArithmeticOperation("*", rounded, scale, unit, call.span)
