"""Check that a metric's query parses, returns a vector, and keeps the label of nodes."""

from __future__ import annotations

import promql_parser

from policysched.lang import source, text_limits
from policysched.lang.checking import diagnostic_collector
from policysched.lang.checking.metrics import promql_params
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.promql import query_faults, query_tokens, query_tree

_KINDS = {
    query_tree.QueryResultKind.SCALAR: (
        "returns a single number instead of one for each node",
        "remove `scalar(…)`, and keep the label that names the node",
    ),
    query_tree.QueryResultKind.STRING: ("returns a string instead of a number for each node", ""),
    query_tree.QueryResultKind.MATRIX: (
        "returns a range of samples instead of one value for each node",
        "apply a function to it: `avg_over_time(x[5m])`, `rate(x[5m])`",
    ),
}


def check_promql_query(
    query: promql_params.SubstitutedQuery,
    label: str | None,
    text: source.SourceText,
    found: diagnostic_collector.DiagnosticCollector,
) -> None:
    """Report a query that does not parse, is not a vector, or drops the label of nodes.

    Args:
        query: the query with params inserted.
        label: the label that names the node; None if it is not known.
        text: the policy text that contains the query.
        found: the collector of diagnostics.
    """
    if query.is_whole:
        _PromqlChecker(query, label, text, found).check_query()


class _PromqlChecker:
    def __init__(
        self,
        query: promql_params.SubstitutedQuery,
        label: str | None,
        text: source.SourceText,
        found: diagnostic_collector.DiagnosticCollector,
    ) -> None:
        self._query = query
        self._label = label
        self._text = text
        self._found = found
        self._tokens = query_tokens.scan_tokens(query.text)

    def check_query(self) -> None:
        """Report the first problem of the query, in the order: size, syntax, depth, type, label."""
        if len(self._tokens) > text_limits.MAX_QUERY_WORDS:
            problem = f"the query has more than {text_limits.MAX_QUERY_WORDS:,} words and symbols"
            self._found.add_error(
                "PS004", problem, self._whole_query_span, help="use a recording rule"
            )
            return
        try:
            expr = promql_parser.parse(self._query.text)
        except ValueError as error:
            self._report_parse_failure(str(error))
            return
        if (token := query_tokens.find_or_between_matchers(self._tokens)) is not None:
            span = self._query.locate_query_range(token.start, token.end, self._text)
            problem = "`or` between matchers is MetricsQL, not PromQL"
            self._found.add_error("PS401", problem, span, help="write `x{…} or x{…}`")
            return
        if query_tree.measure_depth(expr) > text_limits.MAX_QUERY_DEPTH:
            problem = f"the query is nested more than {text_limits.MAX_QUERY_DEPTH} levels deep"
            self._found.add_error(
                "PS004", problem, self._whole_query_span, help="use a recording rule"
            )
            return
        if (kind := query_tree.find_result_kind(expr)) in _KINDS:
            problem, advice = _KINDS[kind]
            self._found.add_error(
                "PS401", f"the query {problem}", self._whole_query_span, help=advice
            )
        elif self._label is not None:
            self._check_node_label_kept(expr, self._label)

    @property
    def _whole_query_span(self) -> source.Span:
        first, last = self._tokens[0], self._tokens[-1]
        return self._query.locate_query_range(first.start, last.end, self._text)

    def _report_parse_failure(self, problem: str) -> None:
        """Report a syntax error; only warn if the query uses experimental syntax."""
        if query_tokens.has_experimental_syntax(self._tokens):
            finding = diagnostics.Diagnostic(
                "PS401",
                "the query uses an experimental feature of Prometheus that cannot be checked",
                self._whole_query_span,
                notes=(
                    (
                        "the query is sent unchanged, and its samples count as measured at the "
                        "time of the query"
                    ),
                ),
                severity=diagnostics.Severity.WARNING,
            )
            self._found.add_diagnostic(finding)
            return
        fault = query_faults.explain_parse_failure(self._query.text, self._tokens, problem)
        span = self._query.locate_query_range(fault.start, fault.end, self._text)
        self._found.add_error("PS401", fault.message, span, label=fault.label, help=fault.help)

    # ------------------------------------------------------------------------ the label of nodes

    def _check_node_label_kept(self, expr: promql_parser.Expr, label: str) -> None:
        """Report the part of the query that drops the label of nodes."""
        loser = query_tree.find_label_loss(expr, label)
        if loser is None:
            return
        token = self._find_call_token(expr, loser)
        span = self._whole_query_span
        if token is not None:
            span = self._query.locate_query_range(token.start, token.end, self._text)
        what = f"`{token.text}`" if token is not None else "the query"
        self._found.add_error(
            "PS403",
            f"{what} drops the label `{label}`, which names the node",
            span,
            help=_suggest_join_label(loser, label),
            fix=self._make_aggregation_fix(loser, token, label),
        )

    def _find_call_token(
        self, expr: promql_parser.Expr, part: promql_parser.Expr
    ) -> query_tokens.QueryToken | None:
        """Return the token of the call `part` in the query, or None if it cannot be located."""
        parts = [str(each) for each in query_tree.walk_call_parts(expr)]
        words = query_tokens.find_call_words(self._tokens)
        if len(parts) != len(words) or str(part) not in parts:
            return None
        return words[parts.index(str(part))]

    def _make_aggregation_fix(
        self, loser: promql_parser.Expr, token: query_tokens.QueryToken | None, label: str
    ) -> diagnostics.Fix | None:
        """Return the fix that adds `by` to an aggregation without `by` or `without`, or None."""
        if token is None or not isinstance(loser, promql_parser.AggregateExpr) or loser.modifier:
            return None
        place = self._query.locate_query_range(token.end, token.end, self._text)
        return fixes.make_replacement_fix(place, f" by ({label}) ")


def _suggest_join_label(loser: promql_parser.Expr, label: str) -> str:
    """Return how to keep the label in the part that drops it."""
    match loser:
        case promql_parser.AggregateExpr(modifier=None):
            return f"write `{loser.op} by ({label}) (…)`"
        case promql_parser.AggregateExpr(modifier=promql_parser.AggModifier() as modifier):
            is_by = modifier.type == promql_parser.AggModifierType.By
            return f"add `{label}` to `by (…)`" if is_by else f"remove `{label}` from `without (…)`"
        case promql_parser.BinaryExpr():
            return f"match on `{label}`, or keep the labels of one side with `group_left`"
        case _:
            return "write a label of the result after `node`"
