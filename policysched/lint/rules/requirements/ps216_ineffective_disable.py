"""PS216: a `disable` without effect."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import scopes


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each `disable` that is repeated or has no effect."""
    by_name = {policy.name: policy for policy in about.program.policies}
    together = {
        (one.name, other)
        for profile in about.program.profiles
        for one in profile.policies
        if one.disables
        for other in {each.name for each in profile.policies}
    }
    for policy in about.program.policies:
        seen: dict[str, checked.DisabledRule] = {}
        for each in policy.disables:
            why = _explain_useless_disable(policy, by_name.get(each.policy), together)
            if each.rule in seen:
                yield _diagnose_repeated_disable(each, seen[each.rule])
            elif why:
                yield _make_finding(each, why)
            seen.setdefault(each.rule, each)


def _explain_useless_disable(
    policy: checked.CheckedPolicy,
    other: checked.CheckedPolicy | None,
    together: set[tuple[str, str]],
) -> str:
    """Return the reason why a policy cannot disable rules of another policy, or "" if it can."""
    if other is None:
        return ""
    if scopes.are_scopes_disjoint(policy.scope, other.scope):
        return f"no pod matches both `{policy.name}` and `{other.name}`"
    if (policy.name, other.name) not in together and any(
        pair[0] == policy.name for pair in together
    ):
        return f"no profile has both `{policy.name}` and `{other.name}`"
    if policy.mode == "enforce" and other.mode == "shadow":
        return f"`{other.name}` is a shadow policy, whose rules do not affect decisions"
    return ""


def _make_finding(each: checked.DisabledRule, why: str) -> diagnostics.Diagnostic:
    return diagnostics.Diagnostic(
        "PS216",
        f"this `disable` has no effect: {why}",
        each.span,
        help=f"remove `disable {each.rule.replace('/', '.')}`, or correct the scopes of the "
        "policies",
    )


def _diagnose_repeated_disable(
    each: checked.DisabledRule, first: checked.DisabledRule
) -> diagnostics.Diagnostic:
    """Return the finding for a rule that the policy has already disabled."""
    return diagnostics.Diagnostic(
        "PS216",
        "this `disable` has no effect: the rule is already disabled",
        each.span,
        secondary=(diagnostics.SpanLabel(first.span, "here"),),
        help="keep one of them",
    )


RULE = rule.LintRule("PS216", diagnostics.Severity.WARNING, _find_violations)
