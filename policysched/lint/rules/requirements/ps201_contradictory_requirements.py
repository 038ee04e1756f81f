"""PS201: requirements that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import contradictions


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for occurrence, found in about.contradictory_selectors:
        if not found.has_number_bounds:
            yield make_contradiction_diagnostic("PS201", about, occurrence, found)


def make_contradiction_diagnostic(
    code: str,
    about: rule_input.LintInput,
    occurrence: rule_input.SelectorUse,
    found: contradictions.Contradiction,
) -> diagnostics.Diagnostic:
    """Return the diagnostic for a part of a selector that cannot match any object."""
    subjects = occurrence.about
    what = "this selector" if found.is_whole_selector else "this part of the selector"
    note = (
        f"no {subjects} can ever match" if found.is_whole_selector else "this part adds no objects"
    )
    if found.pair is None:
        return diagnostics.Diagnostic(
            code,
            f"{what} can never match: no {subjects.removesuffix('s')} has such labels",
            about.locate_selector(found.whole),
            notes=(note,),
        )
    first, second = found.pair
    shown = f"`{about.format_selector(first)}` and `{about.format_selector(second)}`"
    return diagnostics.Diagnostic(
        code,
        f"{what} can never match: {shown} exclude each other",
        about.locate_selector(second),
        secondary=(diagnostics.SpanLabel(about.locate_selector(first), "excludes it"),),
        notes=(note,),
        help="did you mean `or`?",
    )


RULE = rule.LintRule("PS201", diagnostics.Severity.ERROR, _find_violations)
