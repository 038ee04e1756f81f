"""PS501: a policy that leaves no node of the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import cluster_facts
from policysched.lint.rule_support import rejects_of_all_nodes
from policysched.lint.sets import selector_sets


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each policy whose required selectors match no node of the cluster."""
    cluster = about.cluster
    if cluster is None or not cluster.nodes:
        return
    for policy in about.program.policies:
        steps = list(_iterate_required_selectors(policy))
        if not steps or selector_sets.can_never_match_together(*steps):
            continue  # PS201 and PS202 report selectors that no cluster can match
        if cluster.count_matching_nodes(*steps) == 0:
            yield _make_finding(about, cluster, policy, steps)
    yield from rejects_of_all_nodes.diagnose_rejects_of_all_nodes(about, cluster)


def _iterate_required_selectors(
    policy: checked.CheckedPolicy,
) -> Iterator[checked_selector.Selector]:
    """Yield each condition that a policy always requires of nodes."""
    for each in policy.rules:
        is_required = isinstance(each, checked.NodeAffinityRule) and each.weight is None
        if is_required and each.head.active is None:
            yield from _split_conjunction(each.selector)  # type: ignore[union-attr]  # a NodeAffinityRule


def _split_conjunction(selector: checked_selector.Selector) -> Iterator[checked_selector.Selector]:
    if isinstance(selector, checked_selector.SelectorConjunction):
        for operand in selector.operands:
            yield from _split_conjunction(operand)
    else:
        yield selector


def _make_finding(
    about: rule_input.LintInput,
    cluster: cluster_facts.ClusterFacts,
    policy: checked.CheckedPolicy,
    steps: list[checked_selector.Selector],
) -> diagnostics.Diagnostic:
    """Return the finding for a policy, with a table of the nodes that each step leaves."""
    pods = len(cluster.list_pods_of_policy(policy))
    shown = [about.format_selector(step) for step in steps]
    width = max(len("step"), *map(len, shown))
    table = [f"{'step':<{width}}  alone  cumulative"]
    left: list[int] = []
    for index, text in enumerate(shown):
        left.append(cluster.count_matching_nodes(*steps[: index + 1]))
        table.append(
            f"{text:<{width}}  {cluster.count_matching_nodes(steps[index]):>5}  {left[-1]:>10}"
        )
    last = steps[left.index(0)]
    return diagnostics.Diagnostic(
        "PS501",
        f"the policy `{policy.name}` leaves 0 of {len(cluster.nodes)} nodes "
        f"({cluster.name}, {pods} pod{'' if pods == 1 else 's'} in scope)",
        about.locate_selector(last),
        label="no node is left after this step",
        notes=tuple(table),
        help="relax the condition, or label nodes",
    )


RULE = rule.LintRule("PS501", diagnostics.Severity.ERROR, _find_violations)
