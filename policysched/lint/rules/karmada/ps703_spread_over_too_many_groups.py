"""PS703: a spread constraint over more groups than the policy permits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policysched.cluster.objects import fields_as_labels, objects
from policysched.lang.checked import checked, checked_cluster, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lang.words import glob_patterns
from policysched.lint import rule, rule_input

_FIELDS = {
    "cluster": "clusterName",
    "region": "region",
    "zone": "zone",
    "provider": "provider",
}
"""`by` of a spread constraint -> the field whose values are the groups."""


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each spread constraint whose `minGroups` cannot be met."""
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
            said = [
                each
                for selector in selectors
                for each in _diagnose_limiting_requirements(spread, selector)
            ]
            yield from said
            if not said:
                yield from _diagnose_too_few_groups(about, policy, spread)


def _diagnose_too_few_groups(
    about: rule_input.LintInput,
    policy: checked.CheckedPolicy,
    spread: checked_cluster.ClusterSpreadConstraint,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if the member clusters that the policy permits form too few groups."""
    members = about.cluster.members if about.cluster is not None else None
    if members is None or policy.clusters is None:
        return
    required = [
        each.selector
        for each in policy.rules
        if isinstance(each, checked.NodeAffinityRule) and each.weight is None
    ]
    for group in policy.clusters.groups or (None,):
        asked = [*required, group.selector] if group else required
        count = len(_list_groups(spread.by, members.find_matching_nodes(*asked)))
        if 0 < count < spread.min_groups:
            where = f" in clusterGroup `{group.name}`" if group else ""
            noun = f"{spread.by}{'s' if count > 1 else ''}"
            yield diagnostics.Diagnostic(
                "PS703",
                f"`minGroups {spread.min_groups}` cannot be met: {members.name} has {count} "
                f"{noun} for these resources{where}",
                spread.span,
                secondary=(diagnostics.SpanLabel(group.span, "this group"),) if group else (),
                help=f"write `minGroups {count}` or less, or allow more {spread.by}s",
            )


def _list_groups(by: str, clusters: Iterable[objects.Node]) -> set[str]:
    """Return the groups of the clusters; a cluster without the field is in no group."""
    found: set[str] = set()
    for cluster in clusters:
        labels = cluster.metadata.labels
        if by == "cluster":
            found.add(cluster.name)
        elif by == "zone":
            found |= fields_as_labels.list_field_values(by, labels)
        else:
            found.add(labels.get(fields_as_labels.make_field_label_key(by), ""))
    return found - {""}


def _diagnose_limiting_requirements(
    spread: checked_cluster.ClusterSpreadConstraint, selector: checked_selector.Selector
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each requirement that alone permits too few groups."""
    match selector:
        case checked_selector.SelectorConjunction(operands=operands):
            for each in operands:
                yield from _diagnose_limiting_requirements(spread, each)
        case checked_selector.FieldRequirement(field=field, operator="In", values=values):
            has_patterns = any(map(glob_patterns.is_pattern, values))
            is_group = field == _FIELDS[spread.by] and not has_patterns
            if is_group and len(values) < spread.min_groups:
                yield _make_finding(spread, selector)
        case _:
            pass


def _make_finding(
    spread: checked_cluster.ClusterSpreadConstraint, part: checked_selector.FieldRequirement
) -> diagnostics.Diagnostic:
    """Return the finding for a requirement that leaves too few groups."""
    left = f"{len(part.values)} {spread.by}{'s' if len(part.values) > 1 else ''}"
    return diagnostics.Diagnostic(
        "PS703",
        f"`minGroups {spread.min_groups}` cannot be met: the policy leaves {left}",
        spread.span,
        secondary=(diagnostics.SpanLabel(part.span, f"leaves {left}"),),
        help=f"write `minGroups {len(part.values)}` or less, or allow more {spread.by}s",
    )


RULE = rule.LintRule("PS703", diagnostics.Severity.WARNING, _find_violations)
