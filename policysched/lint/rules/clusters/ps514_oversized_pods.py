"""PS514: pods that are too large for all nodes that the rules leave."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_requests, pod_shape
from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import cluster_facts
from policysched.lint.policies import node_constraints


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each policy that permits only nodes too small for one of its pods."""
    cluster = about.cluster
    if cluster is None or not cluster.nodes:
        return
    for known in about.enforced_rules:
        for policy in known.policies:
            asked = known.find_node_constraints(policy)
            own = next((each for each in asked if each.rule.head.policy == policy.name), None)
            nodes = cluster.find_matching_nodes(*(each.selector for each in asked)) if own else ()
            if own is not None and nodes:
                yield from _find_pod_too_large_for_allowed_nodes(cluster, policy, own, nodes)


def _find_pod_too_large_for_allowed_nodes(
    cluster: cluster_facts.ClusterFacts,
    policy: checked.CheckedPolicy,
    own: node_constraints.NodeConstraint,
    nodes: tuple[objects.Node, ...],
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for the first pod that is too large for `nodes`, but not for all nodes."""
    for shape in cluster.list_pod_shapes_of_policy(policy):
        pod = cluster.scheduled_pods_by_shape[shape][0]
        if not any(_fits_empty_node(shape, node) for node in cluster.nodes):
            continue  # too large for every node, so no policy is the reason
        if not any(_fits_empty_node(shape, node) for node in nodes):
            yield diagnostics.Diagnostic(
                "PS514",
                f"`{pod.key}` is too large for all {len(nodes)} nodes that the rules permit",
                own.rule.head.span,
                notes=(f"other nodes of {cluster.name} are large enough",),
                help="permit larger nodes, or lower the requests",
            )
            return


def _fits_empty_node(shape: pod_shape.PodShape, node: objects.Node) -> bool:
    """Return whether the allocatable resources of a node suffice for the requests of a pod."""
    has = node.status.allocatable
    return all(
        amount <= (pod_requests.parse_amount(name, has[name]) if name in has else 0)
        for name, amount in shape.requests.amounts.items()
    )


RULE = rule.LintRule("PS514", diagnostics.Severity.WARNING, _find_violations)
