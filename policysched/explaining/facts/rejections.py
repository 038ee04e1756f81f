"""Groups the rejections of a pod by node and by plugin or rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable

from policysched.compiler.rules import node_affinity, reject, topology_spread
from policysched.framework import explanation, profile, status
from policysched.lang.checked import checked_expr
from policysched.offline import pod_report
from policysched.plugins import names


def get_rejecting_plugin(answer: status.Status) -> str:
    """Return the name of the rejecting plugin, or `POLICY/RULE` for a rule; may be empty."""
    return f"{answer.rule.policy}/{answer.rule.rule}" if answer.rule else answer.plugin


@dataclasses.dataclass(frozen=True, slots=True)
class PodRejections:
    """The rejections of one pod.

    Attributes:
        answers: node → every rejection on that node.
        by_node: node → the plugins and rules that reject it.
        following: the plugins and rules whose answers depend on the rejections by others. An edit
            for another plugin can therefore remove their rejections.
        rejects: the `reject` rules that reject at least one node.
        profile_rejects: all `reject` rules of the profile.
        node_readers: the rules that read labels, taints or names of nodes.
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
        """Collect the rejections in an explanation; only those on `node` if it is given."""
        failed = (each for each in found.verdicts if not each.first.is_success)
        meant = (each for each in failed if node is None or each.name == node)
        answers = {each.name: pod_report.list_node_failures(each) for each in meant}
        hard = (p.head.name for p in prof.plugins if isinstance(p, topology_spread.HardSpread))
        following = frozenset((names.POD_TOPOLOGY_SPREAD, *hard))
        kept: dict[tuple[int, ...], frozenset[str]] = {}
        by_node: dict[str, frozenset[str]] = {}
        for name, given in answers.items():
            key = tuple(map(id, given))
            if key not in kept:
                # A rejection from PreFilter for an excluded node has no plugin; rejections from
                # Filter have one.
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
        """Return the plugins and rules that reject at least one node."""
        return frozenset().union(*set(self.by_node.values()))

    def find_nodes_rejected_only_by(self, *whom: str) -> list[str]:
        """Return the nodes that no plugin or rule outside `whom` and `following` rejects."""
        allowed = self.following.union(whom)
        fine = {each for each in set(self.by_node.values()) if each <= allowed}
        return [node for node, each in self.by_node.items() if each in fine]

    def can_single_edit_suffice(self, whom: str) -> bool:
        """Return whether an edit for `whom` alone could make the pod fit on some node."""
        allowed = self.following | {whom}
        return whom in self.list_rejecting_plugins() and any(
            each <= allowed for each in set(self.by_node.values())
        )

    def find_rules_reading(self, *kinds: type[checked_expr.TypedExpr]) -> list[reject.Reject]:
        """Return the rejecting `reject` rules whose condition contains one of these expressions."""
        return _select_rules_reading(self.rejects, *kinds)

    def list_resources_read(
        self, kind: type[checked_expr.NodeResource | checked_expr.PodRequests]
    ) -> list[str]:
        """Return the resources that rejecting `reject` rules read with expressions of one kind."""
        every = (
            each
            for rule in self.rejects
            for each in checked_expr.walk_expressions(rule.condition.source)
        )
        return list(dict.fromkeys(each.resource for each in every if isinstance(each, kind)))

    def find_nodes_to_edit(self, *whom: str) -> list[str]:
        """Return the nodes on which an edit might remove the rejections by `whom`.

        These are the nodes that only `whom` rejects. If there are none, they are the nodes that
        only `whom` and `node_readers` reject. In both cases, `following` may reject them too.
        """
        return self.find_nodes_rejected_only_by(*whom) or self.find_nodes_rejected_only_by(
            *whom, *self.node_readers
        )

    def find_least_rejected_nodes(self) -> tuple[list[str], Collection[status.Status]] | None:
        """Return the nodes with the fewest obstacles and their rejections; None without rejections.

        All returned nodes have the same rejections. If nodes with different rejections have equally
        few obstacles, the first node in name order determines the rejections.
        """
        if not self.by_node:
            return None
        node = min(self.by_node, key=lambda name: (len(self.by_node[name]), name))
        answers = self.answers[node]
        return sorted(name for name, each in self.answers.items() if each == answers), answers


def _select_rules_reading(
    rules: Iterable[reject.Reject], *kinds: type[checked_expr.TypedExpr]
) -> list[reject.Reject]:
    """Return the rules whose condition contains an expression of the given kinds."""
    return [
        rule
        for rule in rules
        if any(
            isinstance(each, kinds) for each in checked_expr.walk_expressions(rule.condition.source)
        )
    ]
