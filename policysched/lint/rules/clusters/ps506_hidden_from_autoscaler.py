"""PS506: a required rule that the cluster autoscaler does not take into account.

An autoscaler simulates the plugins of kube-scheduler and ignores policies. If a pod fits on nodes
that a policy rejects, the autoscaler adds no node for it. It takes constraints into account only if
the spec of the pod repeats them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.lang.checked import checked, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import cluster_facts
from policysched.lint.policies import node_constraints

_AUTOSCALERS = re.compile(r"(?:\A|/)(?:cluster-autoscaler|karpenter)(?:[-:@/]|\Z)")
"""Images of autoscalers: `cluster-autoscaler` of kubernetes/autoscaler, and Karpenter."""


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each enforced policy with hidden rules, if an autoscaler runs."""
    cluster = about.cluster
    if cluster is None:
        return
    scaler = next((pod for pod, _ in cluster.pods if _is_autoscaler(pod)), None)
    if scaler is None:
        return
    for policy in about.program.policies:
        if policy.mode == "enforce":
            hidden = [each for each in policy.rules if _is_rule_hidden(each, policy, cluster)]
            if hidden:
                yield _make_finding(hidden, scaler)


def _is_autoscaler(pod: objects.Pod) -> bool:
    return any(_AUTOSCALERS.search(each.image or "") for each in pod.spec.containers)


def _is_rule_hidden(
    each: checked.Rule, policy: checked.CheckedPolicy, cluster: cluster_facts.ClusterFacts
) -> bool:
    """Return whether some pod does not repeat the constraints of a rule in its own spec."""
    shapes = cluster.list_pod_shapes_of_policy(policy)
    match each:
        case checked.NodeAffinityRule(weight=None) | checked.RejectRule():
            # An autoscaler adds no nodes because of metrics or free resources, so such rules do
            # not count.
            asked = tuple(node_constraints.find_required_node_selectors(each, policy.scope))
            return bool(asked) and any(
                not _does_pod_spec_imply_selectors(shape, asked, cluster) for shape in shapes
            )
        case checked.PodAffinityRule(weight=None, anti=anti, topology_key=key):
            return any(
                key
                not in {term.topology_key for term in _get_own_affinity_terms(shape, is_anti=anti)}
                for shape in shapes
            )
        case checked.TopologySpreadRule(when_unsatisfiable="DoNotSchedule", topology_key=key):
            return any(
                key not in {own.topology_key for own in shape.spec.topology_spread_constraints}
                for shape in shapes
            )
        case _:
            return False


def _get_own_affinity_terms(
    shape: pod_shape.PodShape, *, is_anti: bool
) -> tuple[pod_shape.AffinityTerm, ...]:
    return shape.anti_affinity_terms if is_anti else shape.affinity_terms


def _does_pod_spec_imply_selectors(
    shape: pod_shape.PodShape,
    asked: tuple[checked_selector.Selector, ...],
    cluster: cluster_facts.ClusterFacts,
) -> bool:
    """Return whether the node selector and affinity of a pod permit only nodes that match."""
    allowed = {node.name for node in cluster.find_matching_nodes(*asked)}
    return all(
        node.name in allowed or not _own_affinity_allows(shape, node) for node in cluster.nodes
    )


def _own_affinity_allows(shape: pod_shape.PodShape, node: objects.Node) -> bool:
    """Return whether the node selector and affinity in a pod's own spec permit a node."""
    labels = node.metadata.labels
    if not shape.node_selector.matches(labels):
        return False
    terms = shape.required_node_terms
    return terms is None or any(
        term.labels.matches(labels) and all(f.matches_value(node.name) for f in term.fields)
        for term in terms
    )


def _make_finding(hidden: list[checked.Rule], scaler: objects.Pod) -> diagnostics.Diagnostic:
    """Return the finding for the rules of a policy that the autoscaler ignores."""
    others = f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
    return diagnostics.Diagnostic(
        "PS506",
        f"the autoscaler `{scaler.key}` ignores `{hidden[0].head.name}`{others}",
        hidden[0].head.span,
        notes=(
            (
                "if the rejected nodes have free resources, the autoscaler adds no nodes, and "
                "the pods stay Pending"
            ),
        ),
        help="repeat the rule in the spec of the pods, or taint node groups",
    )


RULE = rule.LintRule("PS506", diagnostics.Severity.WARNING, _find_violations)
