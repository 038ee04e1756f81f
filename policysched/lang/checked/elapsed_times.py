"""Find the times at which conditions on elapsed times change.

Elapsed times are whole seconds and only grow. A comparison with a constant therefore changes once,
at a known number of seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from policysched.lang.checked import checked_expr, comparisons
from policysched.lang.words import vocabulary

_MAX_SECONDS = 10_000 * 366 * 24 * 60 * 60
"""A time that nothing reaches: years have four digits. Longer durations have the same answers."""

COMPARATORS = ("<", "<=", ">", ">=")


class TimeBound(NamedTuple):
    """The one change of a comparison of an elapsed time.

    Attributes:
        kind: the time that is compared.
        seconds: the first whole number of seconds with the other answer.
        holds_after: whether the comparison is true from then on; otherwise it is true until then.
    """

    kind: vocabulary.ElapsedKind
    seconds: int
    holds_after: bool


def find_time_bound(expr: checked_expr.TypedExpr) -> TimeBound | None:
    """Return the change of a comparison of an elapsed time; None for other expressions."""
    elapsed, comparator, seconds = comparisons.split_constant_comparison(expr)
    if not isinstance(elapsed, checked_expr.ElapsedTime) or seconds is None:
        return None
    seconds = min(seconds, _MAX_SECONDS)
    if comparator in (">=", "<"):
        return TimeBound(elapsed.kind, math.ceil(seconds), comparator == ">=")
    return TimeBound(elapsed.kind, math.floor(seconds) + 1, comparator == ">")


def list_time_bounds(
    exprs: Iterable[checked_expr.TypedExpr], kind: vocabulary.ElapsedKind
) -> tuple[int, ...]:
    """Return the seconds at which a comparison of `kind` changes, ascending, each once.

    Comparisons that never change are left out, because times are never negative.
    """
    found = (find_time_bound(each) for expr in exprs for each in _walk_comparisons(expr))
    bounds = {each.seconds for each in found if each is not None and each.kind == kind}
    return tuple(sorted(bound for bound in bounds if bound > 0))


def _walk_comparisons(expr: checked_expr.TypedExpr) -> Iterator[checked_expr.Compare]:
    for each in checked_expr.walk_expressions(expr):
        if isinstance(each, checked_expr.Compare):
            yield each
