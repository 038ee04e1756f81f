"""PS610: a range with too few scrapes to tolerate a failed scrape."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.rules.prometheus import ps603_range_below_two_scrapes

_FEWEST = 2.0


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each range that contains fewer scrapes than the threshold."""
    wanted = about.thresholds.min_range_scrapes
    for each, call, seconds, interval in ps603_range_below_two_scrapes.iterate_rate_ranges(about):
        if _FEWEST * interval <= seconds < wanted * interval:
            yield ps603_range_below_two_scrapes.make_short_range_diagnostic(
                "PS610",
                each,
                call,
                f"{seconds:g} s contain {seconds / interval:.2g} scrapes "
                f"(one every {interval:g} s), fewer than {wanted:g}",
                wanted * interval,
            )


RULE = rule.LintRule("PS610", diagnostics.Severity.WARNING, _find_violations)
