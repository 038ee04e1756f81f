"""The topology domains of a cluster over which topology spread rules spread pods."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked
from policysched.lint import rule_input
from policysched.lint.facts import cluster_facts


def list_spread_domains(
    about: rule_input.LintInput, cluster: cluster_facts.ClusterFacts
) -> Iterator[tuple[checked.TopologySpreadRule, frozenset[str]]]:
    """Yield each spread rule with the domains of the nodes that required rules permit."""
    for known in about.enforced_rules:
        for policy in known.policies:
            spreads = [
                each for each in policy.rules if isinstance(each, checked.TopologySpreadRule)
            ]
            if not spreads:
                continue
            asked = known.find_node_constraints(policy)
            nodes = cluster.find_matching_nodes(*(each.selector for each in asked))
            for each in spreads:
                labels = (node.metadata.labels.get(each.topology_key) for node in nodes)
                yield each, frozenset(label for label in labels if label is not None)
