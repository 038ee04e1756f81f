"""Metrics: unit, query, options."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Literal, cast

from policysched.lang import (
    check_exprs,
    checked,
    clauses,
    constants,
    promql,
    syntax,
    syntax_clause,
    syntax_expr,
    units,
    unsupported,
    vocabulary,
)

DEFAULT_REFRESH_SECONDS = 30.0
DEFAULT_MAX_AGE_REFRESHES = 5
"""Without `maxAge` a sample counts until this many refreshes should have replaced it."""

_MIN_SECONDS, _MAX_SECONDS = 1.0, 7 * 86_400.0
MAX_POINTS = 100
_LABEL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check(metric: syntax.Metric, env: constants.Environment) -> checked.CheckedMetric | None:
    """Return the metric with the params of `env` put in; None if something was reported."""
    options = clauses.ClauseSet(env, "metric", metric.options)
    unit = vocabulary.METRIC_UNITS.get(metric.type.text)
    if unit is None:
        env.found.not_one_of("a unit of metrics", metric.type, vocabulary.METRIC_UNITS)
    query = promql.substitute(metric.query, env.params, env.param_names, env.found)
    target, label = _target(metric, options, env)
    refresh = _seconds(options, "refresh", DEFAULT_REFRESH_SECONDS)
    max_age = _seconds(
        options, "maxAge", (refresh or DEFAULT_REFRESH_SECONDS) * DEFAULT_MAX_AGE_REFRESHES
    )
    action, points = _missing(options)
    if unit is not None:
        _refuse_unsupported(options, env, unit)
    if unit is None or label is None or refresh is None or max_age is None:
        return None
    return checked.CheckedMetric(
        key=metric.name.text,
        name=metric.name.text,
        unit=unit,
        promql=query,
        target=target,
        label=label,
        refresh_seconds=refresh,
        max_age_seconds=max_age,
        missing_action=action,
        missing_points=points,
        span=metric.name.span,
    )


def variant_key(metric: checked.CheckedMetric) -> str:
    """Return the key of a metric whose query a profile's params have changed."""
    parts = (metric.promql, metric.label, metric.refresh_seconds, metric.max_age_seconds)
    digest = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{metric.name}@{digest[:8]}"


def _target(
    metric: syntax.Metric, options: clauses.ClauseSet, env: constants.Environment
) -> tuple[Literal["node", "cluster"], str | None]:
    node = options.get("node", syntax_clause.WordClause)
    cluster = options.get("cluster", syntax_clause.WordClause)
    found = env.found
    if cluster is not None:
        if node is not None:
            found.error("PS108", "a metric is about nodes or about clusters", cluster.span)
        else:
            found.add(unsupported.refuse("cluster metric", cluster.span))
    option = node or cluster
    if option is None:
        found.error(
            "PS109",
            f"the metric `{metric.name.text}` does not say which label names the node",
            metric.name.span,
            help="add `node instance`, with the label of the result that holds the node's name",
        )
        return "node", None
    if not _LABEL_NAME.match(option.word.text):
        found.error(
            "PS107",
            f"`{option.word.text}` is not a label name of Prometheus",
            option.word.span,
        )
        return "node", None
    return "node" if node is not None else "cluster", option.word.text


def _seconds(options: clauses.ClauseSet, keyword: str, default: float) -> float | None:
    clause = options.get(keyword, syntax_clause.AmountClause)
    if clause is None:
        return default
    seconds = constants.number(options.env, clause.amount, units.SECONDS)
    if seconds is None:
        return None
    if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
        options.env.found.error("PS111", f"{keyword} is between 1s and 7d", clause.amount.span)
        return None
    return seconds


def _missing(
    options: clauses.ClauseSet,
) -> tuple[Literal["allow", "reject"] | None, int | None]:
    """Return what a metric says about reject and about score."""
    action: Literal["allow", "reject"] | None = None
    clause = options.get("missing", syntax_clause.MissingClause)
    if clause is not None:
        action = missing_action(options.env, clause)
    scored = options.get("missing score", syntax_clause.MissingClause)
    return action, None if scored is None else missing_points(options.env, scored)


def missing_action(
    env: constants.Environment, clause: syntax_clause.MissingClause
) -> Literal["allow", "reject"] | None:
    """Return what missing data means to a reject; None if that was reported."""
    if clause.action.text not in vocabulary.MISSING_ACTIONS or clause.points is not None:
        env.found.not_one_of(
            "what a reject does without data", clause.action, vocabulary.MISSING_ACTIONS
        )
        return None
    return cast("Literal['allow', 'reject']", clause.action.text)


def missing_points(env: constants.Environment, clause: syntax_clause.MissingClause) -> int | None:
    """Return the points of a node without data; None if that was reported."""
    if clause.points is None:
        env.found.error(
            "PS108",
            f"`missing {clause.action.text}` belongs to `reject`",
            clause.span,
            help="a score gives points: `missing score 0`",
        )
        return None
    return constants.whole(env, clause.points, (0, MAX_POINTS), what="points")


def _refuse_unsupported(
    options: clauses.ClauseSet, env: constants.Environment, unit: units.Unit
) -> None:
    """Check options as far as they go, then refuse them."""
    source_name = options.get("source", syntax_clause.WordClause)
    over = options.get("over", syntax_clause.OverClause)
    between = options.get("between", syntax_clause.BetweenClause)
    placed = options.get("placed", syntax_clause.PlacedClause)
    fallback = options.get("fallback", syntax_clause.ExprClause)
    if over is not None:
        check_window(env, over)
    if between is not None:
        for bound in (between.low, between.high):
            constants.number(env, bound, unit)
    if placed is not None:
        _check_number(env, placed.expr)
        constants.number(env, placed.duration, units.SECONDS)
    if fallback is not None:
        _check_number(env, fallback.expr)
    refused: tuple[tuple[str, Any], ...] = (
        ("source", source_name),
        ("between", between),
        ("placed", placed),
        ("fallback", fallback),
    )
    for keyword, clause in refused:
        if clause is not None:
            env.found.add(unsupported.refuse(keyword, clause.span))


def _check_number(env: constants.Environment, expr: syntax_expr.Expr) -> None:
    typed = check_exprs.ExprChecker(env).either(expr)
    if typed is not None and typed.unit is None:
        env.found.error("PS102", "this is a condition, not a number", expr.span)


def check_window(env: constants.Environment, over: syntax_clause.OverClause) -> None:
    """Check a window, then refuse it."""
    constants.number(env, over.duration, units.SECONDS)
    if over.function.text not in vocabulary.WINDOW_FUNCTIONS:
        env.found.not_one_of("a function over a window", over.function, vocabulary.WINDOW_FUNCTIONS)
    elif (over.function.text == "quantile") != (over.argument is not None):
        env.found.error(
            "PS108",
            "`quantile` takes one number, the other functions none",
            over.function.span,
            help="write `over 10m quantile(0.95)` or `over 10m max`",
        )
    elif over.argument is not None:
        constants.number(env, over.argument, units.RATIO)
    env.found.add(
        unsupported.refuse("over", over.span, instead="use `max_over_time(…)` in the query")
    )
