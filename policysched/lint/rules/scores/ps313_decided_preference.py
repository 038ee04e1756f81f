"""PS313: a preference that required rules make redundant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import enforced_policy_rules, node_constraints
from policysched.lint.sets import selector_sets


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    yield from enforced_policy_rules.intersect_profile_findings(
        about.enforced_rules, lambda known, policy: _find_decided_preferences(about, known, policy)
    )


def _find_decided_preferences(
    about: rule_input.LintInput,
    known: enforced_policy_rules.EnforcedPolicyRules,
    policy: checked.CheckedPolicy,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each preference that all or none of the remaining nodes match."""
    preferring = [
        each
        for each in policy.rules
        if node_constraints.get_preferred_node_selector(each) is not None
    ]
    asked = known.find_node_constraints(policy) if preferring else ()
    required = [each.selector for each in asked]
    if len(asked) > selector_sets.MAX_OPERANDS or selector_sets.can_never_match_together(*required):
        return  # PS201, PS202 and PS213 report this
    for each in preferring:
        selector = node_constraints.get_preferred_node_selector(each)
        if selector is None or selector_sets.can_never_match_together(selector):
            continue
        if not asked or selector_sets.does_match_everything(selector):
            continue  # PS203 reports selectors that match everything
        for wanted, what in (
            (checked_selector.SelectorNegation(selector), "every"),
            (selector, "no"),
        ):
            if selector_sets.can_never_match_together(*required, wanted):
                yield _make_finding(about, each, selector, what, _find_deciding_rule(asked, wanted))


def _find_deciding_rule(
    asked: Sequence[node_constraints.NodeConstraint], wanted: checked_selector.Selector
) -> checked.Rule:
    """Return a rule that decides alone, or the first rule if several rules decide only together."""
    return next(
        (
            each.rule
            for each in asked
            if selector_sets.can_never_match_together(each.selector, wanted)
        ),
        asked[0].rule,
    )


def _make_finding(
    about: rule_input.LintInput,
    each: checked.Rule,
    selector: checked_selector.Selector,
    what: str,
    deciding: checked.Rule,
) -> diagnostics.Diagnostic:
    """Return the finding for a preference that the rule `deciding` makes useless."""
    return diagnostics.Diagnostic(
        "PS313",
        f"{what} node that the required rules permit matches `{about.format_selector(selector)}`",
        each.head.span,
        secondary=(diagnostics.SpanLabel(deciding.head.span, "already decides it"),),
        notes=("all nodes get the same points: the preference has no effect",),
        help="remove the preference, or make the other rule `preferred`",
    )


RULE = rule.LintRule("PS313", diagnostics.Severity.WARNING, _find_violations)
