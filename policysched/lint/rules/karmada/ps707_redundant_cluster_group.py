"""PS707: a cluster group that an earlier group contains."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked_cluster
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import selector_sets


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each group that an earlier group contains."""
    for policy in about.program.cluster_policies:
        groups = policy.clusters.groups if policy.clusters else ()
        for number, group in enumerate(groups):
            wide = next(
                (each for each in groups[:number] if _is_contained_in_group(group, each)), None
            )
            if wide is not None:
                yield _make_finding(group, wide)


def _is_contained_in_group(
    narrow: checked_cluster.OrderedClusterGroup, wide: checked_cluster.OrderedClusterGroup
) -> bool:
    """Return whether `wide` certainly contains all clusters of `narrow`."""
    if selector_sets.can_never_match_together(narrow.selector):
        return False  # PS201 reports this
    return selector_sets.does_selector_imply(narrow.selector, wide.selector)


def _make_finding(
    group: checked_cluster.OrderedClusterGroup, wide: checked_cluster.OrderedClusterGroup
) -> diagnostics.Diagnostic:
    """Return the finding for a group and the earlier group that contains it."""
    return diagnostics.Diagnostic(
        "PS707",
        f"all clusters of `{group.name}` are in `{wide.name}`, which is tried first",
        group.span,
        secondary=(diagnostics.SpanLabel(wide.span, "contains them"),),
        notes=("groups are tried in order, each only if all earlier ones have failed",),
        help="put the narrower group first, or remove it",
    )


RULE = rule.LintRule("PS707", diagnostics.Severity.WARNING, _find_violations)
