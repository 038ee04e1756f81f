"""The domains among which topology spreads of policies spread pods in a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang import checked
from policysched.lint import acting, cluster_facts, demands, subject


def of(
    about: subject.Subject, cluster: cluster_facts.ClusterFacts
) -> Iterator[tuple[checked.TopologySpreadRule, frozenset[str]]]:
    """Yield each spread with the domains that the required rules of its pods leave."""
    for profile in about.program.profiles:
        known = acting.Acting(profile)
        for policy in known.policies:
            spreads = [
                each for each in policy.rules if isinstance(each, checked.TopologySpreadRule)
            ]
            if not spreads:
                continue
            asked = demands.on_pods_of(policy, known)
            nodes = cluster.left_by(*(each.selector for each in asked))
            for each in spreads:
                labels = (node.metadata.labels.get(each.topology_key) for node in nodes)
                yield each, frozenset(label for label in labels if label is not None)
