"""PS215: a toleration that another toleration of the same pods includes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import enforced_policy_rules
from policysched.lint.rule_support import operand_removal
from policysched.lint.sets import taint_patterns


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    yield from enforced_policy_rules.intersect_profile_findings(
        about.enforced_rules, lambda known, policy: _find_redundant_patterns(about, known, policy)
    )


def _find_redundant_patterns(
    about: rule_input.LintInput,
    known: enforced_policy_rules.EnforcedPolicyRules,
    policy: checked.CheckedPolicy,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each pattern that a wider toleration for the same pods includes."""
    own = [each for each in policy.rules if isinstance(each, checked.TolerationRule)]
    granted = list(_iterate_granted_tolerations(known, policy)) if own else []
    for each in own:
        for pattern in each.patterns:
            wide = _find_wider_pattern(pattern, policy, granted)
            if wide is not None:
                yield _make_finding(about, pattern, wide, is_alone=len(each.patterns) == 1)


_Granted = tuple[checked.CheckedPolicy, checked_selector.TaintPattern]


def _iterate_granted_tolerations(
    known: enforced_policy_rules.EnforcedPolicyRules, policy: checked.CheckedPolicy
) -> Iterator[_Granted]:
    """Yield the taints that all pods of a policy always tolerate, with the tolerating policies."""
    for other, each in known.find_always_active_rules(policy):
        if isinstance(each, checked.TolerationRule):
            for pattern in each.patterns:
                yield other, pattern


def _find_wider_pattern(
    pattern: checked_selector.TaintPattern,
    policy: checked.CheckedPolicy,
    granted: Sequence[_Granted],
) -> checked_selector.TaintPattern | None:
    """Return another pattern that includes `pattern`, or None.

    Of two equal patterns, one must remain, so the result for it is None.
    """
    for other_policy, other in granted:
        if other is pattern or not taint_patterns.covers_taint_pattern(other, pattern):
            continue
        is_equal = taint_patterns.covers_taint_pattern(pattern, other)
        if not is_equal or not enforced_policy_rules.EnforcedPolicyRules.is_duplicate_to_keep(
            policy, pattern.span, other_policy, other.span
        ):
            return other
    return None


def _make_finding(
    about: rule_input.LintInput,
    pattern: checked_selector.TaintPattern,
    wide: checked_selector.TaintPattern,
    *,
    is_alone: bool,
) -> diagnostics.Diagnostic:
    """Return the finding for a redundant pattern, with a fix unless it is the only pattern."""
    return diagnostics.Diagnostic(
        "PS215",
        f"`{_quote_taint_pattern(about, pattern)}` is already tolerated by "
        f"`{_quote_taint_pattern(about, wide)}`",
        pattern.span,
        secondary=(diagnostics.SpanLabel(wide.span, "includes it, for the same pods"),),
        help="remove it",
        fix=None
        if is_alone
        else operand_removal.make_removal_fix(
            about.texts[pattern.span.file], pattern.span, operand_removal.COMMA
        ),
    )


def _quote_taint_pattern(
    about: rule_input.LintInput, pattern: checked_selector.TaintPattern
) -> str:
    return " ".join(about.texts[pattern.span.file].slice(pattern.span).split())


RULE = rule.LintRule("PS215", diagnostics.Severity.WARNING, _find_violations)
