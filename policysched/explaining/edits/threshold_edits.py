"""Relaxes thresholds of `reject` rules to the nearest number that makes the pod fit."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator

import numpy as np

from policysched import units
from policysched.cluster.columns import columns
from policysched.compiler.rewrites import tree
from policysched.explaining import rule_trials, suggested_edit, trials
from policysched.explaining.facts import rejections, rule_values
from policysched.explaining.numbers import amounts_text
from policysched.lang.checked import checked, checked_expr

_MOST_THRESHOLDS = 4
_MOST_CLOSER = 3

_Leaf = checked_expr.Const | checked_expr.NodeLabelNumber


@dataclasses.dataclass(frozen=True, slots=True)
class _Threshold:
    """A constant in a comparison of a condition.

    Attributes:
        rule: the rule that contains the condition.
        constant: the constant with its current value.
        is_term: whether the constant is a side of the comparison or a summand. Counts stay whole in
            terms; factors can become fractional.
    """

    rule: checked.RejectRule
    constant: checked_expr.Const
    is_term: bool

    def make_rule_with_value(self, value: float) -> checked.RejectRule:
        """Return the rule with `value` as the threshold."""
        changed = dataclasses.replace(self.constant, value=value)
        condition = _replace_constant(self.rule.condition, self.constant, changed)
        return dataclasses.replace(self.rule, condition=condition)

    def get_third_digit_step(self, value: float) -> float:
        """Return the unit of the third written digit of a value; at least 1 for counts."""
        step = amounts_text.get_third_digit_step(value, self.constant.unit)
        is_count = self.is_term and value.is_integer() and self.constant.value.is_integer()
        return max(step, 1.0) if is_count and not self.constant.unit.is_ratio else step

    def list_values_near(self, value: float) -> list[float]:
        """Return numbers of about three digits near a value, the closest to the constant first."""
        step = self.get_third_digit_step(value)
        count = round(value / step, 6)  # absorbs float errors: 8Gi is 800 steps of 0.01Gi
        counts = {math.floor(count) - 1, math.floor(count), math.ceil(count), math.ceil(count) + 1}
        found = [_round_to_written_digits(count * step, self.constant.unit) for count in counts]
        return sorted(found, key=lambda number: abs(number - self.constant.value))

    def get_next_nearer_value(self, value: float) -> float:
        """Return the threshold one step nearer to the current threshold."""
        step = math.copysign(self.get_third_digit_step(value), self.constant.value - value)
        return _round_to_written_digits(value + step, self.constant.unit)

    def make_threshold_edit(self, value: float) -> suggested_edit.SuggestedEdit:
        """Return the edit that sets the threshold to `value`."""
        unit = self.constant.unit
        before, after = (
            amounts_text.format_canonical_value(v, unit) for v in (self.constant.value, value)
        )
        text = f"threshold from {before} to {after}"
        return rule_trials.make_rule_edit(
            self.rule, "threshold", before, after, text, suggested_edit.RELAXES_RULE
        )


def find_threshold_edits(
    tried: trials.PodTrials, known: rejections.PodRejections, rule: checked.RejectRule
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield for each constant of a condition the nearest threshold that makes the pod fit."""
    nodes = known.find_nodes_rejected_only_by(rule.head.name)
    for compare in checked_expr.walk_expressions(rule.condition):
        if not isinstance(compare, checked_expr.Compare) or compare.comparator in ("=", "!="):
            continue
        for constant in _collect_written_constants(compare):
            is_term = any(
                _is_constant_term(side, constant) for side in (compare.left, compare.right)
            )
            values = find_crossing_values(tried, compare, constant, nodes)
            yield from _find_nearest_threshold_edit(
                tried, _Threshold(rule, constant, is_term), values
            )


def find_crossing_values(
    tried: trials.PodTrials, compare: checked_expr.Compare, leaf: _Leaf, nodes: list[str]
) -> list[float]:
    """Return the values of a constant or label at which both sides are equal on a node.

    The difference between the sides is linear in most constants, including factors. For other
    constants the values are guesses, and trials reject the wrong guesses.
    """

    def difference(value: float) -> columns.FloatArray:
        other = checked_expr.Const(value, leaf.unit, leaf.span)
        sides = (_replace_constant(side, leaf, other) for side in (compare.left, compare.right))
        left, right = (
            rule_values.evaluate_expression_on_nodes(tried, side, nodes, tried.info.shape)
            for side in sides
        )
        return left - right

    at_zero = difference(0.0)
    slope = difference(1.0) - at_zero
    with np.errstate(all="ignore"):
        turns = -at_zero / slope
    return [float(value) for value in np.unique(turns[np.isfinite(turns)])]


def _find_nearest_threshold_edit(
    tried: trials.PodTrials, threshold: _Threshold, values: list[float]
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the edit to the nearest threshold of about three digits that makes the pod fit."""

    def fits(value: float) -> tuple[str, ...]:
        return rule_trials.find_feasible_nodes_with_rule(
            tried, threshold.rule, threshold.make_rule_with_value(value)
        )

    present = threshold.constant.value
    for value in sorted(values, key=lambda v: abs(v - present))[:_MOST_THRESHOLDS]:
        for candidate in threshold.list_values_near(value):
            nodes = fits(candidate)
            if not nodes:
                continue
            closest, gained = _find_nearest_fitting_value(threshold, candidate, nodes, fits)
            if not tried.is_limit_reached:
                yield threshold.make_threshold_edit(closest).add_fitting_nodes(gained)
            return


def _find_nearest_fitting_value(
    threshold: _Threshold,
    value: float,
    nodes: tuple[str, ...],
    fits: Callable[[float], tuple[str, ...]],
) -> tuple[float, tuple[str, ...]]:
    """Move up to `_MOST_CLOSER` steps towards the current threshold while the pod fits."""
    for _ in range(_MOST_CLOSER):
        nearer = threshold.get_next_nearer_value(value)
        found = fits(nearer)
        if not found:
            break
        value, nodes = nearer, found
    return value, nodes


def _round_to_written_digits(value: float, unit: units.Unit) -> float:
    """Return the value that results from writing `value` with nine digits and reading it back."""
    scale = amounts_text.get_written_unit_scale(value, unit)
    return float(f"{value / scale:.9g}") * scale


def _collect_written_constants(expr: checked_expr.TypedExpr) -> Iterator[checked_expr.Const]:
    """Yield the constants that the user wrote.

    Constants that a unit conversion inserts have the span of their parent and are skipped.
    """
    for child in checked_expr.list_operands(expr):
        if isinstance(child, checked_expr.Const):
            if child.span != expr.span:
                yield child
        else:
            yield from _collect_written_constants(child)


def _is_constant_term(expr: checked_expr.TypedExpr, constant: checked_expr.Const) -> bool:
    match expr:
        case checked_expr.ArithmeticOperation(operator="+" | "-", left=left, right=right):
            return _is_constant_term(left, constant) or _is_constant_term(right, constant)
        case _:
            return expr is constant


def _replace_constant(
    expr: checked_expr.TypedExpr, old: _Leaf, new: checked_expr.Const
) -> checked_expr.TypedExpr:
    """Return the expression with `new` in place of `old`."""

    def change(each: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
        return new if each == old and each.span == old.span else each

    return tree.bottom_up(expr, change)
