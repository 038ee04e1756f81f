"""PS203: a redundant requirement: the other requirements imply it, or everything matches it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from policysched.lang import source
from policysched.lang.checked import checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.rule_support import covered_values, operand_removal
from policysched.lint.sets import selector_sets

_Operand = checked_selector.Selector
_Operands = tuple[checked_selector.Selector, ...]
_Found = Iterator[checked_selector.Selector]


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for occurrence in about.selector_uses:
        if not selector_sets.can_never_match_together(occurrence.selector):
            yield from _diagnose_redundant_operands(about, occurrence.selector)
        for each in checked_selector.walk_requirements(occurrence.selector):
            if isinstance(
                each, checked_selector.LabelRequirement | checked_selector.FieldRequirement
            ):
                yield from _diagnose_covered_values(each.values, each.span)
    for policy in (*about.program.policies, *about.program.cluster_policies):
        if policy.scope.namespaces is not None:
            yield from _diagnose_covered_values(policy.scope.namespaces.names, policy.span)


def _diagnose_covered_values(
    values: Sequence[str], place: source.Span
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each value of a list that a pattern of the list matches."""
    for value, pattern in covered_values.find_covered_values(values):
        yield diagnostics.Diagnostic(
            "PS203",
            f"`{value}` has no effect in this list: `{pattern}` matches it",
            place,
            help="remove it",
        )


def _diagnose_redundant_operands(
    about: rule_input.LintInput, selector: checked_selector.Selector
) -> Iterator[diagnostics.Diagnostic]:
    """Yield findings for the redundant operands of a selector, and recurse into the others."""
    match selector:
        case checked_selector.SelectorConjunction(operands=operands):
            redundant = list(_find_redundant_operands(operands, _is_implied))
        case checked_selector.SelectorDisjunction(operands=operands):
            if selector_sets.does_match_everything(selector):
                yield _diagnose_tautology(about, selector)
                return
            redundant = list(_find_redundant_operands(operands, _is_covered))
        case checked_selector.SelectorNegation():
            return
        case _:
            if selector_sets.does_match_everything(selector):
                yield _diagnose_tautology(about, selector)
            return
    for operand in redundant:
        yield _make_finding(
            about, operand, is_all=isinstance(selector, checked_selector.SelectorConjunction)
        )
    for operand in operands:
        if operand not in redundant:
            yield from _diagnose_redundant_operands(about, operand)


def _find_redundant_operands(
    operands: _Operands, is_redundant: Callable[[_Operand, _Operands], bool]
) -> _Found:
    """Yield operands that the others make redundant; of equal operands, yield all but the first."""
    if len(operands) > selector_sets.MAX_OPERANDS:
        return
    left = list(operands)
    for index in reversed(range(len(operands))):
        others = (*left[:index], *left[index + 1 :])
        if others and is_redundant(operands[index], others):
            del left[index]
            yield operands[index]


def _is_implied(operand: _Operand, others: _Operands) -> bool:
    return selector_sets.does_selector_imply(checked_selector.SelectorConjunction(others), operand)


def _is_covered(operand: _Operand, others: _Operands) -> bool:
    """Return whether the other operands match everything that the operand matches.

    An operand that cannot match is not redundant; PS201 reports it.
    """
    is_possible = not selector_sets.can_never_match_together(operand)
    return is_possible and selector_sets.does_selector_imply(
        operand, checked_selector.SelectorDisjunction(others)
    )


def _diagnose_tautology(
    about: rule_input.LintInput, selector: checked_selector.Selector
) -> diagnostics.Diagnostic:
    """Return the finding for a selector that matches everything."""
    return diagnostics.Diagnostic(
        "PS203",
        f"`{about.format_selector(selector)}` matches everything",
        about.locate_selector(selector),
        help="remove or correct this selector",
    )


def _make_finding(
    about: rule_input.LintInput, operand: checked_selector.Selector, *, is_all: bool
) -> diagnostics.Diagnostic:
    """Return the finding for a redundant operand, with a fix if possible."""
    why = "the other requirements imply it" if is_all else "the alternatives already match it"
    fix = _make_fix(about, operand)
    return diagnostics.Diagnostic(
        "PS203",
        f"`{about.format_selector(operand)}` has no effect: {why}",
        about.locate_selector(operand),
        help="remove it",
        fix=fix,
    )


def _make_fix(
    about: rule_input.LintInput, operand: checked_selector.Selector
) -> diagnostics.Fix | None:
    """Return the fix that removes a single requirement and the `and` or `or` next to it."""
    if isinstance(
        operand,
        checked_selector.SelectorConjunction
        | checked_selector.SelectorDisjunction
        | checked_selector.SelectorNegation,
    ):
        return None
    return operand_removal.make_removal_fix(
        about.texts[operand.span.file], operand.span, operand_removal.AND_OR
    )


RULE = rule.LintRule("PS203", diagnostics.Severity.WARNING, _find_violations)
