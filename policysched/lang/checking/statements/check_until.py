"""Report hysteresis that cannot work because `until` does not fit `when`.

Both conditions are evaluated at a finite number of points. A quantity that is compared with
constants takes these values: each constant, the midpoint between any two neighbouring constants,
one value below all constants and one above. If a metric has a valid range, values outside the range
are omitted, and its bounds are added. Any other condition is tried as true and as false. Quantities
are treated as independent, so a result that is true at none of the points is never true.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from policysched.lang.checked import checked, checked_expr, comparisons
from policysched.lang.checking import number_reading
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.syntax import syntax_clause

Typed = checked_expr.TypedExpr
_Point: TypeAlias = Sequence[float]

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MAX_POINTS = 10_000
"""Conditions with more combinations of values are not checked."""


def report_until_date(
    clause: syntax_clause.ExprClause, env: number_reading.NameEnvironment
) -> bool:
    """Report `until 2099-01-01`, which should be `expires`; return whether it was reported."""
    date = env.found.get_text_on_one_line(clause.expr.span).strip('"')
    if not _DATE.fullmatch(date):
        return False
    expires = f'expires "{date}"'
    env.found.add_error(
        "PS102",
        f"`until` takes a condition; `{date}` is a date",
        clause.span,
        help=f"write `{expires}`",
        fix=fixes.make_replacement_fix(clause.span, expires),
    )
    return True


def check_until_conditions(when: Typed, until: Typed, env: number_reading.NameEnvironment) -> bool:
    """Return whether `until` fits `when`; report errors and warnings."""
    quantities = _ConditionQuantities(env.metrics)
    for condition in (when, until):
        quantities.collect_quantities(condition)
    if not 0 < quantities.count_value_combinations() <= _MAX_POINTS:
        return True
    points = list(quantities.iterate_value_combinations())
    not_held = [point for point in points if not quantities.is_true(when, point)]
    released = [point for point in not_held if quantities.is_true(until, point)]
    label = diagnostics.SpanLabel(when.span, "`when`")
    if not released:
        env.found.add_error(
            "PS309",
            "a rejected node is never released",
            until.span,
            label="false whenever `when` is false",
            secondary=(label,),
            help="`until` must be true for nodes that have recovered: `> 90% until … < 80%`",
        )
        return False
    if len(released) == len(not_held):
        env.found.add_error(
            "PS309",
            "a rejected node is released as soon as `when` is false, as without `until`",
            until.span,
            label="true whenever `when` is false",
            secondary=(label,),
            help="remove `until`, or leave a gap between the two conditions",
        )
        return False
    if quantities.does_single_number_decide():
        for point, where in ((points[0], "low"), (points[-1], "high")):
            if point in not_held and point not in released:
                _warn_of_until_direction(until, where, label, env)
    return True


def _warn_of_until_direction(
    until: Typed, where: str, label: diagnostics.SpanLabel, env: number_reading.NameEnvironment
) -> None:
    """Warn that `until` is false for extreme values, so that nodes stay rejected."""
    env.found.add_diagnostic(
        diagnostics.Diagnostic(
            "PS309",
            f"a rejected node stays rejected if the value is very {where}",
            until.span,
            label=f"false for very {where} values",
            secondary=(label,),
            help="check the operator: `when … > 90% until … < 80%`",
            severity=diagnostics.Severity.WARNING,
        )
    )


class _ConditionQuantities:
    """The quantities that two conditions read, and the values to test for each quantity.

    Args:
        metrics: all metrics, keyed by name, for their valid ranges.
    """

    def __init__(self, metrics: Mapping[str, checked.CheckedMetric]) -> None:
        self._ranges = {
            metric.key: (metric.low, metric.high)
            for metric in metrics.values()
            if metric.fallback is None
        }
        self._read: list[Typed] = []
        self._limits: list[set[float]] = []
        self._has_single_values = False

    def collect_quantities(self, condition: Typed) -> None:
        """Add the quantities that a condition compares, and their constants."""
        match condition:
            case checked_expr.And(operands=operands) | checked_expr.Or(operands=operands):
                for operand in operands:
                    self.collect_quantities(operand)
            case checked_expr.Not(operand=operand):
                self.collect_quantities(operand)
            case _:
                expr, comparator, limit = comparisons.split_constant_comparison(condition)
                self._has_single_values |= comparator in {"=", "!="}
                if expr not in self._read:
                    self._read.append(expr)
                    self._limits.append(set())
                if limit is not None:
                    self._limits[self._read.index(expr)].add(limit)

    def count_value_combinations(self) -> int:
        """Return the number of combinations of values; 0 if no metric can have a value."""
        count = 1
        for index in range(len(self._read)):
            count *= len(self._list_test_values(index))
        return count

    def iterate_value_combinations(self) -> Iterator[_Point]:
        """Yield all combinations of values, lowest values first."""
        yield from itertools.product(
            *(self._list_test_values(index) for index in range(len(self._read)))
        )

    def does_single_number_decide(self) -> bool:
        """Return whether both conditions only compare the same number, without `=` and `!=`."""
        return len(self._limits) == 1 and not self._has_single_values

    def is_true(self, condition: Typed, point: _Point) -> bool:
        """Evaluate a condition under the assumption that no value is missing."""
        match condition:
            case checked_expr.And(operands=operands):
                return all(self.is_true(each, point) for each in operands)
            case checked_expr.Or(operands=operands):
                return any(self.is_true(each, point) for each in operands)
            case checked_expr.Not(operand=operand):
                return not self.is_true(operand, point)
            case _:
                expr, comparator, limit = comparisons.split_constant_comparison(condition)
                value = point[self._read.index(expr)]
                return bool(value) if limit is None else comparisons.SIGNS[comparator](value, limit)

    def _list_test_values(self, index: int) -> list[float]:
        """Return the values to test for a quantity, in increasing order."""
        limits = sorted(self._limits[index])
        if not limits:
            return [0.0, 1.0]
        between = [(low + high) / 2 for low, high in itertools.pairwise(limits)]
        values = sorted({limits[0] - 1, *limits, *between, limits[-1] + 1})
        expr = self._read[index]
        if not isinstance(expr, checked_expr.MetricRef) or expr.metric not in self._ranges:
            return values
        low, high = self._ranges[expr.metric]
        lowest = values[0] if low is None else low
        highest = values[-1] if high is None else high
        inside = {value for value in values if lowest <= value <= highest}
        return sorted(inside | {lowest, highest})
