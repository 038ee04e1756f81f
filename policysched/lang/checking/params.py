"""Check the declarations of params, and their values from profiles and the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from policysched import units
from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import diagnostic_collector
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import numerals, vocabulary

GIVEN = "(params)"
"""Name of the text that represents given params in diagnostics, one line per param."""

_MILLISECONDS = (
    ("y", 365 * 86_400_000),
    ("w", 7 * 86_400_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
)


class SuppliedParam(NamedTuple):
    """A param value from the configuration or the command line."""

    name: syntax_expr.Value
    value: syntax_expr.Value


def format_supplied_params(values: Mapping[str, str]) -> source.SourceText:
    """Format given params as lines of `name=value`, so that diagnostics can refer to them."""
    lines = [
        f"{_escape_to_one_line(name)}={_escape_to_one_line(value)}"
        for name, value in sorted(values.items())
    ]
    return source.SourceText(GIVEN, "\n".join(lines))


def locate_supplied_params(
    values: Mapping[str, str], text: source.SourceText
) -> dict[str, SuppliedParam]:
    """Locate given params in the text of `format_supplied_params`; return them keyed by name."""
    result = {}
    for number, (name, value) in enumerate(sorted(values.items()), start=1):
        start = sum(len(text.line(line)) + 1 for line in range(1, number))
        end = start + len(text.line(number))
        middle = start + len(_escape_to_one_line(name))
        result[name] = SuppliedParam(
            syntax_expr.Value(text.span(start, middle), name),
            syntax_expr.Value(text.span(middle + 1, end), value),
        )
    return result


def _escape_to_one_line(text: str) -> str:
    return " ".join(text.split())


def resolve_param(
    param: syntax.Param,
    override: syntax_expr.Amount | None,
    found: diagnostic_collector.DiagnosticCollector,
    *,
    is_text: bool = False,
) -> checked.CheckedParam | None:
    """Determine the value of a param; return None if an error was reported.

    Args:
        param: the declaration.
        override: the value from a profile or from outside; None to use the default.
        found: the collector of diagnostics.
        is_text: whether the override is plain text from outside; the param's type determines how
            to parse it.
    """
    kind = param.type.text
    if kind not in vocabulary.PARAM_TYPES:
        found.report_word_not_allowed("a param type", param.type, vocabulary.PARAM_TYPES)
        return None
    value = param.default if override is None else override
    if kind in ("string", "strings"):
        return _resolve_string_param(param, value, found, is_text=is_text and override is not None)
    if isinstance(value, syntax_expr.Value) and is_text and override is not None:
        value = syntax_expr.Numeral(value.span, value.text.strip())
    return _resolve_number_param(param, value, found)


def _resolve_string_param(
    param: syntax.Param,
    value: syntax_expr.Amount,
    found: diagnostic_collector.DiagnosticCollector,
    *,
    is_text: bool,
) -> checked.CheckedParam | None:
    """Return a param of one or several strings; report a value without quotes."""
    if isinstance(value, syntax_expr.Numeral) or not (value.quoted or is_text):
        found.add_error(
            "PS102",
            f"`{param.name.text}` is a string",
            value.span,
            help=f'write `"{value.text}"`',
        )
        return None
    name, kind = param.name.text, param.type.text
    if kind == "string":
        query = _escape_promql_string(value.text)
        return checked.CheckedParam(
            name, kind, None, value.text, query, param.name.span, (value.text,)
        )
    texts = tuple(each.strip() for each in value.text.split(","))
    if not all(texts):
        found.add_error(
            "PS111",
            f"`{name}` is a list of strings, of which none can be empty",
            value.span,
            help='separate them by commas, as in `"blue, green"`',
        )
        return None
    query = _escape_promql_string("|".join(map(re.escape, texts)))
    return checked.CheckedParam(name, kind, None, ",".join(texts), query, param.name.span, texts)


def _escape_promql_string(text: str) -> str:
    """Escape a text for a PromQL string in `"`, with Go's escapes."""
    short = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return "".join(
        short.get(char, char if char.isprintable() else f"\\U{ord(char):08x}") for char in text
    )


def _resolve_number_param(
    param: syntax.Param, value: syntax_expr.Amount, found: diagnostic_collector.DiagnosticCollector
) -> checked.CheckedParam | None:
    """Return a number or duration param; report a value in another unit."""
    kind = param.type.text
    unit = vocabulary.PARAM_UNITS[kind]
    literal = numerals.parse_numeral(value.text) if isinstance(value, syntax_expr.Numeral) else None
    number = literal.convert_to_unit(unit) if literal is not None else None
    if number is None:
        found.add_error(
            "PS102",
            f"`{value.text}` is not {'a duration' if kind == 'duration' else f'in {kind}'}, "
            f"as the param `{param.name.text}` requires",
            value.span,
            help=_suggest_param_value(value.text, unit),
        )
        return None
    if kind == "duration" and number < 0:
        found.add_error("PS111", "a duration must not be negative", value.span)
        return None
    text = (
        _format_promql_duration(number)
        if kind == "duration"
        else _format_promql_number(number, unit)
    )
    return checked.CheckedParam(param.name.text, kind, unit, number, text, param.name.span)


def _suggest_param_value(written: str, unit: units.Unit) -> str:
    """Return how to write a value in `unit`, or "" if that is not clear."""
    if unit == units.SECONDS:
        return "durations look like `5m`, `90s`"
    if unit == units.RATIO and numerals.parse_numeral(f"{written}%") is not None:
        return f"write `{written}%`"
    return (
        ""
        if numerals.parse_numeral(written) is not None
        else numerals.describe_refused_number(written)
    )


def _format_promql_duration(seconds: float) -> str:
    """Return a duration in PromQL notation: whole numbers of each unit, largest unit first."""
    rest = round(seconds * 1000)
    parts = []
    for suffix, size in _MILLISECONDS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{suffix}")
    return "".join(parts) or "0s"


def _format_promql_number(number: float, unit: units.Unit) -> str:
    """Return a number in PromQL notation; milli-cores are converted to cores."""
    if unit == units.CORES:
        number /= units.CORES_SCALE
    text = repr(int(number)) if number == int(number) else repr(number)
    return re.sub(r"e\+?", "e", text)
