"""Check the expressions of rules: resolve names, and check units and types.

Literals have no unit of their own, so operands are checked in pairs: an operand that is not a
literal determines the unit of the other operand.
"""

from __future__ import annotations

from typing import TypeAlias

from policysched import spelling, units
from policysched.lang import source, text_limits
from policysched.lang.checked import checked, checked_expr, metric_windows
from policysched.lang.checking import check_metric_times, number_reading
from policysched.lang.checking.expressions import (
    check_calls,
    check_devices,
    check_elapsed_times,
    check_operands,
    check_pod_counts,
    check_targets,
    word_arguments,
)
from policysched.lang.checking.selectors import (
    check_compared_labels,
    check_label_idioms,
    check_selectors,
    pod_value_tests,
)
from policysched.lang.diagnostics import fixes
from policysched.lang.foreign import foreign_words
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import numerals, vocabulary

Typed = checked_expr.TypedExpr
_Condition: TypeAlias = (
    syntax_expr.Comparison
    | syntax_expr.ExprAnd
    | syntax_expr.ExprOr
    | syntax_expr.ExprNot
    | syntax_expr.NodeTest
    | syntax_expr.ClusterTest
    | syntax_expr.PodTest
)
_Test: TypeAlias = syntax_expr.NodeTest | syntax_expr.ClusterTest | syntax_expr.PodTest


class ExprChecker:
    """Checks the expressions of one policy.

    Args:
        env: resolves names, and collects diagnostics.
        window: the window of the statement, which overrides the windows of metrics; None without
            one.
    """

    def __init__(
        self, env: number_reading.NameEnvironment, window: checked_expr.MetricWindow | None = None
    ) -> None:
        self.env = env
        self._window = window
        self.found = env.found
        self._depth = 0
        self._nodes = 0
        self._is_full = False

    def check_condition(self, expr: syntax_expr.Expr) -> Typed | None:
        """Return the typed condition; None if an error was reported."""
        self._reset_size_counters()
        typed = self._require_known_times(self._check_subcondition(expr))
        if typed is None or check_devices.report_devices_of_pod(self.env, typed):
            return None
        return typed

    def check_number_or_condition(
        self, expr: syntax_expr.Expr, expected: units.Unit | None = None
    ) -> Typed | None:
        """Return the typed number or condition; None if an error was reported.

        A literal is converted to the unit `expected`, if given.
        """
        self._reset_size_counters()
        return self._require_known_times(self.check_subexpression(expr, expected))

    def _require_known_times(self, typed: Typed | None) -> Typed | None:
        """Report an elapsed time that is not compared with a constant; a let can name it alone."""
        report, is_let = check_elapsed_times.report_misused_time, self.env.target is None
        return None if typed is None or report(self.env, typed, allows_bare=is_let) else typed

    def check_constant(self, expr: syntax_expr.Expr, unit: units.Unit) -> float | None:
        """Return the value of a constant expression in `unit`; report other expressions."""
        self._reset_size_counters()
        typed = self.check_number(expr, unit)
        if typed is None:
            return None
        if not isinstance(typed, checked_expr.Const):
            self.found.add_error(
                "PS102", "this value is not known before the policy runs", expr.span
            )
            return None
        adapted = check_operands.convert_constant_unit(typed, unit)
        if adapted is None:
            number_reading.report_wrong_unit(self.env, expr.span, unit)
            return None
        return adapted.value

    def _reset_size_counters(self) -> None:
        self._depth, self._nodes, self._is_full = 0, 0, False

    # ------------------------------------------------------------------------ one node

    def check_subexpression(
        self, expr: syntax_expr.Expr, expected: units.Unit | None
    ) -> Typed | None:
        """Return the typed expression; a literal is converted to the unit `expected`, if given."""
        self._nodes += 1
        if (
            self._nodes > text_limits.MAX_EXPANDED_NODES
            or self._depth > text_limits.MAX_EXPANDED_DEPTH
        ):
            self._report_too_large(expr.span)
            return None
        self._depth += 1
        try:
            return self._check_by_node_type(expr, expected)
        finally:
            self._depth -= 1

    def _report_too_large(self, span: source.Span) -> None:
        """Report once that the expression exceeds a limit after lets are expanded."""
        if not self._is_full:
            self._is_full = True
            self.found.add_error(
                "PS004",
                "this expression is too large after its lets are expanded",
                span,
                help=f"the limits are {text_limits.MAX_EXPANDED_NODES} parts and "
                f"{text_limits.MAX_EXPANDED_DEPTH} levels of nesting",
            )

    def _check_by_node_type(
        self, expr: syntax_expr.Expr, expected: units.Unit | None
    ) -> Typed | None:
        """Check an expression with the method for its node type."""
        match expr:
            case syntax_expr.Number() | syntax_expr.Negate():
                return self._check_number_or_negation(expr, expected)
            case syntax_expr.Ref():
                return self._check_reference(expr, expected)
            case syntax_expr.Call():
                return check_calls.check_call(self, expr, expected)
            case syntax_expr.Binary():
                return self._check_arithmetic(expr, expected)
            case syntax_expr.Else(value=value, fallback=fallback):
                both = self.check_operand_pair(value, fallback, "is replaced by", expected)
                if both is None:
                    return None
                return checked_expr.ValueWithFallback(both.left, both.right, both.unit, expr.span)
            case syntax_expr.PodCount():
                return check_pod_counts.check_pod_count(self.env, expr)
            case syntax_expr.Text(value=value):
                is_number = numerals.parse_numeral(value.text) is not None
                self.found.add_error(
                    "PS102",
                    "a string is neither a number nor a condition",
                    expr.span,
                    help=f"write `{value.text}`" if is_number else "",
                )
                return None
            case _:
                return self._check_condition_by_node_type(expr)

    def _check_condition_by_node_type(self, expr: _Condition) -> Typed | None:
        """Check a condition with the method for its node type."""
        match expr:
            case syntax_expr.Comparison():
                return self._check_comparison(expr)
            case syntax_expr.ExprAnd() | syntax_expr.ExprOr():
                return self._check_connective(expr)
            case syntax_expr.ExprNot(operand=operand):
                inner = self._check_subcondition(operand)
                return None if inner is None else checked_expr.Not(inner, expr.span)
            case syntax_expr.NodeTest() | syntax_expr.ClusterTest() | syntax_expr.PodTest():
                return self._check_object_test(expr)

    def _check_object_test(self, expr: _Test) -> Typed | None:
        """Check `pod(…)`, `node(…)` or `cluster(…)` against the target of the policy."""
        problem = check_targets.find_test_target_problem(expr, self.env.target)
        if problem is not None:
            self.found.add_error("PS108", problem.message, expr.span, help=problem.help)
            return None
        if isinstance(expr, syntax_expr.NodeTest) and pod_value_tests.has_pod_values(
            expr.selector, self.env.lets
        ):
            return self._check_pod_dependent_test(expr)
        domain = check_targets.DOMAINS[type(expr)]
        selector = check_selectors.SelectorChecker(self.env, domain).check_selector(expr.selector)
        if selector is None:
            return None
        if isinstance(expr, syntax_expr.PodTest):
            return checked_expr.PodMatch(selector, expr.span)
        return checked_expr.NodeMatch(selector, expr.span)

    def _check_pod_dependent_test(self, test: syntax_expr.NodeTest) -> Typed | None:
        """Check a test whose selector compares labels with values of the pod.

        It becomes a condition of several tests, because it is unknown if the pod lacks a value.
        """
        if isinstance(test.selector, syntax_expr.Requirement):
            label = check_compared_labels.check_compared_label(self.env, test.selector, "node")
            return None if label is None else pod_value_tests.make_label_condition(label)
        return self.check_subexpression(pod_value_tests.split_node_test(test, self.env.lets), None)

    # ------------------------------------------------------------------------ numbers

    def check_number(self, expr: syntax_expr.Expr, expected: units.Unit | None) -> Typed | None:
        """Return the typed expression if it is a number; None if an error was reported."""
        typed = self.check_subexpression(expr, expected)
        if typed is not None and typed.unit is None:
            self.found.add_error(
                "PS102",
                f"`{self.found.get_text_on_one_line(expr.span)}` is a condition, not a number",
                expr.span,
            )
            return None
        return typed

    def _check_number_or_negation(
        self, expr: syntax_expr.Number | syntax_expr.Negate, expected: units.Unit | None
    ) -> Typed | None:
        """Check a literal or a negation; a negated expression becomes 0 - x."""
        literal = number_reading.resolve_literal(self.env, expr)
        if literal is not None:
            return self._check_literal(literal, expr.span, expected)
        if isinstance(expr, syntax_expr.Number):
            number_reading.report_bad_number(self.env, expr.numeral)
            return None
        inner = self.check_number(expr.operand, expected)
        if inner is None or inner.unit is None:
            return None
        zero = checked_expr.Const(0.0, inner.unit, expr.span)
        return check_operands.fold_constants(
            checked_expr.ArithmeticOperation("-", zero, inner, inner.unit, expr.span)
        )

    def _check_literal(
        self, literal: numerals.NumberLiteral, span: source.Span, expected: units.Unit | None
    ) -> Typed | None:
        """Convert a literal to the expected unit, or else to the only unit that it can have."""
        value = literal.convert_to_unit(expected) if expected is not None else None
        if expected is not None and value is not None:
            return checked_expr.Const(value, expected, span)
        if expected is not None and literal.has_suffix_of_other_unit(expected):
            number_reading.report_wrong_unit(self.env, span, expected)
            return None
        natural = literal.get_unambiguous_value()
        if natural is None:
            self._report_ambiguous_literal(span)
            return None
        return checked_expr.Const(natural[0], natural[1], span)

    def _report_ambiguous_literal(self, span: source.Span) -> None:
        written = self.found.get_text_on_one_line(span)
        self.found.add_error(
            "PS103",
            f"`{written}` is ambiguous: minutes or thousandths",
            span,
            help="five minutes are `5m0s`, five thousandths are `0.005`",
        )

    def _check_reference(self, ref: syntax_expr.Ref, expected: units.Unit | None) -> Typed | None:
        """Resolve a name to a pod field, param, metric or let; report other names."""
        name, env = ref.name, self.env
        field = vocabulary.EXPRESSION_FIELDS.get(name.text)
        if field is not None:
            return checked_expr.PodPriority(field[0], ref.span)
        if name.text in env.params:
            return self._check_param(ref)
        if name.text in env.metrics:
            return self._check_metric(ref)
        let = env.lets.get(name.text)
        if isinstance(let, syntax.LetExpr):
            literal = number_reading.resolve_literal(env, ref)
            if literal is not None:
                return self._check_literal(literal, ref.span, expected)
            return self.check_subexpression(let.expr, expected)
        if isinstance(let, syntax.LetSelector):
            self.found.add_error(
                "PS102",
                f"`{name.text}` is a selector",
                name.span,
                help=f"write `{self.env.target or 'node'}({name.text})`"
                + ("" if self.env.target == "cluster" else f" or `pod({name.text})`"),
            )
        elif name.text in env.silent_names:
            pass
        elif name.text in vocabulary.ELAPSED_TIMES:
            return check_elapsed_times.check_elapsed_time(env, ref)
        else:
            self._report_undefined_name(name)
        return None

    def _report_undefined_name(self, name: syntax_expr.Value) -> None:
        """Report an undefined name, with help for functions and likely misspellings."""
        if name.text in vocabulary.STRATEGIES:
            check_calls.report_misplaced_strategy(self.found, name.text, name.span)
            return
        if name.text in vocabulary.FUNCTIONS:
            self.found.add_error(
                "PS104",
                f"`{name.text}` is a function",
                name.span,
                help="write it with its argument, as in "
                f"`{word_arguments.make_example_call(name.text)}`",
            )
            return
        ours = foreign_words.translate_to_resource_call(name.text)
        if ours and not spelling.find_nearest_names(name.text, self.env.names):
            message = f"there is no metric, param or let `{name.text}`"
            fix = fixes.make_replacement_fix(name.span, ours)
            self.found.add_error("PS104", message, name.span, help=f"write `{ours}`", fix=fix)
            return
        self.found.report_undefined_name(
            "metric, param or let",
            name,
            self.env.names | vocabulary.EXPRESSION_FIELDS.keys() | vocabulary.ELAPSED_TIMES.keys(),
            instead=foreign_words.NAMES.get(name.text.lower())
            or f"for a label, write `{self.env.target or 'node'}({name.text} Exists)` or "
            f"`label({name.text})`",
        )

    def _check_param(self, ref: syntax_expr.Ref) -> Typed | None:
        """Return the value of a param as a constant; report a string param."""
        param = self.env.params[ref.name.text]
        if isinstance(param.value, str) or param.unit is None:
            self.found.add_error(
                "PS102",
                f"`{param.name}` is a string; it can only be used in a query or a selector",
                ref.span,
                help=f"there, write `${param.name}`",
            )
            return None
        return checked_expr.Const(param.value, param.unit, ref.span)

    def _check_metric(self, ref: syntax_expr.Ref) -> Typed | None:
        """Return the reading of a metric, with the fallback if the metric has one."""
        metric = self.env.metrics[ref.name.text]
        problem = check_targets.find_metric_target_problem(metric, self.env.target)
        if problem is not None:
            self.found.add_error("PS108", problem.message, ref.span, help=problem.help)
            return None
        if self._window is not None and self._report_wrong_window(self._window, metric, ref):
            return None
        window = self._window or metric.window
        grows = metric.placed is not None
        value: Typed = checked_expr.MetricRef(metric.key, metric.unit, ref.span, window, grows)
        if metric.unit == units.CORES:
            scale = checked_expr.Const(units.CORES_SCALE, units.NUMBER, ref.span)
            value = checked_expr.ArithmeticOperation("*", value, scale, units.CORES, ref.span)
        if metric.fallback is None:
            return value
        # Each use inserts the fallback into the checked expression, so it counts towards the
        # limits.
        self._nodes += sum(1 for _ in checked_expr.walk_expressions(metric.fallback))
        is_deep = (
            self._depth + checked_expr.compute_expression_depth(metric.fallback)
            > text_limits.MAX_EXPANDED_DEPTH
        )
        if is_deep or self._nodes > text_limits.MAX_EXPANDED_NODES:
            self._report_too_large(ref.span)
            return None
        return checked_expr.ValueWithFallback(value, metric.fallback, metric.unit, ref.span)

    def _report_wrong_window(
        self, window: checked_expr.MetricWindow, metric: checked.CheckedMetric, ref: syntax_expr.Ref
    ) -> bool:
        problem = metric_windows.find_window_problem(window, metric.refresh_seconds)
        if problem:
            self.found.add_error("PS111", f"`{metric.name}`: {problem}", ref.span)
        elif metric_windows.is_doubtful_window(window.seconds, metric.refresh_seconds):
            check_metric_times.warn_of_short_window(self.found, ref.span, metric.name)
        return bool(problem)

    # ------------------------------------------------------------------------ pairs

    def check_operand_pair(
        self,
        left: syntax_expr.Expr,
        right: syntax_expr.Expr,
        verb: str,
        expected: units.Unit | None,
    ) -> check_operands.SameUnitOperands | None:
        """Return two numbers with the same unit; None if an error was reported.

        Args:
            left: first operand.
            right: second operand.
            verb: the operation in the message, such as `is compared with`.
            expected: the unit if both operands are literals.
        """
        left_is_literal = number_reading.resolve_literal(self.env, left) is not None
        if left_is_literal and number_reading.resolve_literal(self.env, right) is None:
            second = self.check_number(right, expected)
            first = self.check_number(left, second.unit) if second is not None else None
        else:
            first = self.check_number(left, expected)
            second = self.check_number(right, first.unit) if first is not None else None
        if first is None or second is None:
            return None
        return check_operands.unify_operand_units(
            self.found,
            check_operands.Operand(left, first),
            check_operands.Operand(right, second),
            verb,
        )

    def _check_arithmetic(
        self, expr: syntax_expr.Binary, expected: units.Unit | None
    ) -> Typed | None:
        """Check an arithmetic operation; fold it if both operands are constant."""
        if check_label_idioms.report_hyphen_for_underscore(self.env, expr):
            return None
        if expr.operator in ("+", "-"):
            verb = "is added to" if expr.operator == "+" else "is subtracted from"
            both = self.check_operand_pair(expr.left, expr.right, verb, expected)
            if both is None:
                return None
            left, right, unit = both.left, both.right, both.unit.get_sum_unit()
        else:
            product = self._check_factors(expr, expected)
            if product is None:
                return None
            left, right, unit = product
        if expr.operator == "/" and isinstance(right, checked_expr.Const) and right.value == 0:
            self.found.add_error("PS111", "division by zero", expr.right.span)
            return None
        return check_operands.fold_constants(
            checked_expr.ArithmeticOperation(expr.operator, left, right, unit, expr.span)
        )

    def _check_factors(
        self, expr: syntax_expr.Binary, expected: units.Unit | None
    ) -> check_operands.SameUnitOperands | None:
        """Check both sides of `*` and `/`; an ambiguous literal gets the expected unit."""
        operands: list[Typed | None] = []
        for side in (expr.left, expr.right):
            literal = number_reading.resolve_literal(self.env, side)
            wanted = expected if literal is not None and literal.is_ambiguous else None
            operands.append(self.check_number(side, wanted))
        left, right = operands
        if left is None or right is None:
            return None
        unit = check_operands.get_unit(left).multiply_unit(
            check_operands.get_unit(right), 1 if expr.operator == "*" else -1
        )
        return check_operands.SameUnitOperands(left, right, unit)

    # ------------------------------------------------------------------------ conditions

    def _check_subcondition(self, expr: syntax_expr.Expr) -> Typed | None:
        """Check an operand of `and`, `or` or `not`; report a number."""
        typed = self.check_subexpression(expr, None)
        if typed is not None and typed.unit is not None:
            self.found.add_error(
                "PS102",
                f"`{self.found.get_text_on_one_line(expr.span)}` is a number, not a condition",
                expr.span,
                help="compare it with a number: `>`, `>=`, `<`, `<=`, `=`, `!=`",
            )
            return None
        return typed

    def _check_comparison(self, expr: syntax_expr.Comparison) -> Typed | None:
        """Check a comparison of two numbers; report comparisons of labels and booleans."""
        if check_label_idioms.report_comparison_with_boolean(self.env, expr):
            return None
        if check_label_idioms.report_label_comparison(self.env, expr):
            return None
        if check_label_idioms.report_selector_function(self.env, expr):
            return None
        both = self.check_operand_pair(expr.left, expr.right, "is compared with", None)
        if both is None:
            return None
        left, right, _ = both
        return checked_expr.Compare(expr.operator, left, right, expr.span)

    def _check_connective(self, expr: syntax_expr.ExprAnd | syntax_expr.ExprOr) -> Typed | None:
        operands = [self._check_subcondition(operand) for operand in expr.operands]
        good = tuple(operand for operand in operands if operand is not None)
        if len(good) < len(operands):
            return None
        make = checked_expr.And if isinstance(expr, syntax_expr.ExprAnd) else checked_expr.Or
        return make(good, expr.span)
