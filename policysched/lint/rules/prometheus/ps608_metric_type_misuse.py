"""PS608: a rate of a gauge, or a raw counter, according to the metric types in Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.lint.rule_support import series_selector_facts
from policysched.promql import functions, query_samples, query_tree


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each rate of a gauge and for each counter that is read directly."""
    facts = about.prometheus
    if facts is None:
        return
    for each, selector, known in series_selector_facts.list_series_selector_facts(about):
        name = selector.name or ""
        if known.kind == "gauge" and (rate := _find_rate_function(each, name)) is not None:
            yield _diagnose_rate_of_gauge(each, selector, rate)
        is_by_name = name.endswith("_total")  # PS406 reports such counters without a server
        if (
            known.kind == "counter"
            and not is_by_name
            and name in query_samples.find_raw_series_names(each.expr)
        ):
            yield diagnostics.Diagnostic(
                "PS608",
                f"{facts.name} reports `{name}` as a counter, but its raw value is read",
                each.locate_query_part(selector),
                notes=("a counter grows until its process restarts; only its rate is meaningful",),
                help=f"write `rate({name}[5m])`",
            )


def _find_rate_function(each: queries.MetricQuery, name: str) -> str | None:
    """Return the name of the function that computes the rate of the series, or None."""
    for part in query_tree.find_calls(each.expr, functions.COUNTER_FUNCTIONS):
        matrix = part.args[0]
        is_of_name = isinstance(matrix, promql_parser.MatrixSelector)
        if is_of_name and matrix.vector_selector.name == name:
            return str(part.func.name)
    return None


def _diagnose_rate_of_gauge(
    each: queries.MetricQuery, selector: promql_parser.VectorSelector, function: str
) -> diagnostics.Diagnostic:
    """Return the finding for a rate of a gauge, with a better function."""
    other = "delta" if function == "increase" else "deriv"
    return diagnostics.Diagnostic(
        "PS608",
        f"`{function}` of `{selector.name}`, which is a gauge",
        each.locate_query_part(selector),
        notes=("every drop in a gauge is treated as the restart of a counter",),
        help=f"write `{other}(…)`, or `avg_over_time(…)` for the average level",
    )


RULE = rule.LintRule("PS608", diagnostics.Severity.WARNING, _find_violations)
