"""Decides whether conditions are always true, never true, or implied by other conditions.

A condition is evaluated at a finite number of points. For a number that is compared with constants,
the points are each constant, a value between any two neighbouring constants, a value below and a
value above all constants, and the ends of the range of the number; values outside this range are
left out (`ranges`). For two numbers that are compared with each other, the points are the possible
signs of their difference. For a selector, the points are both results, in all combinations that are
possible for one object (`selector_sets`). Numbers count as independent, so a result that is the
same at all points is the same for all values. Missing values are not considered; `missing` clauses
define their effect.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from policysched.lang.checked import checked, checked_expr, checked_selector, comparisons
from policysched.lint.sets import ranges, selector_sets

Typed: TypeAlias = checked_expr.TypedExpr
Metrics: TypeAlias = Mapping[str, checked.CheckedMetric]
_Test: TypeAlias = checked_expr.NodeMatch | checked_expr.PodMatch

_WHOLE = (checked_expr.PlacedPodCount, checked_expr.ElapsedTime)
"""Numbers that are always whole."""

MAX_POINTS = 4_096
MAX_STEPS = 100_000
"""The maximum number of comparisons at all points together.

Beyond this limit or `MAX_POINTS`, results are unknown.
"""


class _TooLargeError(Exception):
    """The conditions have more points than the limits allow."""


def evaluate_for_all_values(condition: Typed, metrics: Metrics) -> bool | None:
    """Return the result of a condition for all values; None if it varies or is unknown."""
    try:
        answers = {
            _evaluate_at_point(condition, point)
            for point in _iterate_value_points([condition], metrics)
        }
    except _TooLargeError:
        return None
    return answers.pop() if len(answers) == 1 else None


def is_implied_by_conditions(given: Sequence[Typed], then: Typed, metrics: Metrics) -> bool:
    """Return whether `then` certainly holds whenever all conditions in `given` hold."""
    return _is_satisfied_nowhere(given, [then], metrics)


def _is_satisfied_nowhere(true: Sequence[Typed], false: Sequence[Typed], metrics: Metrics) -> bool:
    """Return whether certainly no point makes all of `true` true and all of `false` false."""
    try:
        return not any(
            all(_evaluate_at_point(each, point) for each in true)
            and not any(_evaluate_at_point(each, point) for each in false)
            for point in _iterate_value_points([*true, *false], metrics)
        )
    except _TooLargeError:
        return False


_Variable: TypeAlias = object
_Point: TypeAlias = Mapping[_Variable, float]


def _iterate_comparisons_and_selectors(condition: Typed) -> Iterator[Typed]:
    """Yield the comparisons and selectors of a condition."""
    match condition:
        case checked_expr.And(operands=operands) | checked_expr.Or(operands=operands):
            for operand in operands:
                yield from _iterate_comparisons_and_selectors(operand)
        case checked_expr.Not(operand=operand):
            yield from _iterate_comparisons_and_selectors(operand)
        case _:
            yield condition


def _iterate_value_points(conditions: Iterable[Typed], metrics: Metrics) -> Iterator[_Point]:
    """Yield every possible combination of values of all variables.

    Raises:
        _TooLargeError: the conditions have too many points.
    """
    atoms = [
        atom for condition in conditions for atom in _iterate_comparisons_and_selectors(condition)
    ]
    limits: dict[Typed, set[float]] = {}
    values: dict[_Variable, Sequence[float]] = {}
    for atom in atoms:
        match atom:
            case checked_expr.Compare():
                number, _, limit = comparisons.split_constant_comparison(atom)
                if limit is None:
                    values[_get_compared_numbers(atom)] = _find_possible_difference_signs(
                        atom, metrics
                    )
                else:
                    limits.setdefault(number, set()).add(limit)
            case _:
                values[atom] = (0.0, 1.0)
    for number, found in limits.items():
        choose = (
            _choose_whole_numbers if isinstance(number, _WHOLE) else _choose_representative_values
        )
        values[number] = choose(sorted(found), ranges.find_value_range(number, metrics))
    count = math.prod(len(each) for each in values.values())
    if count > MAX_POINTS or count * len(atoms) > MAX_STEPS:
        raise _TooLargeError
    yield from _combine_values(values)


def _combine_values(values: Mapping[_Variable, Sequence[float]]) -> Iterator[_Point]:
    """Yield the combinations of values in which the selector results are possible together."""
    tests = [each for each in values if isinstance(each, _Test)]
    possible: dict[tuple[float, ...], bool] = {}
    for chosen in itertools.product(*values.values()):
        point = dict(zip(values, chosen, strict=True))
        held = tuple(point[each] for each in tests)
        if held not in possible:
            possible[held] = _is_satisfiable(dict(zip(tests, held, strict=True)))
        if possible[held]:
            yield point


def _is_satisfiable(held: Mapping[_Test, float]) -> bool:
    """Return whether one node and one pod can meet the chosen results of all selectors."""
    for kind in (checked_expr.NodeMatch, checked_expr.PodMatch):
        said: list[checked_selector.Selector] = [
            each.selector if is_held else checked_selector.SelectorNegation(each.selector)
            for each, is_held in held.items()
            if isinstance(each, kind)
        ]
        if said and selector_sets.can_never_match_together(*said):
            return False
    return True


def _choose_representative_values(
    limits: Sequence[float], allowed: ranges.ValueRange
) -> list[float]:
    """Return one allowed value for each class of values that the limits distinguish."""
    between = [low / 2 + high / 2 for low, high in itertools.pairwise(limits)]
    below, above = math.nextafter(limits[0], -math.inf), math.nextafter(limits[-1], math.inf)
    inside = {
        value for value in (below, *limits, *between, above) if allowed.low <= value <= allowed.high
    }
    ends = {end for end in (allowed.low, allowed.high) if math.isfinite(end)}
    return sorted(inside | ends)


def _choose_whole_numbers(limits: Sequence[float], allowed: ranges.ValueRange) -> list[float]:
    """Return one allowed whole number for each class of numbers that the limits distinguish."""
    near = {float(math.floor(limit)) + step for limit in limits for step in (-1, 0, 1, 2)}
    return sorted(value for value in near if allowed.low <= value <= allowed.high)


def _get_compared_numbers(atom: checked_expr.Compare) -> tuple[Typed, Typed]:
    """Return the two operands of a comparison in a canonical order.

    The order is the same for `a < b` and `b > a`.
    """
    first, second = sorted((atom.left, atom.right), key=repr)
    return first, second


def _find_possible_difference_signs(atom: checked_expr.Compare, metrics: Metrics) -> list[float]:
    """Return the possible signs of the first number minus the second: -1, 0, 1."""
    first, second = _get_compared_numbers(atom)
    if first == second:
        return [0.0]
    one, other = ranges.find_value_range(first, metrics), ranges.find_value_range(second, metrics)
    found = []
    if one.low < other.high:
        found.append(-1.0)
    if one.low <= other.high and other.low <= one.high:
        found.append(0.0)
    if one.high > other.low:
        found.append(1.0)
    return found


def _evaluate_at_point(condition: Typed, point: _Point) -> bool:
    """Return the result of a condition for the values of a point."""
    match condition:
        case checked_expr.And(operands=operands):
            return all(_evaluate_at_point(each, point) for each in operands)
        case checked_expr.Or(operands=operands):
            return any(_evaluate_at_point(each, point) for each in operands)
        case checked_expr.Not(operand=operand):
            return not _evaluate_at_point(operand, point)
        case checked_expr.Compare():
            return _compare_at_point(condition, point)
        case _:
            return bool(point[condition])


def _compare_at_point(condition: checked_expr.Compare, point: _Point) -> bool:
    """Return the result of a comparison, from a number's value or from a difference's sign."""
    number, comparator, limit = comparisons.split_constant_comparison(condition)
    if limit is not None:
        return comparisons.SIGNS[comparator](point[number], limit)
    pair = _get_compared_numbers(condition)
    turned = condition.comparator
    if pair[0] != condition.left:
        turned = comparisons.MIRRORED[turned]
    return comparisons.SIGNS[turned](point[pair], 0.0)
