"""PS601: a query for series that Prometheus did not have in the lookback period."""

from __future__ import annotations

from collections.abc import Iterator

from policysched import spelling
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.rule_support import series_selector_facts


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each selector with a metric name that the server did not have."""
    facts = about.prometheus
    if facts is None:
        return
    for each, selector, known in series_selector_facts.list_series_selector_facts(about):
        if not known.is_there and not known.is_name_known and selector.name:
            yield diagnostics.Diagnostic(
                "PS601",
                f"{facts.name} has had no series `{selector.name}` in the last "
                f"{facts.lookback_days} days",
                each.locate_query_part(selector),
                notes=(f"`{each.metric.name}` has no value for any node",),
                help=spelling.suggest_names(selector.name, known.known),
            )


RULE = rule.LintRule("PS601", diagnostics.Severity.ERROR, _find_violations)
