"""The domains among which topology spreads of policies spread pods in a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked
from policysched.lint import subject
from policysched.lint.facts import cluster_facts


def of(
    about: subject.Subject, cluster: cluster_facts.ClusterFacts
) -> Iterator[tuple[checked.TopologySpreadRule, frozenset[str]]]:
    """Yield each spread with the domains that the required rules of its pods leave."""
    for known in about.acting:
        for policy in known.policies:
            spreads = [
                each for each in policy.rules if isinstance(each, checked.TopologySpreadRule)
            ]
            if not spreads:
                continue
            asked = known.demands_on(policy)
            nodes = cluster.left_by(*(each.selector for each in asked))
            for each in spreads:
                labels = (node.metadata.labels.get(each.topology_key) for node in nodes)
                yield each, frozenset(label for label in labels if label is not None)
