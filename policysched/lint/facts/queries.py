"""The parsed queries of metrics, with the positions of their parts in the policy text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import promql_parser

from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import diagnostic_collector
from policysched.lang.checking.metrics import promql_params
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax
from policysched.promql import query_tokens, query_tree


@dataclasses.dataclass(frozen=True, slots=True)
class MetricQuery:
    """The query of a metric, with the parsed expression and the positions of its parts.

    Attributes:
        metric: the checked metric.
        expr: the parsed query.
        query: the query with params substituted; it maps its parts to ranges of the policy text.
        tokens: the PromQL tokens of the query, in order.
        text: the policy text that contains the query.
    """

    metric: checked.CheckedMetric
    expr: promql_parser.Expr
    query: promql_params.SubstitutedQuery
    tokens: tuple[query_tokens.QueryToken, ...]
    text: source.SourceText

    @property
    def span(self) -> source.Span:
        """The span of the whole query."""
        return self.query.locate_query_range(self.tokens[0].start, self.tokens[-1].end, self.text)

    def locate_query_part(self, part: promql_parser.Expr) -> source.Span:
        """Return the span of a call, an aggregation or a selector.

        If the span is ambiguous, return the span of the whole query.
        """
        named = query_tree.get_part_name(part)
        if named is None:
            return self.span
        walked = query_tree.walk_query(self.expr)
        parts = [each for each in walked if query_tree.get_part_name(each) == named]
        words = [token for token in self.tokens if token.kind == "word" and token.text == named]
        # If the name also occurs in another role, such as a label name, the nth part need not be
        # the nth token.
        if len(parts) != len(words):
            return self.span
        index = next(index for index, each in enumerate(parts) if each is part)
        return self.query.locate_query_range(words[index].start, words[index].end, self.text)


def parse_metric_queries(
    program: checked.CheckedProgram,
    parsed: tuple[parser.ParseResult, ...],
    texts: Mapping[str, source.SourceText],
) -> Iterator[MetricQuery]:
    """Yield the queries that parse; params have the values that apply outside all profiles."""
    by_name = {metric.name: metric for metric in program.metrics}
    params = {param.name: param for param in program.params}
    for result in parsed:
        for item in result.file.items:
            if isinstance(item, syntax.Metric) and item.name.text in by_name:
                unheard = diagnostic_collector.DiagnosticCollector(texts, frozenset())
                query = promql_params.substitute_params(item.query, params, params, unheard)
                found = _parse_metric_query(by_name[item.name.text], query, result.text)
                if found is not None:
                    yield found


def _parse_metric_query(
    metric: checked.CheckedMetric, query: promql_params.SubstitutedQuery, text: source.SourceText
) -> MetricQuery | None:
    try:
        expr = promql_parser.parse(query.text)
    except ValueError:  # `check` warns about syntax that is newer than the parser
        return None
    return MetricQuery(metric, expr, query, tuple(query_tokens.scan_tokens(query.text)), text)
