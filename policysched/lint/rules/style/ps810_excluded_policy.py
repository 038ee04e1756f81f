"""PS810: a profile that excludes a policy of all profiles."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import syntax
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for result in about.parsed:
        for item in result.file.items:
            if isinstance(item, syntax.Profile):
                yield from _find_exclusions(item)


def _find_exclusions(profile: syntax.Profile) -> Iterator[diagnostics.Diagnostic]:
    for statement in profile.statements:
        for name in statement.names if isinstance(statement, syntax.ExcludePolicies) else ():
            yield diagnostics.Diagnostic(
                "PS810",
                f"the policy `{name.text}` of all profiles does not act on pods of the profile "
                f"`{profile.name.text}`",
                name.span,
                help="if this is intended, give the reason: `# policysched: ignore[PS810] …`",
            )


RULE = rule.LintRule("PS810", diagnostics.Severity.INFO, _find_violations)
