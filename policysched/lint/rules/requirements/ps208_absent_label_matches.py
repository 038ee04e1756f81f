"""PS208: a NotIn or `!=` that also matches nodes without the label."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import selector_sets


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for occurrence in about.selector_uses:
        if occurrence.about != "nodes":
            continue
        for each in _find_unguarded_absences(occurrence.selector):
            yield _make_finding(about, each, occurrence.selector)


def _find_unguarded_absences(
    selector: checked_selector.Selector,
) -> Iterator[checked_selector.LabelRequirement]:
    """Yield NotIn requirements on labels that the rest of the selector permits to be absent.

    A pattern that matches all values, as in `pool != "*"`, means that the label must be absent.
    """
    operands = (
        selector.operands
        if isinstance(selector, checked_selector.SelectorConjunction)
        else (selector,)
    )
    by_key: dict[str, list[checked_selector.Selector]] = {}
    for operand in operands:
        for each in checked_selector.walk_requirements(operand):
            if isinstance(each, checked_selector.LabelRequirement):
                by_key.setdefault(each.key, []).append(operand)
    for operand in operands:
        if isinstance(operand, checked_selector.LabelRequirement) and operand.operator == "NotIn":
            exists = checked_selector.LabelRequirement(operand.key, "Exists", (), operand.span)
            about_key = checked_selector.SelectorConjunction(tuple(by_key[operand.key]))
            if selector_sets.does_selector_imply(about_key, exists):
                continue
            if not selector_sets.can_never_match_together(operand, exists):
                yield operand


def _make_finding(
    about: rule_input.LintInput,
    each: checked_selector.LabelRequirement,
    selector: checked_selector.Selector,
) -> diagnostics.Diagnostic:
    """Return the finding for a requirement, with a fix that adds `Exists` if possible."""
    text = about.texts[each.span.file]
    end = text.span(each.span.end, each.span.end)
    edit = diagnostics.TextEdit(end, f" and {_quote_key(text.slice(each.span))} Exists")
    can_join = isinstance(selector, checked_selector.SelectorConjunction) or selector is each
    return diagnostics.Diagnostic(
        "PS208",
        f"this also matches nodes without the label `{each.key}`",
        each.span,
        help=f"if this is not intended, add `and {each.key} Exists`",
        fix=diagnostics.Fix((edit,), safe=False) if can_join else None,
    )


def _quote_key(requirement: str) -> str:
    """Return the label key as written in the requirement, with its quotes."""
    return requirement.split(maxsplit=1)[0].split("!", maxsplit=1)[0]


RULE = rule.LintRule("PS208", diagnostics.Severity.INFO, _find_violations)
