"""PS702: a spread constraint by region, zone or provider without one by cluster."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked_cluster
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for policy in about.program.cluster_policies:
        spread = policy.clusters.spread if policy.clusters else ()
        if spread and all(each.by != "cluster" for each in spread):
            yield _make_finding(spread[0], about)


def _make_finding(
    spread: checked_cluster.ClusterSpreadConstraint, about: rule_input.LintInput
) -> diagnostics.Diagnostic:
    """Return the finding for a spread constraint, with a fix that adds a constraint by cluster."""
    end = spread.span.end
    added = f"\n  spreadConstraint by cluster minGroups {spread.min_groups}"
    edit = diagnostics.TextEdit(about.texts[spread.span.file].span(end, end), added)
    return diagnostics.Diagnostic(
        "PS702",
        f"a spread by {spread.by} also needs one by cluster",
        spread.span,
        notes=("in each selected group, Karmada selects clusters by the constraint on clusters",),
        help=f"add `spreadConstraint by cluster minGroups {spread.min_groups}`",
        fix=diagnostics.Fix((edit,), safe=False),
    )


RULE = rule.LintRule("PS702", diagnostics.Severity.ERROR, _find_violations)
