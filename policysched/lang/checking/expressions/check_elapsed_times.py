"""Check elapsed times in expressions: `waiting > 10m`, `nodeAge < 5m`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from policysched import units
from policysched.lang.checked import checked_expr, elapsed_times
from policysched.lang.checking import number_reading
from policysched.lang.diagnostics import fixes
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import vocabulary

Typed = checked_expr.TypedExpr
_OF_POD = "select resources with `for resources where …`; `during` and `expires` depend on the time"


def check_elapsed_time(
    env: number_reading.NameEnvironment, ref: syntax_expr.Ref
) -> checked_expr.ElapsedTime | None:
    """Return the time that `ref` names; None if an error was reported."""
    kind = cast("vocabulary.ElapsedKind", ref.name.text)
    if env.target == "cluster":
        thing = "nodes" if kind == "nodeAge" else "pods"
        message = f"`{kind}` is a time of {thing}, but this expression is evaluated for clusters"
        env.found.add_error("PS108", message, ref.span, help=_OF_POD)
        return None
    return checked_expr.ElapsedTime(kind, units.SECONDS, ref.span)


def report_misused_time(
    env: number_reading.NameEnvironment, typed: Typed, *, allows_bare: bool
) -> bool:
    """Report the first elapsed time that is not compared with a constant; return whether one is.

    With `allows_bare`, the whole expression can be an elapsed time, as in a let.
    """
    if isinstance(typed, checked_expr.ElapsedTime):
        if not allows_bare:
            _report_computed_time(env, typed)
        return not allows_bare
    for parent, elapsed in _find_elapsed_times(typed):
        if not isinstance(parent, checked_expr.Compare) or not _has_constant(parent):
            _report_computed_time(env, elapsed)
            return True
        if parent.comparator not in elapsed_times.COMPARATORS:
            _report_equality(env, parent, elapsed)
            return True
    return False


def _find_elapsed_times(
    expr: Typed,
) -> Iterator[tuple[Typed, checked_expr.ElapsedTime]]:
    """Yield the elapsed times below an expression, each with the expression that reads it."""
    for each in checked_expr.walk_expressions(expr):
        for operand in checked_expr.list_operands(each):
            if isinstance(operand, checked_expr.ElapsedTime):
                yield each, operand


def _has_constant(compare: checked_expr.Compare) -> bool:
    return any(isinstance(side, checked_expr.Const) for side in (compare.left, compare.right))


def _report_computed_time(
    env: number_reading.NameEnvironment, elapsed: checked_expr.ElapsedTime
) -> None:
    kind = elapsed.kind
    env.found.add_error(
        "PS102",
        f"`{kind}` can only be compared with a duration",
        elapsed.span,
        notes=("the scheduler must know when the answer changes, to try waiting pods again then",),
        help=f"write a condition such as `{kind} > 10m`; the duration can be a param",
    )


def _report_equality(
    env: number_reading.NameEnvironment,
    compare: checked_expr.Compare,
    elapsed: checked_expr.ElapsedTime,
) -> None:
    """Report `waiting = 10m`, which would be true for one second."""
    meant = ">=" if compare.comparator == "=" else "<"
    is_left = compare.left == elapsed
    left, right = compare.left.span, compare.right.span
    sides = [env.found.get_text_on_one_line(span) for span in (left, right)]
    written, duration = sides if is_left else reversed(sides)
    text = f"{written} {meant} {duration}"
    env.found.add_error(
        "PS102",
        f"`{elapsed.kind}` is equal to a duration for one second only",
        compare.span,
        help=f"write `{text}`",
        fix=fixes.make_replacement_fix(compare.span, text),
    )
