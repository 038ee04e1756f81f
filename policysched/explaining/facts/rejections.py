"""The rejections of a pod on each node, by plugin or rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable

from policysched.compiler.rules import node_affinity, reject, topology_spread
from policysched.framework import explanation, profile, status
from policysched.lang.checked import checked_expr
from policysched.offline import pod_report
from policysched.plugins import names


def get_rejecting_plugin(answer: status.Status) -> str:
    """Return the plugin that rejected a node, or the rule as `POLICY/RULE`."""
    return f"{answer.rule.policy}/{answer.rule.rule}" if answer.rule else answer.plugin


@dataclasses.dataclass(frozen=True, slots=True)
class PodRejections:
    """The rejections of one pod.

    Attributes:
        answers: node → every rejection there.
        by_node: node → the plugins and rules that reject it.
        following: plugins and rules whose answers depend on the rejections by others, so that an
            edit for the others may remove their rejections, too.
        rejects: the `reject` rules that reject any node.
        profile_rejects: all `reject` rules of the profile.
        node_readers: rules that read labels, taints or names of nodes.
    """

    answers: dict[str, tuple[status.Status, ...]]
    by_node: dict[str, frozenset[str]]
    following: frozenset[str]
    rejects: tuple[reject.Reject, ...]
    profile_rejects: tuple[reject.Reject, ...]
    node_readers: frozenset[str]

    @classmethod
    def from_explanation(
        cls, found: explanation.Explanation, prof: profile.Profile, node: str | None = None
    ) -> PodRejections:
        """Return the rejections in an explanation, only those of `node` if it is given."""
        failed = (each for each in found.verdicts if not each.first.is_success)
        meant = (each for each in failed if node is None or each.name == node)
        answers = {each.name: pod_report.list_failures(each) for each in meant}
        hard = (p.head.name for p in prof.plugins if isinstance(p, topology_spread.HardSpread))
        following = frozenset((names.POD_TOPOLOGY_SPREAD, *hard))
        kept: dict[tuple[int, ...], frozenset[str]] = {}
        by_node: dict[str, frozenset[str]] = {}
        for name, given in answers.items():
            key = tuple(map(id, given))
            if key not in kept:
                # PreFilter's answer for a node that it excludes has no plugin; Filter's answers
                # have one.
                kept[key] = frozenset(filter(None, map(get_rejecting_plugin, given))) or frozenset(
                    ("",)
                )
            by_node[name] = kept[key]
        everyone = frozenset[str]().union(*set(by_node.values()))
        rules = tuple(p for p in prof.plugins if isinstance(p, reject.Reject))
        rejects = tuple(rule for rule in rules if rule.head.name in everyone)
        required = (p for p in prof.plugins if isinstance(p, node_affinity.RequiredNodeAffinity))
        reading = _select_rules_reading(
            rejects, checked_expr.NodeMatch, checked_expr.NodeLabelNumber
        )
        node_readers = frozenset(rule.head.name for rule in (*required, *reading))
        return cls(answers, by_node, following, rejects, rules, node_readers)

    def list_rejecting_plugins(self) -> frozenset[str]:
        """Return the plugins and rules that reject any node."""
        return frozenset().union(*set(self.by_node.values()))

    def find_nodes_rejected_only_by(self, *whom: str) -> list[str]:
        """Return the nodes that only `whom`, and plugins and rules in `following`, reject."""
        allowed = self.following.union(whom)
        fine = {each for each in set(self.by_node.values()) if each <= allowed}
        return [node for node, each in self.by_node.items() if each in fine]

    def can_single_edit_suffice(self, whom: str) -> bool:
        """Return whether an edit for `whom` alone may let the pod fit on some node."""
        allowed = self.following | {whom}
        return whom in self.list_rejecting_plugins() and any(
            each <= allowed for each in set(self.by_node.values())
        )

    def find_rules_reading(self, *kinds: type[checked_expr.TypedExpr]) -> list[reject.Reject]:
        """Return the rejecting `reject` rules whose condition has an expression of some kind."""
        return _select_rules_reading(self.rejects, *kinds)

    def list_resources_read(
        self, kind: type[checked_expr.NodeResource | checked_expr.PodRequests]
    ) -> list[str]:
        """Return the resources that the rejecting `reject` rules read by expressions of a kind."""
        every = (
            each
            for rule in self.rejects
            for each in checked_expr.walk_expressions(rule.condition.source)
        )
        return list(dict.fromkeys(each.resource for each in every if isinstance(each, kind)))

    def find_nodes_to_edit(self, *whom: str) -> list[str]:
        """Return the nodes whose edits may remove the rejections by `whom` and by rules.

        Nodes that only `whom` rejects are preferred; without any, those that only `whom` and
        `node_readers` reject.
        """
        return self.find_nodes_rejected_only_by(*whom) or self.find_nodes_rejected_only_by(
            *whom, *self.node_readers
        )

    def find_least_rejected_nodes(self) -> tuple[list[str], Collection[status.Status]] | None:
        """Return the nodes with the fewest obstacles, which have the same answers, and the answers.

        Among nodes with equally few obstacles, the first by name determines the answers.
        """
        if not self.by_node:
            return None
        node = min(self.by_node, key=lambda name: (len(self.by_node[name]), name))
        answers = self.answers[node]
        return sorted(name for name, each in self.answers.items() if each == answers), answers


def _select_rules_reading(
    rules: Iterable[reject.Reject], *kinds: type[checked_expr.TypedExpr]
) -> list[reject.Reject]:
    return [
        rule
        for rule in rules
        if any(
            isinstance(each, kinds) for each in checked_expr.walk_expressions(rule.condition.source)
        )
    ]
