"""PS512: a preference that all nodes of the cluster meet, or that no node meets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import cluster_facts
from policysched.lint.policies import node_constraints
from policysched.lint.sets import selector_sets


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each preference that does not distinguish the permitted nodes."""
    cluster = about.cluster
    if cluster is None or len(cluster.nodes) <= 1:
        return
    for known in about.enforced_rules:
        for policy in known.policies:
            preferring = [
                each
                for each in policy.rules
                if node_constraints.get_preferred_node_selector(each) is not None
            ]
            if preferring:
                asked = known.find_node_constraints(policy)
                yield from _find_indifferent_preferences(about, cluster, preferring, asked)


def _find_indifferent_preferences(
    about: rule_input.LintInput,
    cluster: cluster_facts.ClusterFacts,
    preferring: list[checked.Rule],
    asked: Sequence[node_constraints.NodeConstraint],
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each preference that all or none of the permitted nodes match."""
    required = [each.selector for each in asked]
    left = cluster.count_matching_nodes(*required)
    for each in preferring:
        selector = node_constraints.get_preferred_node_selector(each)
        if selector is None or left <= 1 or selector_sets.does_match_everything(selector):
            continue
        matching = cluster.count_matching_nodes(*required, selector)
        if matching in {0, left}:
            what = "all" if matching else "none"
            yield diagnostics.Diagnostic(
                "PS512",
                f"{what} of the {left} nodes of {cluster.name} for these pods "
                f"match{'' if matching else 'es'} `{about.format_selector(selector)}`",
                each.head.span,
                notes=("all of them get the same points: the preference has no effect",),
                help="prefer a property in which nodes differ, or remove the preference",
            )


RULE = rule.LintRule("PS512", diagnostics.Severity.INFO, _find_violations)
