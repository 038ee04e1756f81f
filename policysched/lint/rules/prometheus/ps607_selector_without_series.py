"""PS607: a selector without series: a label or value is unknown, or the series have ended."""

from __future__ import annotations

from collections.abc import Iterator

from policysched import spelling
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import prometheus_facts
from policysched.lint.rule_support import series_selector_facts


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each selector without series whose metric name is known."""
    facts = about.prometheus
    if facts is None:
        return
    for each, selector, known in series_selector_facts.list_series_selector_facts(about):
        if not known.is_there and known.is_name_known:
            message, wanted = _describe_absence(selector.name or "", known, facts)
            yield diagnostics.Diagnostic(
                "PS607",
                message,
                each.locate_query_part(selector),
                notes=("at present, this selector has no result",),
                help=spelling.suggest_names(wanted, known.known) if wanted else "",
            )


def _describe_absence(
    name: str,
    known: prometheus_facts.SeriesSelectorFacts,
    facts: prometheus_facts.PrometheusFacts,
) -> tuple[str, str]:
    """Return the message, and the label or value that is probably misspelt, or ""."""
    days = facts.lookback_days
    if known.unknown_value:
        label, value = known.unknown_label, known.unknown_value
        return f"no series `{name}` of {facts.name} has `{value}` as its `{label}`", value
    if known.unknown_label:
        label = known.unknown_label
        return f"no series `{name}` of {facts.name} has the label `{label}`", label
    if known.was_there:
        return (
            f"the requested series `{name}` existed within the last {days} days, but have ended",
            "",
        )
    return f"no series `{name}` of {facts.name} matches the whole selector", ""


RULE = rule.LintRule("PS607", diagnostics.Severity.WARNING, _find_violations)
