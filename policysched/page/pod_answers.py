"""Answers about the pods of one cluster; see `page_source.ViewAnswers`."""

from __future__ import annotations

from typing import Literal

from policysched import clock as clocks
from policysched.observability.live_page import name_matches, node_page, rules_page
from policysched.offline import sessions
from policysched.page import (
    cluster_page,
    page_source,
    pending_page,
    pod_page,
    policies_page,
    rule_effects,
)


class PodAnswers:
    """Answers about pods and nodes.

    Attributes:
        decider: decides about the pods.
    """

    shows: Literal["pods", "bindings"] = "pods"

    def __init__(self, decider: sessions.PodDecider) -> None:
        """Answer about the cluster of `decider`."""
        self.decider = decider

    def make_status(self) -> page_source.Answer:
        """Return the counts of nodes and pods, the profiles and the hash of the policies."""
        cluster = self.decider.cluster
        return {
            "nodes": cluster.cache.nodes.alive_count,
            "placed": len(cluster.placed),
            "pending": len(cluster.pending),
            "profiles": list(self.decider.profiles.by_name),
            "hash": self.decider.policy_set.content_hash,
        }

    def make_map(self) -> page_source.Answer:
        """Return all nodes as columns."""
        return cluster_page.make_cluster_page(self.decider)

    def make_node(self, name: str) -> page_source.Answer:
        """Return one node."""
        metrics = self.decider.policy_set.node_metrics
        return node_page.make_node_page(self.decider.cluster.cache, metrics, name)

    def make_pending(self, clock: clocks.Clock) -> page_source.Answer:
        """Return the pending pods with the reason for each."""
        return pending_page.make_pending_page(self.decider, clock)

    def make_explanation(self, pod: str) -> page_source.Answer:
        """Return the decision about a pod."""
        return pod_page.make_pod_page(self.decider, pod)

    def make_comparison(self, pod: str, node: str) -> page_source.Answer:
        """Return every rejection of a pod by a node, and the points of the node."""
        if self.decider.cluster.cache.get_node(node) is None:
            return page_source.describe_unknown_node(pod, node)
        return pod_page.make_pod_node_page(self.decider, pod, node)

    def make_study(self, pod: str, clock: clocks.Clock) -> page_source.Answer:
        """Return the changes that would let a pod fit, or make another node win."""
        return pod_page.make_study_page(self.decider, pod, clock)

    def make_report(self, pod: str, clock: clocks.Clock) -> page_source.Answer:
        """Return the report of `explain pod`."""
        return pod_page.make_pod_report(self.decider, pod, clock)

    def make_policies(self) -> page_source.Answer:
        """Return the findings about the policies in use, and the rules of each profile."""
        profiles = self.decider.profiles.by_name.items()
        rules = {name: rules_page.describe_rules(prof) for name, prof in profiles}
        return policies_page.describe_policies(self.decider.policy_set, rules)

    def make_rule_effects(self, clock: clocks.Clock) -> page_source.Answer:
        """Return the pods of each rule, and the nodes that it rejects for pending ones."""
        return rule_effects.make_rule_effects(self.decider, clock)

    def find_names(self, text: str) -> page_source.Answer:
        """Return pods, nodes and rules whose name contains `text`."""
        cluster = self.decider.cluster
        return name_matches.find_all_matches(
            text,
            pods=[*(info.key for info in cluster.pending), *cluster.placed],
            nodes=(name for name in cluster.cache.nodes.names if name),
            rules=(
                head.name
                for prof in self.decider.profiles.by_name.values()
                for head in rules_page.list_rules(prof)
            ),
        )
