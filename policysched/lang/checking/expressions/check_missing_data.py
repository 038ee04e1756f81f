"""Find possibly missing data in expressions, and report statements that do not handle it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from policysched.lang import source
from policysched.lang.checked import checked_expr
from policysched.lang.checking import number_reading
from policysched.lang.diagnostics import fixes

Typed = checked_expr.TypedExpr


def iterate_possibly_missing_parts(expr: Typed) -> Iterator[Typed]:
    """Yield the parts whose values can be missing, except those with a fallback.

    These are metrics, labels read as numbers, limits, values of the pod with which labels are
    compared, counted pods of a topology domain, and divisions (and `mod`) by a value that can be
    zero. Parts of a fallback are included only if the value that it replaces can be missing.
    """
    match expr:
        case checked_expr.ValueWithFallback(value=value, fallback=fallback):
            if any(True for _ in iterate_possibly_missing_parts(value)):
                yield from iterate_possibly_missing_parts(fallback)
            return
        case (
            checked_expr.MetricRef()
            | checked_expr.NodeLabelNumber()
            | checked_expr.PodLimits()
            | checked_expr.ArithmeticOperation(operator="/")
            | checked_expr.NumberFunctionCall(function="mod")
        ):
            if not _divides_by_constant(expr):
                yield expr
        case checked_expr.NodeLabelIsPodValue(value=value) if value.can_be_missing:
            yield expr
        case checked_expr.PlacedPodCount() | checked_expr.DeviceNumber() if expr.can_be_missing:
            yield expr
        case _:
            pass
    for child in checked_expr.list_operands(expr):
        yield from iterate_possibly_missing_parts(child)


def _divides_by_constant(expr: Typed) -> bool:
    operands = checked_expr.list_operands(expr)
    return bool(operands) and isinstance(operands[-1], checked_expr.Const)


def collect_metric_keys(parts: Sequence[checked_expr.TypedExpr]) -> tuple[bool, set[str]]:
    """Return whether all parts are metrics, and the keys of the metrics among them."""
    metrics = [part for part in parts if isinstance(part, checked_expr.MetricRef)]
    return len(metrics) == len(parts), {metric.metric for metric in metrics}


def explain_unsettled_missing_data(
    value: checked_expr.TypedExpr, answers: Collection[object]
) -> str:
    """Return why a `missing` clause is needed if the usual reason does not apply, otherwise ""."""
    for part in iterate_possibly_missing_parts(value):
        if isinstance(part, checked_expr.NodeLabelIsPodValue):
            return f"a pod without `{part.value.text}` has nothing to compare"
        if isinstance(part, checked_expr.DeviceNumber):
            return "pods without such a device have no value here"
        if isinstance(part, checked_expr.PlacedPodCount) and part.topology_key is not None:
            return f"a node without the label `{part.topology_key}` is in no domain"
    if len(answers) > 1 and None not in answers:
        return "its metrics have different `missing` clauses"
    has_fallback = any(
        isinstance(part, checked_expr.ValueWithFallback)
        for part in checked_expr.walk_expressions(value)
    )
    return "the fallback can be missing too" if has_fallback else ""


def report_unhandled_missing_data(
    env: number_reading.NameEnvironment,
    part: source.Span,
    statement: source.Span,
    choices: Sequence[str],
    why: str,
) -> None:
    """Report a statement that reads possibly missing data without handling it."""
    text = env.found.texts[statement.file]
    end = text.span(statement.end, statement.end)
    env.found.add_error(
        "PS304",
        (
            f"`{env.found.get_text_on_one_line(part)}` may be missing, and no `missing` "
            "clause covers it"
        ),
        part,
        label=why or f"a {env.target or 'node'} without data has no value here",
        help="add " + " or ".join(f"`{each}`" for each in choices),
        fix=fixes.make_replacement_fix(end, f" {choices[0]}"),
    )
