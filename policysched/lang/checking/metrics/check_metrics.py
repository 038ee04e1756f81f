"""Check the units, queries and options of metrics.

A fallback can read other metrics. All metrics are therefore checked without fallbacks first. Then
each fallback is checked after the fallbacks of the metrics that it reads.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from typing import Literal, cast

from policysched import units
from policysched.lang.checked import checked
from policysched.lang.checking import check_metric_times, clauses, number_reading
from policysched.lang.checking.metrics import (
    check_metric_options,
    check_promql,
    metric_order,
    promql_params,
)
from policysched.lang.syntax import syntax, syntax_clause, syntax_expr
from policysched.lang.words import vocabulary

DEFAULT_REFRESH_SECONDS = 30.0
DEFAULT_MAX_AGE_REFRESHES = 5
"""Number of refresh intervals after which a sample is too old if a metric has no `maxAge`."""

_MIN_SECONDS, _MAX_SECONDS = 1.0, 7 * 86_400.0
MAX_POINTS = 100
_LABEL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check_metrics(
    metrics: Mapping[str, syntax.Metric],
    env: number_reading.NameEnvironment,
    base: Mapping[str, checked.CheckedMetric],
) -> dict[str, checked.CheckedMetric]:
    """Return the valid metrics, keyed by name, with the params of `env` inserted.

    Args:
        metrics: the declarations, keyed by name.
        env: resolves names; its metrics are ignored.
        base: the metrics outside profiles; a metric that differs from its base gets its own key.
    """
    alone = {name: _check_metric(metric, env) for name, metric in metrics.items()}
    plain = {name: metric for name, metric in alone.items() if metric is not None}
    found: dict[str, checked.CheckedMetric] = {}
    for name in metric_order.sort_metrics_by_fallback(metrics, env):
        own = plain.get(name)
        if own is None:
            continue
        # A fallback can only read completely checked metrics. `placed` must not read metrics, but
        # the error message needs their names.
        costs = dataclasses.replace(env, metrics=plain, target=own.target)
        fallbacks = dataclasses.replace(env, metrics=found, target=own.target)
        whole = check_metric_options.add_placed_increase_and_fallback(
            own, metrics[name], costs, fallbacks
        )
        if whole is not None:
            check_metric_times.check_placed_duration(whole, metrics[name], env.found)
            found[name] = _copy_with_distinct_key(whole, base.get(name))
    return {name: found[name] for name in metrics if name in found}


def _copy_with_distinct_key(
    metric: checked.CheckedMetric, base: checked.CheckedMetric | None
) -> checked.CheckedMetric:
    if base is None or metric == base:
        return metric
    digest = hashlib.sha256(repr(metric).encode("utf-8", "surrogatepass")).hexdigest()
    return dataclasses.replace(metric, key=f"{metric.name}@{digest[:8]}")


def _check_metric(
    metric: syntax.Metric, env: number_reading.NameEnvironment
) -> checked.CheckedMetric | None:
    """Check a metric except for `placed` and `fallback`; return None if an error was reported."""
    options = clauses.ClauseSet(env, "metric", metric.options)
    unit = vocabulary.METRIC_UNITS.get(metric.type.text)
    if unit is None:
        env.found.report_word_not_allowed("a metric unit", metric.type, vocabulary.METRIC_UNITS)
    query = promql_params.substitute_params(metric.query, env.params, env.param_names, env.found)
    target, label = _check_metric_target(metric, options, env)
    check_promql.check_promql_query(
        query, label, env.found.texts[metric.query.span.file], env.found
    )
    refresh = _read_seconds_option(options, "refresh", DEFAULT_REFRESH_SECONDS)
    max_age = _read_seconds_option(
        options, "maxAge", (refresh or DEFAULT_REFRESH_SECONDS) * DEFAULT_MAX_AGE_REFRESHES
    )
    action, points = _check_missing_options(options)
    if unit is None or label is None or refresh is None or max_age is None:
        return None
    check_metric_times.check_max_age(options, refresh, max_age)
    low, high = check_metric_options.check_metric_range(options, unit)
    window = check_metric_options.check_metric_window(options, refresh)
    source_name = options.get_clause("source", syntax_expr.WordClause)
    return checked.CheckedMetric(
        key=metric.name.text,
        name=metric.name.text,
        unit=unit,
        promql=query.text,
        target=target,
        label=label,
        refresh_seconds=refresh,
        max_age_seconds=max_age,
        missing_action=action,
        missing_points=points,
        span=metric.name.span,
        source_name=source_name.word.text if source_name is not None else None,
        low=low,
        high=high,
        window=window,
    )


def _check_metric_target(
    metric: syntax.Metric, options: clauses.ClauseSet, env: number_reading.NameEnvironment
) -> tuple[Literal["node", "cluster"], str | None]:
    """Return whether the metric is about nodes or clusters, and the label that names them."""
    node = options.get_clause("node", syntax_expr.WordClause)
    cluster = options.get_clause("cluster", syntax_expr.WordClause)
    found = env.found
    if cluster is not None and node is not None:
        found.add_error("PS108", "a metric cannot have both `node` and `cluster`", cluster.span)
    option = node or cluster
    if option is None and found.is_next_to_unparsed_part(metric.span):
        return "node", None
    if option is None:
        found.add_error(
            "PS109",
            f"the metric `{metric.name.text}` does not declare the label that names the node",
            metric.name.span,
            help="add `node instance`, or the label of the result that contains the node's name",
        )
        return "node", None
    if not _LABEL_NAME.match(option.word.text):
        found.add_error(
            "PS107",
            f"`{option.word.text}` is not a Prometheus label name",
            option.word.span,
            help="label names consist of letters, digits and `_`; rename the label in the "
            "query: `label_replace(…)`",
        )
        return "node", None
    return "node" if node is not None else "cluster", option.word.text


def _read_seconds_option(options: clauses.ClauseSet, keyword: str, default: float) -> float | None:
    """Return a duration in seconds, or the default without the option; None after an error."""
    clause = options.get_clause(keyword, syntax_clause.AmountClause)
    if clause is None:
        return default
    seconds = number_reading.read_number_in_unit(options.env, clause.amount, units.SECONDS)
    if seconds is None:
        return None
    if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
        options.env.found.add_error(
            "PS111", f"{keyword} must be between 1s and 7d", clause.amount.span
        )
        return None
    return seconds


def _check_missing_options(
    options: clauses.ClauseSet,
) -> tuple[Literal["allow", "reject"] | None, int | None]:
    """Return what the metric's `missing` options declare for `reject` and for `score`."""
    action: Literal["allow", "reject"] | None = None
    clause = options.get_clause("missing", syntax_clause.MissingClause)
    if clause is not None:
        action = check_missing_action(options.env, clause)
    scored = options.get_clause("missing score", syntax_clause.MissingClause)
    return action, None if scored is None else check_missing_points(options.env, scored)


def check_missing_action(
    env: number_reading.NameEnvironment, clause: syntax_clause.MissingClause
) -> Literal["allow", "reject"] | None:
    """Return the action of `reject` for missing data; None if an error was reported."""
    if clause.action.text not in vocabulary.MISSING_ACTIONS or clause.points is not None:
        env.found.report_word_not_allowed(
            "an action for missing data", clause.action, vocabulary.MISSING_ACTIONS
        )
        return None
    return cast("Literal['allow', 'reject']", clause.action.text)


def check_missing_points(
    env: number_reading.NameEnvironment, clause: syntax_clause.MissingClause
) -> int | None:
    """Return the points of a node without data; None if an error was reported."""
    if clause.points is None:
        env.found.add_error(
            "PS108",
            f"`missing {clause.action.text}` belongs to `reject`",
            clause.span,
            help=f"write `missing score {clause.action.text}`"
            if clause.action.text.isdecimal()
            else "write the points of nodes without data: `missing score 0`",
        )
        return None
    return number_reading.read_whole_number(env, clause.points, (0, MAX_POINTS), what="points")
