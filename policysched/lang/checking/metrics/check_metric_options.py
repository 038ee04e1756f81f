"""Check the metric options `between`, `over`, `placed` and `fallback`."""

from __future__ import annotations

import dataclasses

from policysched import units
from policysched.lang.checked import checked, checked_expr, metric_windows
from policysched.lang.checking import check_metric_times, clauses, number_reading
from policysched.lang.checking.expressions import check_exprs, check_operands
from policysched.lang.syntax import syntax, syntax_clause, syntax_expr
from policysched.lang.words import vocabulary

_MIN_SECONDS, _MAX_SECONDS = 1.0, 7 * 86_400.0


def check_metric_range(
    options: clauses.ClauseSet, unit: units.Unit
) -> tuple[float | None, float | None]:
    """Return the valid range of a metric in the scale of its query; None for no bound."""
    between = options.get_clause("between", syntax_clause.BetweenClause)
    if between is None:
        return None, None
    env = options.env
    low, high = (
        number_reading.read_number_in_unit(env, each, unit) for each in (between.low, between.high)
    )
    if low is None or high is None:
        return None, None
    if low >= high:
        env.found.add_error(
            "PS111", "the first bound of `between` must be less than the second", between.span
        )
    scale = units.CORES_SCALE if unit == units.CORES else 1.0
    return low / scale, high / scale


def check_metric_window(
    options: clauses.ClauseSet, refresh_seconds: float
) -> checked_expr.MetricWindow | None:
    """Return the window that a metric declares; None without a window or after an error."""
    over = options.get_clause("over", syntax_clause.OverClause)
    if over is None:
        return None
    found = check_window(options.env, over)
    if found is None:
        return None
    problem = metric_windows.find_window_problem(found, refresh_seconds)
    if problem:
        options.env.found.add_error(
            "PS111",
            problem,
            over.duration.span,
            help="aggregate the samples in the query: `max_over_time(…)`",
        )
    if metric_windows.is_doubtful_window(found.seconds, refresh_seconds):
        check_metric_times.warn_of_short_window(options.env.found, over.duration.span)
    return found


def check_window(
    env: number_reading.NameEnvironment, over: syntax_clause.OverClause
) -> checked_expr.MetricWindow | None:
    """Return the window of an `over` clause; None if an error was reported."""
    seconds = _read_bounded_seconds(env, over.duration, "a window")
    function = over.function.text
    if function not in vocabulary.WINDOW_FUNCTIONS:
        env.found.report_word_not_allowed(
            "a function over a window", over.function, vocabulary.WINDOW_FUNCTIONS
        )
        return None
    if (function == "quantile") != (over.argument is not None):
        env.found.add_error(
            "PS108",
            "`quantile` takes one number; the other functions take none",
            over.function.span,
            help="write `over 10m quantile(0.95)` or `over 10m max`",
        )
        return None
    quantile = None
    if over.argument is not None:
        quantile = number_reading.read_number_in_unit(env, over.argument, units.RATIO)
        if quantile is not None and not 0 <= quantile <= 1:
            env.found.add_error("PS111", "a quantile must be between 0 and 1", over.argument.span)
        if quantile is None:
            return None
    return None if seconds is None else checked_expr.MetricWindow(seconds, function, quantile)  # type: ignore[arg-type] # one of WINDOW_FUNCTIONS


def _read_bounded_seconds(
    env: number_reading.NameEnvironment, amount: syntax_expr.Amount, what: str
) -> float | None:
    seconds = number_reading.read_number_in_unit(env, amount, units.SECONDS)
    if seconds is not None and not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
        env.found.add_error("PS111", f"{what} must be between 1s and 7d", amount.span)
        return None
    return seconds


def add_placed_increase_and_fallback(
    metric: checked.CheckedMetric,
    written: syntax.Metric,
    costs: number_reading.NameEnvironment,
    fallbacks: number_reading.NameEnvironment,
) -> checked.CheckedMetric | None:
    """Return the metric with its `placed` load and its fallback; None if either is invalid.

    `costs` resolves names in the load, `fallbacks` in the fallback.
    """
    fallback, placed = None, None
    for option in written.options:
        match option:
            case syntax_clause.ExprClause():
                fallback = _check_number_in_metric_unit(
                    metric, written, option.expr, "is replaced by", fallbacks
                )
                if fallback is None:
                    return None
            case syntax_clause.PlacedClause():
                placed = _check_placed_pod_increase(metric, written, option, costs)
                if placed is None:
                    return None
            case _:
                pass
    return dataclasses.replace(metric, fallback=fallback, placed=placed)


def _check_placed_pod_increase(
    metric: checked.CheckedMetric,
    written: syntax.Metric,
    option: syntax_clause.PlacedClause,
    env: number_reading.NameEnvironment,
) -> checked.PlacedCost | None:
    """Check `placed`: its value must not change after the pod is placed."""
    if metric.target == "cluster":
        env.found.add_error(
            "PS108",
            "`placed` is not supported for metrics of clusters",
            option.span,
            help="remove it",
        )
        return None
    value = _check_number_in_metric_unit(metric, written, option.expr, "grows by", env)
    seconds = _read_bounded_seconds(env, option.duration, "the time for which a placed pod counts")
    if value is None or seconds is None:
        return None
    for part in checked_expr.walk_expressions(value):
        is_measured = isinstance(part, checked_expr.MetricRef | checked_expr.DeviceNumber)
        if is_measured or checked_expr.reads_placed_pods(part):
            env.found.add_error(
                "PS108",
                (
                    "the load that a pod adds must be known when the pod is placed; this value "
                    "changes later"
                ),
                part.span,
                help="use `requests(…)`, `limits(…)`, `priority`, `allocatable(…)`, `label(…)`",
            )
            return None
    return checked.PlacedCost(value, seconds)


def _check_number_in_metric_unit(
    metric: checked.CheckedMetric,
    written: syntax.Metric,
    expr: syntax_expr.Expr,
    verb: str,
    env: number_reading.NameEnvironment,
) -> checked_expr.TypedExpr | None:
    """Check that an expression is a number in the unit of the metric; return None if not."""
    checker = check_exprs.ExprChecker(env)
    typed = checker.check_number_or_condition(expr, metric.unit)
    if typed is None:
        return None
    if typed.unit is None:
        env.found.add_error("PS102", "this is a condition, not a number", expr.span)
        return None
    name = syntax_expr.Ref(written.name.span, written.name)
    value = checked_expr.MetricRef(metric.key, metric.unit, name.span)
    own = check_operands.Operand(name, value)
    both = check_operands.unify_operand_units(
        env.found, own, check_operands.Operand(expr, typed), verb
    )
    return None if both is None else both.right
