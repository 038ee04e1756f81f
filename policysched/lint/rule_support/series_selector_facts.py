"""Pairs the selectors of queries with facts from Prometheus about their series."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.lint import rule_input
from policysched.lint.facts import prometheus_facts, queries
from policysched.promql import query_tree


def list_series_selector_facts(
    about: rule_input.LintInput,
) -> Iterator[
    tuple[queries.MetricQuery, promql_parser.VectorSelector, prometheus_facts.SeriesSelectorFacts]
]:
    """Yield the selectors of all queries about which facts from Prometheus are known."""
    if about.prometheus is None:
        return
    for each in about.metric_queries:
        known = about.prometheus.selectors.get(each.query.text, ())
        for selector, found in zip(query_tree.list_selectors(each.expr), known, strict=False):
            yield each, selector, found
