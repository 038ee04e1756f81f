"""PS609: a maxAge that samples exceed before the next scrape."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.rule_support import series_selector_facts


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each metric whose `maxAge` is below scrape interval plus `refresh`."""
    facts = about.prometheus
    if facts is None:
        return
    seen: set[str] = set()
    for each, _, known in series_selector_facts.list_series_selector_facts(about):
        intervals = [facts.scrape_seconds[job] for job in known.jobs if job in facts.scrape_seconds]
        if not intervals or each.metric.key in seen:
            continue
        oldest = max(intervals) + each.metric.refresh_seconds
        if each.metric.max_age_seconds < oldest:
            seen.add(each.metric.key)
            yield diagnostics.Diagnostic(
                "PS609",
                f"samples of `{each.metric.name}` get up to {oldest:g} s old, but count only for "
                f"{each.metric.max_age_seconds:g} s (maxAge)",
                each.metric.span,
                notes=(
                    (
                        f"scraped every {max(intervals):g} s, queried every "
                        f"{each.metric.refresh_seconds:g} s: values are missing in between"
                    ),
                ),
                help=f"write `maxAge {round(3 * oldest)}s`, or scrape more often",
            )


RULE = rule.LintRule("PS609", diagnostics.Severity.WARNING, _find_violations)
