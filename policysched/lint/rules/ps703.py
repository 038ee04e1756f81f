"""PS703: a spread over more groups than the policy leaves."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang import checked, checked_cluster, checked_selector, diagnostics
from policysched.lint import rule, subject

_FIELDS = {
    "cluster": "clusterName",
    "region": "region",
    "zone": "zone",
    "provider": "provider",
}
"""What clusters are spread by -> the field whose values are the groups."""


def _check(about: subject.Subject) -> Iterator[diagnostics.Diagnostic]:
    for policy in about.program.cluster_policies:
        if policy.clusters is None:
            continue
        selectors = [
            each.selector
            for each in policy.rules
            if isinstance(each, checked.NodeAffinityRule) and each.weight is None
        ]
        selectors += [group.selector for group in policy.clusters.groups]
        for spread in policy.clusters.spread:
            for selector in selectors:
                yield from _of(spread, selector)


def _of(
    spread: checked_cluster.SpreadConstraint, selector: checked_selector.Selector
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each requirement that leaves too few groups by itself."""
    match selector:
        case checked_selector.AllOf(operands=operands):
            for each in operands:
                yield from _of(spread, each)
        case checked_selector.FieldRequirement(field=field, operator="In", values=values):
            if field == _FIELDS[spread.by] and len(values) < spread.min_groups:
                yield _finding(spread, selector)
        case _:
            pass


def _finding(
    spread: checked_cluster.SpreadConstraint, part: checked_selector.FieldRequirement
) -> diagnostics.Diagnostic:
    left = f"{len(part.values)} {spread.by}{'s' if len(part.values) > 1 else ''}"
    return diagnostics.Diagnostic(
        "PS703",
        f"`minGroups {spread.min_groups}` cannot be met: the policy leaves {left}",
        spread.span,
        secondary=(diagnostics.Label(part.span, f"leaves {left}"),),
        help=f"write `minGroups {len(part.values)}` or less, or allow more {spread.by}s",
    )


RULE = rule.Rule("PS703", diagnostics.Severity.WARNING, _check)
