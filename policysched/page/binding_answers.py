"""Answers about the bindings of a Karmada control plane; see `page_source.ViewAnswers`."""

from __future__ import annotations

from typing import Any, Literal

from policysched import clock as clocks
from policysched.compiler.rules import base
from policysched.karmada.policies import cluster_policies
from policysched.observability.live_page import name_matches, rules_page
from policysched.offline import binding_sessions
from policysched.page import (
    binding_outcomes_page,
    binding_page,
    member_cluster_page,
    page_source,
    placement_statements,
    policies_page,
)
from policysched.profiles import profile_choice


class BindingAnswers:
    """Answers about bindings and member clusters."""

    shows: Literal["pods", "bindings"] = "bindings"

    def __init__(self, decider: binding_sessions.BindingDecider) -> None:
        """Answer about the control plane of `decider`."""
        self._decider = decider
        self._outcomes = binding_outcomes_page.BindingOutcomes(decider)

    def make_status(self) -> page_source.Answer:
        """Return the counts of clusters and bindings, the profile and the hash of the policies."""
        bindings = self._decider.plane.bindings
        placed = sum(bool(each.spec.clusters) for each in bindings)
        return {
            "nodes": len(self._decider.clusters.clusters),
            "placed": placed,
            "pending": len(bindings) - placed,
            "profiles": list(self._describe_rules()),
            "hash": self._decider.loaded.content_hash,
        }

    def make_map(self) -> page_source.Answer:
        """Return all clusters as columns."""
        return member_cluster_page.make_map_page(self._decider)

    def make_node(self, name: str) -> page_source.Answer:
        """Return one cluster."""
        return member_cluster_page.make_member_cluster_page(self._decider, name)

    def make_pending(self, clock: clocks.Clock) -> page_source.Answer:
        """Return the bindings that get no clusters, or other ones than they have."""
        return self._outcomes.make_page(clock)

    def make_explanation(self, pod: str) -> page_source.Answer:
        """Return the decision about a binding."""
        return binding_page.make_binding_page(self._decider, pod)

    def make_comparison(self, pod: str, node: str) -> page_source.Answer:
        """Return every refusal of a binding by a cluster, and the share of the cluster."""
        try:
            self._decider.find_cluster(node)
        except LookupError:
            return page_source.describe_unknown_node(pod, node)
        return binding_page.make_binding_cluster_page(self._decider, pod, node)

    def make_study(self, pod: str, clock: clocks.Clock) -> page_source.Answer:
        """Refuse, because changes are suggested for pods only."""
        raise ValueError("changes are suggested for pods only, not for bindings")

    def make_report(self, pod: str, clock: clocks.Clock) -> page_source.Answer:
        """Return the report of `explain binding`."""
        return self._decider.make_report(self._decider.find_binding(pod))

    def make_policies(self) -> page_source.Answer:
        """Return the findings about the policies in use, and the rules in force for clusters."""
        policy_set = self._decider.loaded.policy_set
        return policies_page.describe_policies(policy_set, self._describe_rules())

    def make_rule_effects(self, clock: clocks.Clock) -> page_source.Answer:
        """Refuse, because rules are counted for pods only."""
        raise ValueError("rules are counted for pods only, not for bindings")

    def find_names(self, text: str) -> page_source.Answer:
        """Return bindings, clusters and rules whose name contains `text`."""
        return name_matches.find_all_matches(
            text,
            pods=(each.key for each in self._decider.plane.bindings),
            nodes=(each.metadata.name for each in self._decider.clusters.clusters),
            rules=(rule["name"] for rules in self._describe_rules().values() for rule in rules),
        )

    def _describe_rules(self) -> dict[str, list[dict[str, Any]]]:
        """Return the placement statements and the rules in force, keyed by profile."""
        policies = self._decider.loaded.policies
        if policies is None:
            return {}
        statements = placement_statements.describe_statements(policies)
        found = [*statements, *_describe_cluster_rules(policies)]
        return {policies.profile_name or profile_choice.DEFAULT_SCHEDULER_NAME: found}


def _describe_cluster_rules(policies: cluster_policies.ClusterPolicies) -> list[dict[str, Any]]:
    return [
        rules_page.describe_rule(
            rule.head, rule.weight if isinstance(rule, base.ScoreRule) else None
        )
        for rule in policies.rules
        if isinstance(rule, base.PolicyRule)
    ]
