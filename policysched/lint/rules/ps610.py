"""PS610: a range that one failed scrape leaves without two samples."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, subject
from policysched.lint.rules import ps603

_FEWEST = 2.0


def _check(about: subject.RuleInput) -> Iterator[diagnostics.Diagnostic]:
    wanted = about.thresholds.min_range_scrapes
    for each, call, seconds, interval in ps603.ranges(about):
        if _FEWEST * interval <= seconds < wanted * interval:
            yield ps603.finding(
                "PS610",
                each,
                call,
                f"{seconds:g} s hold {seconds / interval:.2g} scrapes, one every {interval:g} s: "
                f"fewer than {wanted:g}",
                wanted * interval,
            )


RULE = rule.LintRule("PS610", diagnostics.Severity.WARNING, _check)
