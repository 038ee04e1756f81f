"""Finds `reject` rules that reject every node of a cluster, regardless of the pods on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from policysched import amounts, spelling, units
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_requests
from policysched.compiler.rewrites import tree
from policysched.lang.checked import checked, checked_expr, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule_input
from policysched.lint.facts import cluster_facts
from policysched.lint.sets import rule_conditions


def diagnose_rejects_of_all_nodes(
    about: rule_input.LintInput, cluster: cluster_facts.ClusterFacts
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each rule that rejects all nodes because they are too small."""
    for policy in about.program.policies:
        for each in policy.rules if policy.clusters is None else ():
            if isinstance(each, checked.RejectRule) and _rejects_all_nodes(each, cluster):
                resources = _list_read_resources(each.condition)
                yield diagnostics.Diagnostic(
                    "PS501",
                    f"`{each.head.name}` rejects all {len(cluster.nodes)} nodes of "
                    f"{cluster.name}, including those without pods",
                    each.head.span,
                    notes=tuple(_find_largest_amount(cluster, resource) for resource in resources),
                    help=_suggest_resource_name(cluster, resources) or "relax the condition",
                )


def _rejects_all_nodes(each: checked.RejectRule, cluster: cluster_facts.ClusterFacts) -> bool:
    """Return whether a rule rejects every node of the cluster at any time."""
    is_always = each.head.active is None and each.until is None and each.on_missing != "allow"
    if (
        not is_always
        or not _list_read_resources(each.condition)
        or checked_expr.list_read_metrics(each.condition)
    ):
        return False
    if not all(node.status.allocatable for node in cluster.nodes):
        return False  # the cluster file does not contain the sizes of nodes
    if rule_conditions.evaluate_for_all_values(each.condition, {}) is not None:
        return False  # the condition is constant in any cluster; other lint rules report this
    parts = checked_expr.walk_expressions(each.condition)
    tests = {part.selector for part in parts if isinstance(part, checked_expr.NodeMatch)}
    matching = {
        selector: {node.name for node in cluster.find_matching_nodes(selector)}
        for selector in tests
    }
    known: dict[checked_expr.TypedExpr, bool] = {}
    for node in cluster.nodes:
        true = frozenset(selector for selector in tests if node.name in matching[selector])
        condition = _NodeAmountRewriter(node, true).rewrite_condition(each.condition)
        if condition not in known:  # most nodes have the same size and labels
            known[condition] = rule_conditions.evaluate_for_all_values(condition, {}) is True
        if not known[condition]:
            return False
    return True


@dataclasses.dataclass(frozen=True, slots=True)
class _NodeAmountRewriter:
    """Replaces the facts about one node in a condition; requests of its pods remain unknown."""

    node: objects.Node
    true: frozenset[checked_selector.Selector]

    def rewrite_condition(self, condition: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
        """Return the condition for this node, which depends only on pods and on unknown numbers."""
        return tree.bottom_up(condition, self._rewrite_expression)

    def _rewrite_expression(self, expr: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
        """Replace a selector or an amount by its value on the node."""
        match expr:
            case checked_expr.NodeMatch(selector=selector, span=span):
                one = checked_expr.Const(1.0, units.NUMBER, span)
                answer = checked_expr.Const(float(selector in self.true), units.NUMBER, span)
                return checked_expr.Compare("=", answer, one, span)
            case checked_expr.NodeResource(kind="free" | "allocatable", unit=unit, span=span):
                size = checked_expr.Const(
                    float(get_allocatable_amount(self.node, expr.resource)), unit, span
                )
                if expr.kind == "allocatable":
                    return size
                requested = dataclasses.replace(expr, kind="requested")
                # Free resources are the allocatable amount minus the requests, which are unknown
                # here.
                return checked_expr.ArithmeticOperation("-", size, requested, unit, span)
            case _:
                return expr


def get_allocatable_amount(node: objects.Node, resource: str) -> int:
    """Return the allocatable amount of a resource on a node; 0 if the node lacks the resource."""
    text = node.status.allocatable.get(resource)
    return 0 if text is None else pod_requests.parse_amount(resource, text)


def _list_read_resources(condition: checked_expr.TypedExpr) -> list[str]:
    """Return the resources whose allocatable or free amount a condition reads."""
    every = (each for each in checked_expr.walk_expressions(condition))
    sizes = (e for e in every if isinstance(e, checked_expr.NodeResource) and e.kind != "requested")
    return list(dict.fromkeys(each.resource for each in sizes))


def _find_largest_amount(cluster: cluster_facts.ClusterFacts, resource: str) -> str:
    most = max(get_allocatable_amount(node, resource) for node in cluster.nodes)
    if not most:
        return f"no node has the resource `{resource}`"
    return f"no node has more {resource} than {amounts.format_quantity(resource, most)}"


def _suggest_resource_name(cluster: cluster_facts.ClusterFacts, resources: list[str]) -> str:
    known = {name for node in cluster.nodes for name in node.status.allocatable}
    hints = (spelling.suggest_names(each, known) for each in resources if each not in known)
    return next(filter(None, hints), "")
