"""PS201: requirements that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import contradictions


def _check(about: rule_input.RuleInput) -> Iterator[diagnostics.Diagnostic]:
    for occurrence, found in about.contradictory_selectors:
        if not found.is_of_bounds:
            yield finding("PS201", about, occurrence, found)


def finding(
    code: str,
    about: rule_input.RuleInput,
    occurrence: rule_input.SelectorUse,
    found: contradictions.Contradiction,
) -> diagnostics.Diagnostic:
    """Return the diagnostic for a part of a selector that nothing matches."""
    subjects = occurrence.about
    what = "this selector" if found.is_whole_selector else "this part of the selector"
    note = f"no {subjects} can ever match" if found.is_whole_selector else "it adds nothing"
    if found.pair is None:
        return diagnostics.Diagnostic(
            code,
            f"{what} can never match: no {subjects.removesuffix('s')} has such labels",
            about.span(found.whole),
            notes=(note,),
        )
    first, second = found.pair
    shown = f"`{about.slice(first)}` and `{about.slice(second)}`"
    return diagnostics.Diagnostic(
        code,
        f"{what} can never match: {shown} exclude each other",
        about.span(second),
        secondary=(diagnostics.Label(about.span(first), "excludes it"),),
        notes=(note,),
        help="did you mean `or`?",
    )


RULE = rule.LintRule("PS201", diagnostics.Severity.ERROR, _check)
