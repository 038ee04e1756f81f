"""Read the numbers in clauses, params and profiles.

A number is a literal, or the name of a param or of a let that contains one literal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from policysched import spelling, units
from policysched.lang import source
from policysched.lang.checked import checked, checked_selector
from policysched.lang.checking import diagnostic_collector
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import numerals


@dataclasses.dataclass(frozen=True, slots=True)
class NameEnvironment:
    """The definitions of all names while a policy is checked with one set of param values.

    Attributes:
        params: all params with valid values.
        param_names: names of all declared params, including invalid ones.
        lets: all declared lets except recursive ones.
        broken_lets: names of the recursive lets, which have been reported; uses are not reported
            again.
        metrics: all valid metrics, with `params` inserted into their queries.
        metric_names: names of all declared metrics, including invalid ones.
        found: the collector of diagnostics.
        now: seconds since the epoch, to warn about expired rules; None to ignore expiry.
        target: the objects that rules reject and score: nodes, or clusters in a clusterPolicy; None
            for a let that is checked on its own.
        scope: the pods of the policy that is checked; None outside policies.
    """

    params: Mapping[str, checked.CheckedParam]
    param_names: frozenset[str]
    lets: Mapping[str, syntax.LetExpr | syntax.LetSelector]
    broken_lets: frozenset[str]
    metrics: Mapping[str, checked.CheckedMetric]
    metric_names: frozenset[str]
    found: diagnostic_collector.DiagnosticCollector
    now: float | None = None
    target: Literal["node", "cluster"] | None = "node"
    scope: checked_selector.PolicyPodScope | None = None

    @property
    def names(self) -> frozenset[str]:
        """All names that expressions can refer to."""
        return self.param_names | self.lets.keys() | self.metric_names

    @property
    def silent_names(self) -> frozenset[str]:
        """Declared but invalid names, whose declarations have already been reported."""
        wrong_params = self.param_names - self.params.keys()
        return wrong_params | self.broken_lets | (self.metric_names - self.metrics.keys())


def resolve_literal(env: NameEnvironment, expr: syntax_expr.Expr) -> numerals.NumberLiteral | None:
    """Return the literal that an expression consists of, directly or through lets, or None."""
    match expr:
        case syntax_expr.Number(numeral=numeral):
            return numerals.parse_numeral(numeral.text)
        case syntax_expr.Negate(operand=syntax_expr.Number(numeral=numeral)):
            return numerals.parse_numeral("-" + numeral.text)
        case syntax_expr.Ref(name=name):
            let = env.lets.get(name.text)
            return resolve_literal(env, let.expr) if isinstance(let, syntax.LetExpr) else None
        case _:
            return None


def read_number_in_unit(
    env: NameEnvironment, amount: syntax_expr.Amount, unit: units.Unit
) -> float | None:
    """Return the amount in the canonical scale of `unit`; None if an error was reported."""
    if isinstance(amount, syntax_expr.Value) and amount.text in env.params:
        return _read_param_number(env, amount, env.params[amount.text], unit)
    literal = _resolve_amount_literal(env, amount)
    if literal is None:
        return None
    value = literal.convert_to_unit(unit)
    if value is None:
        report_wrong_unit(env, amount.span, unit)
    return value


def _resolve_amount_literal(
    env: NameEnvironment, amount: syntax_expr.Amount
) -> numerals.NumberLiteral | None:
    """Return the literal of an amount, directly or through lets; None after an error."""
    if isinstance(amount, syntax_expr.Numeral):
        literal = numerals.parse_numeral(amount.text)
        if literal is None:
            report_bad_number(env, amount)
        return literal
    if amount.text in env.silent_names:
        return None
    if amount.text not in env.lets:
        env.found.report_undefined_name("param or let", amount, env.param_names | env.lets.keys())
        return None
    literal = resolve_literal(env, syntax_expr.Ref(amount.span, amount))
    if literal is None:
        env.found.add_error(
            "PS102",
            f"`{amount.text}` is not a constant number",
            amount.span,
            help="only params, and lets of a single literal, are allowed here",
        )
    return literal


def _read_param_number(
    env: NameEnvironment, name: syntax_expr.Value, param: checked.CheckedParam, unit: units.Unit
) -> float | None:
    """Return the value of a param; report a string or a unit of another dimension."""
    if isinstance(param.value, str) or param.unit is None:
        env.found.add_error("PS102", f"`{name.text}` is a string, not a number", name.span)
        return None
    if not param.unit.has_same_dimension(unit):
        env.found.add_error("PS102", f"`{name.text}` is in {param.unit}, not in {unit}", name.span)
        return None
    return param.value


def read_whole_number(
    env: NameEnvironment,
    amount: syntax_expr.Amount,
    bounds: tuple[int, int],
    *,
    what: str,
    code: str = "PS111",
    advice_for_zero: str = "",
) -> int | None:
    """Return a whole number within inclusive bounds; None if an error was reported.

    `advice_for_zero` is the help for 0 if 0 is out of bounds; "" to suggest a near number.
    """
    value = read_number_in_unit(env, amount, units.NUMBER)
    if value is None:
        return None
    low, high = bounds
    is_plain = _is_plain_number(env, amount)
    if not is_plain or value != int(value) or not low <= value <= high:
        written = env.found.get_text_on_one_line(amount.span)
        label = f"this is {value:g}" if written[:1].isalpha() or not is_plain else ""
        problem = f"{what} must be a whole number from {low} to {high}, not `{written}`"
        meant = _suggest_nearest_whole_number(written, low, high)
        if value == int(value) and low <= value <= high and meant != written.removesuffix("%"):
            meant = str(int(value))
        is_negative_weight = code == "PS301" and value < 0
        advice = f"write `{meant}`" if meant else ""
        fix = None
        if is_negative_weight:
            advice = (
                "weights are positive: write `prefer low` in a score, `not (…)` in a preference"
            )
        elif value == 0 and advice_for_zero:
            advice = advice_for_zero
        elif meant:
            fix = fixes.make_replacement_fix(amount.span, meant)
        env.found.add_error(code, problem, amount.span, label=label, help=advice, fix=fix)
        return None
    return int(value)


def _is_plain_number(env: NameEnvironment, amount: syntax_expr.Amount) -> bool:
    """Return whether a valid number is a literal without a unit, or a param that is not a ratio."""
    if isinstance(amount, syntax_expr.Value) and amount.text in env.params:
        unit = env.params[amount.text].unit
        return unit is not None and not unit.is_ratio
    literal = _resolve_amount_literal(env, amount)
    return literal is not None and literal.plain is not None


def _suggest_nearest_whole_number(written: str, low: int, high: int) -> str:
    """Return the whole number in the bounds nearest to `written`; "" for names and fractions."""
    digits = written.removesuffix("%")
    if not digits.lstrip("-").isdecimal():
        return ""
    return str(min(max(int(digits[:20]), low), high))


def report_bad_number(env: NameEnvironment, numeral: syntax_expr.Numeral) -> None:
    """Report a number that cannot be parsed; usually, the suffix is unknown."""
    advice = numerals.describe_refused_number(numeral.text)
    if advice:
        message = f"`{numeral.text}` is not a valid number"
        env.found.add_error("PS102", message, numeral.span, help=advice)
        return
    _report_bad_suffix(env, numeral)


def _report_bad_suffix(env: NameEnvironment, numeral: syntax_expr.Numeral) -> None:
    """Report a number with an unknown suffix, and suggest a known suffix."""
    suffix = numerals.get_numeral_suffix(numeral.text)
    other = numerals.OTHER_SPELLINGS.get(suffix)
    near = [other] if other is not None else spelling.find_nearest_names(suffix, numerals.SUFFIXES)
    digits = numeral.text[: len(numeral.text) - len(suffix)]
    fix = None
    if near:
        edit = diagnostics.TextEdit(numeral.span, digits + near[0])
        fix = diagnostics.Fix((edit,), safe=False)
    env.found.add_error(
        "PS102",
        f"`{numeral.text}` has an unknown unit",
        numeral.span,
        label=f"did you mean `{digits}{near[0]}`?" if near else "",
        help=(f"write `{digits}{near[0]}`; " if near else "")
        + "units are %; ms, s, m, h, d, w, y; n, u, m, k, M, G, T, P, E; Ki, Mi, Gi, Ti, Pi, Ei",
        fix=fix,
    )


_EXAMPLES = {
    units.RATIO: "80%",
    units.COMPUTED_RATIO: "80%",
    units.BYTES: "4Gi",
    units.CORES: "500m",
    units.SECONDS: "5m",
    units.BYTES_PER_SECOND: "10M",
    units.PER_SECOND: "100",
    units.NUMBER: "5",
}

_SUFFIXES = {units.RATIO: "%", units.COMPUTED_RATIO: "%", units.BYTES: "Gi", units.SECONDS: "s"}


def report_wrong_unit(env: NameEnvironment, span: source.Span, unit: units.Unit) -> None:
    """Report a literal that cannot be converted to the unit that its context requires."""
    written, example = env.found.get_text_on_one_line(span), _EXAMPLES.get(unit)
    help_text = f"write it like `{example}`" if example else ""
    suffix = _SUFFIXES.get(unit)
    if suffix is not None and written.replace(".", "", 1).isdigit():
        is_bytes = unit == units.BYTES
        named = (
            numerals.suggest_bytes_spelling(written) if is_bytes else f"write `{written}{suffix}`"
        )
        help_text = named or help_text
    if numerals.has_binary_suffix(written) and not unit.byte_power:
        help_text = numerals.BINARY_HELP
    elif _swap_suffix_case(written, unit):
        help_text = f"write `{_swap_suffix_case(written, unit)}`"
    env.found.add_error("PS102", f"`{written}` is not an amount in {unit}", span, help=help_text)


def _swap_suffix_case(written: str, unit: units.Unit) -> str:
    """Return `500M` for `500m` bytes and `500m` for `500M` cores; "" for other suffixes."""
    ours, other = ("m", "M") if unit == units.CORES else ("M", "m")
    is_meant = written.endswith(other) and (unit == units.CORES or unit.byte_power)
    return written[:-1] + ours if is_meant else ""
