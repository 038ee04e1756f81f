"""PS801: missing documentation: a description, an owner, the name of a rule, or a use."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import syntax
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for policy in (*about.program.policies, *about.program.cluster_policies):
        yield from _diagnose_missing_documentation(policy)
    yield from _find_unused_names(about)


def _diagnose_missing_documentation(
    policy: checked.CheckedPolicy,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield findings for a missing description or owner, and for `reject` rules without a name."""
    parts = [("description", policy.description), ("owner", policy.owner)]
    missing = [name for name, value in parts if not value]
    if missing:
        yield diagnostics.Diagnostic(
            "PS801",
            f"the policy `{policy.name}` has no {' and no '.join(missing)}",
            policy.span,
            help=f'add `{missing[0]} "…"`',
        )
    for each in policy.rules:
        if isinstance(each, checked.RejectRule) and each.head.given_name is None:
            yield diagnostics.Diagnostic(
                "PS801",
                "this rule has no name: events and metrics show a hash",
                each.head.span,
                help="add `as NAME`",
            )


def _find_unused_names(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield declared names that occur only once in all texts."""
    declared = [
        item
        for result in about.parsed
        for item in result.file.items
        if isinstance(item, syntax.LetExpr | syntax.LetSelector | syntax.Metric | syntax.Param)
    ]
    words = _count_words(about)
    for item in declared:
        if words.get(item.name.text, 0) <= 1:
            kind = "let" if isinstance(item, syntax.LetExpr | syntax.LetSelector) else "metric"
            kind = "param" if isinstance(item, syntax.Param) else kind
            yield diagnostics.Diagnostic(
                "PS801",
                f"nothing uses the {kind} `{item.name.text}`",
                item.name.span,
                help="remove it",
            )


def _count_words(about: rule_input.LintInput) -> dict[str, int]:
    """Return the number of occurrences of each word, without comments and strings."""
    counts: dict[str, int] = {}
    for result in about.parsed:
        for word in rule_input.list_text_words(result):
            counts[word] = counts.get(word, 0) + 1
    return counts


RULE = rule.LintRule("PS801", diagnostics.Severity.INFO, _find_violations)
