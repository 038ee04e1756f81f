"""Check `score`, which takes a number, a condition or a resource strategy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from policysched import units
from policysched.lang import source
from policysched.lang.checked import checked, checked_expr
from policysched.lang.checking import clauses, diagnostic_collector
from policysched.lang.checking.expressions import check_exprs, check_missing_data
from policysched.lang.checking.metrics import check_metric_options, check_metrics
from policysched.lang.checking.selectors import check_resource_names
from policysched.lang.syntax import syntax, syntax_clause, syntax_expr
from policysched.lang.words import kubernetes_names, vocabulary

MAX_POINTS = 100
_DEFAULT_RESOURCES = (("cpu", 1), ("memory", 1))
_MIN_SHAPE_POINTS = 2


def is_resource_strategy(node: syntax.Score) -> bool:
    """Return whether a score is a resource strategy, such as `LeastAllocated(…)`."""
    return _get_strategy_call(node.value) is not None


def _get_strategy_call(value: syntax_expr.Expr) -> syntax_expr.Call | None:
    """Return the call of a resource strategy, or None; a bare name becomes a call."""
    if isinstance(value, syntax_expr.Ref):
        value = syntax_expr.Call(value.span, value.name, ())
    if isinstance(value, syntax_expr.Call) and value.function.text in vocabulary.STRATEGIES:
        return value
    return None


def check_score(
    node: syntax.Score, head: checked.RuleHead, own: clauses.ClauseSet
) -> checked.ExpressionScoreRule | checked.ResourceScoreRule | None:
    """Check a `score` statement; return None if an error was reported."""
    strategy = _get_strategy_call(node.value)
    if strategy is not None:
        return _check_resource_strategy(strategy, head, own)
    window_fine, window = check_window_clause(own)
    value = check_exprs.ExprChecker(own.env, window).check_number_or_condition(node.value)
    if window is not None and value is not None:
        window_fine = check_window_has_metric(own, value)
    weight = own.read_weight()
    if value is None:
        return None
    if value.unit is None:
        shape_fine, normalization, prefer = _check_condition_clauses(own), None, None
    else:
        shape_fine, normalization, prefer = _check_number_clauses(node, own, value.unit)
    missing_fine, points = _check_missing_points(node, own, value)
    if not (shape_fine and missing_fine and window_fine) or weight is None:
        return None
    return checked.ExpressionScoreRule(head, value, prefer, normalization, points, weight)


def _check_condition_clauses(own: clauses.ClauseSet) -> bool:
    """Return whether the score of a condition has no clauses for numbers; report any."""
    fine = True
    for keyword in ("prefer", "normalize"):
        clause = own.get_clause(keyword, syntax_expr.WordClause) or own.get_clause(
            keyword, syntax_clause.NormalizeClause
        )
        if clause is not None:
            own.env.found.add_error(
                "PS108",
                f"`{keyword}` is only allowed in scores of numbers; this score is a condition",
                clause.span,
                help="remove it: a condition gives 100 points if it is true; invert the "
                "condition with `not`",
            )
            fine = False
    return fine


def _check_number_clauses(
    node: syntax.Score, own: clauses.ClauseSet, unit: units.Unit
) -> tuple[bool, checked.Normalization | None, Literal["low", "high"] | None]:
    """Return three values: whether the clauses are valid, the normalization, and the direction."""
    prefer = own.get_clause("prefer", syntax_expr.WordClause)
    normalization = _check_normalization(own, unit)
    if isinstance(normalization, checked.ShapeNormalization):
        if prefer is not None:
            own.env.found.add_error(
                "PS108",
                "`shape` already defines which values are better",
                prefer.span,
                help="remove `prefer`",
            )
        return prefer is None, normalization, None
    if prefer is None:
        if normalization is not None:
            _report_missing_direction(node, own)
        return False, normalization, None
    direction = own.read_choice("prefer", vocabulary.DIRECTIONS)
    fine = direction is not None and normalization is not None
    return fine, normalization, cast("Literal['low', 'high'] | None", direction)


def _report_missing_direction(node: syntax.Score, own: clauses.ClauseSet) -> None:
    """Report a score of a number without `prefer`."""
    advice = "add `prefer low` or `prefer high`"
    if isinstance(node.value, syntax_expr.Negate):
        advice = f"write `{own.env.found.get_text_on_one_line(node.value.operand.span)} prefer low`"
    number = own.env.found.get_text_on_one_line(node.value.span)
    own.env.found.add_error(
        "PS303",
        f"`{number}` is a number, and the score does not specify whether low or high is better",
        node.value.span,
        help=advice,
    )


# ---------------------------------------------------------------------------- normalization


def _check_normalization(own: clauses.ClauseSet, unit: units.Unit) -> checked.Normalization | None:
    """Return the normalization; None if an error was reported.

    The default is linear from 0 to 1 for ratios and minmax for other numbers.
    """
    clause = own.get_clause("normalize", syntax_clause.NormalizeClause)
    if clause is None:
        return (
            checked.LinearNormalization(0.0, 1.0)
            if unit.is_ratio
            else checked.MinMaxNormalization(0.0)
        )
    method = clause.method.text
    if method not in vocabulary.NORMALIZATIONS:
        own.env.found.report_word_not_allowed(
            "a normalization", clause.method, vocabulary.NORMALIZATIONS
        )
        return None
    if method == "shape":
        return _check_shape(own, clause, unit)
    counts = {"linear": (2,), "minmax": (0, 1), "rank": (0,), "max": (0,)}[method]
    given = clause.arguments
    if len(given) not in counts or any(each.key is not None for each in given):
        own.env.found.add_error(
            "PS108",
            f"`{method}` is written {vocabulary.NORMALIZATIONS[method].partition(':')[0]}"
            if method in ("linear", "minmax")
            else f"`{method}` takes no arguments",
            clause.span,
        )
        return None
    numbers = [check_exprs.ExprChecker(own.env).check_constant(each.value, unit) for each in given]
    if any(number is None for number in numbers):
        return None
    return _make_simple_normalization(
        own, clause, [number for number in numbers if number is not None]
    )


def _make_simple_normalization(
    own: clauses.ClauseSet, clause: syntax_clause.NormalizeClause, numbers: Sequence[float]
) -> checked.Normalization | None:
    """Build a normalization other than `shape`; report invalid bounds."""
    match clause.method.text:
        case "linear":
            low, high = numbers
            if low / 2 < high / 2:  # the kernel also halves them, to avoid overflow
                return checked.LinearNormalization(low, high)
            own.env.found.add_error(
                "PS111",
                "the first bound of `linear` must be less than the second",
                clause.span,
                help="`prefer` defines which end is better",
            )
            return None
        case "minmax":
            floor = numbers[0] if numbers else 0.0
            if floor >= 0:
                return checked.MinMaxNormalization(floor)
            own.env.found.add_error(
                "PS111", "the floor of `minmax` must not be negative", clause.span
            )
            return None
        case "rank":
            return checked.RankNormalization()
        case _:
            return checked.MaxNormalization()


def _check_shape(
    own: clauses.ClauseSet, clause: syntax_clause.NormalizeClause, unit: units.Unit
) -> checked.ShapeNormalization | None:
    points = _check_shape_points(own, clause.arguments, clause.span, unit)
    return None if points is None else checked.ShapeNormalization(points)


def _check_shape_points(
    own: clauses.ClauseSet,
    given: Sequence[syntax_expr.Argument],
    span: source.Span,
    unit: units.Unit,
) -> tuple[tuple[float, int], ...] | None:
    """Return the points of a shape; None if an error was reported."""
    found = own.env.found
    if len(given) < _MIN_SHAPE_POINTS or any(each.key is None for each in given):
        found.add_error(
            "PS108",
            "a shape needs two or more points",
            span,
            help="write each point as value, colon, points: `shape(0%: 100, 80%: 10)`",
        )
        return None
    points: list[tuple[float, int]] = []
    for each in given:
        checker = check_exprs.ExprChecker(own.env)
        value = checker.check_constant(cast("syntax_expr.Expr", each.key), unit)
        height = checker.check_constant(each.value, units.NUMBER)
        if value is None or height is None:
            return None
        if height != int(height) or not 0 <= height <= MAX_POINTS:
            found.add_error(
                "PS111", f"points must be whole numbers from 0 to {MAX_POINTS}", each.value.span
            )
            return None
        if points and value <= points[-1][0]:
            found.add_error(
                "PS111", "the values of a shape must increase", cast("Any", each.key).span
            )
            return None
        points.append((value, int(height)))
    return tuple(points)


# ---------------------------------------------------------------------------- missing data


def _check_missing_points(
    node: syntax.Score, own: clauses.ClauseSet, value: checked_expr.TypedExpr
) -> tuple[bool, int | None]:
    """Return whether missing data is handled, and the points of a node without a value."""
    clause = own.get_clause("missing", syntax_clause.MissingClause)
    if clause is not None:
        points = check_metrics.check_missing_points(own.env, clause)
        return points is not None, points
    missing = list(check_missing_data.iterate_possibly_missing_parts(value))
    if not missing:
        return True, None
    only_metrics, read = check_missing_data.collect_metric_keys(missing)
    answers = {each.missing_points for each in own.env.metrics.values() if each.key in read}
    if only_metrics and len(answers) == 1 and (points := answers.pop()) is not None:
        return True, points
    choices = ("missing score 0", "missing score 50")
    check_missing_data.report_unhandled_missing_data(
        own.env,
        node.value.span,
        node.span,
        choices,
        check_missing_data.explain_unsettled_missing_data(value, answers),
    )
    return False, None


# ---------------------------------------------------------------------------- windows


def check_window_clause(own: clauses.ClauseSet) -> tuple[bool, checked_expr.MetricWindow | None]:
    """Return whether `over` is valid or absent, and its window; None if absent."""
    over = own.get_clause("over", syntax_clause.OverClause)
    if over is None:
        return True, None
    window = check_metric_options.check_window(own.env, over)
    return window is not None, window


def check_window_has_metric(own: clauses.ClauseSet, value: checked_expr.TypedExpr) -> bool:
    """Return whether the rule reads a metric or has no `over`; otherwise, report `over`."""
    over = own.get_clause("over", syntax_clause.OverClause)
    if checked_expr.list_read_metrics(value) or over is None:
        return True
    own.env.found.add_error(
        "PS108", "`over` needs a metric, but this rule reads none", over.span, help="remove `over`"
    )
    return False


# ---------------------------------------------------------------------------- strategies


def _check_resource_strategy(
    call: syntax_expr.Call, head: checked.RuleHead, own: clauses.ClauseSet
) -> checked.ResourceScoreRule | None:
    """Check the resources, the weights and the shape of a resource strategy."""
    name = call.function.text
    shape: tuple[tuple[int, int], ...] | None = ()
    shapes = [each for each in call.arguments if _is_shape_argument(each)]
    resources = [
        _check_resource_weight(each, own) for each in call.arguments if not _is_shape_argument(each)
    ]
    if name == "RequestedToCapacityRatio":
        shape = _check_utilization_shape(call, shapes, own)
    elif shapes:
        own.env.found.add_error("PS108", f"`{name}` takes no shape", shapes[0].span)
        shape = None
    weight = own.read_weight()
    good = tuple(each for each in resources if each is not None)
    if shape is None or weight is None or len(good) < len(resources):
        return None
    if len({resource for resource, _ in good}) < len(good):
        own.env.found.add_error("PS108", "a resource appears twice in this strategy", call.span)
        return None
    return checked.ResourceScoreRule(
        head,
        cast("Any", name),
        good or _DEFAULT_RESOURCES,
        shape,
        weight,
    )


def _is_shape_argument(argument: syntax_expr.Argument) -> bool:
    value = argument.value
    return isinstance(value, syntax_expr.Call) and value.function.text == "shape"


def _suggest_resource_weight(
    found: diagnostic_collector.DiagnosticCollector, value: syntax_expr.Expr
) -> str:
    """Return the help for `cpu=1`, which should be `cpu: 1`."""
    if not isinstance(value, syntax_expr.Comparison) or value.operator != "=":
        return ""
    name = found.get_text_on_one_line(value.left.span)
    return f"write `{name}: {found.get_text_on_one_line(value.right.span)}`"


def _check_resource_weight(
    argument: syntax_expr.Argument, own: clauses.ClauseSet
) -> tuple[str, int] | None:
    """Return a resource and its weight, by default 1; None if an error was reported."""
    found = own.env.found
    word_expr = argument.value if argument.key is None else argument.key
    if isinstance(word_expr, syntax_expr.Ref):
        word = word_expr.name
    elif isinstance(word_expr, syntax_expr.Text):
        word = word_expr.value
    else:
        found.add_error(
            "PS108",
            "a strategy takes resources and their weights",
            argument.span,
            help=_suggest_resource_weight(found, argument.value)
            or 'as in `LeastAllocated(cpu: 2, memory: 1, "nvidia.com/gpu": 5)`',
        )
        return None
    problem = kubernetes_names.find_resource_name_problem(word.text)
    if problem:
        check_resource_names.report_invalid_resource(own.env, word, problem)
        return None
    if argument.key is None:
        return word.text, 1
    weight = check_exprs.ExprChecker(own.env).check_constant(argument.value, units.NUMBER)
    if weight is None:
        return None
    if weight != int(weight) or not 1 <= weight <= clauses.MAX_WEIGHT:
        found.add_error(
            "PS301",
            "the weight of a resource must be a whole number from 1 to 100",
            argument.value.span,
        )
        return None
    return word.text, int(weight)


def _check_utilization_shape(
    call: syntax_expr.Call, shapes: Sequence[syntax_expr.Argument], own: clauses.ClauseSet
) -> tuple[tuple[int, int], ...] | None:
    """Return (utilization in percent, points) pairs; None if an error was reported."""
    if len(shapes) != 1:
        own.env.found.add_error(
            "PS109",
            "`RequestedToCapacityRatio` needs one shape",
            call.span,
            help="add `shape(0%: 0, 100%: 100)`; each point is the requested share, a colon and "
            "the points",
        )
        return None
    shape_call = cast("syntax_expr.Call", shapes[0].value)
    points = _check_shape_points(own, shape_call.arguments, shape_call.span, units.RATIO)
    if points is None:
        return None
    percent = [(value * 100, height) for value, height in points]
    if any(round(value, 6) != round(value) or not 0 <= value <= 100 for value, _ in percent):  # noqa: PLR2004 - percent
        own.env.found.add_error(
            "PS111",
            "the shares of a shape must be whole percentages from 0% to 100%",
            shape_call.span,
        )
        return None
    return tuple((round(value), height) for value, height in percent)
