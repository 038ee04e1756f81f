"""PS513: an anti-affinity with more pods than the cluster has domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import cluster_facts
from policysched.lint.policies import node_constraints


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each anti-affinity that the pods of its policy cannot all meet."""
    cluster = about.cluster
    if cluster is None or not cluster.nodes:
        return
    for known in about.enforced_rules:
        for policy in known.policies:
            apart = [each for each in policy.rules if _keeps_own_pods_apart(each)]
            if apart:
                asked = known.find_node_constraints(policy)
                for each in apart:
                    yield from _diagnose_crowded_namespaces(cluster, policy, each, asked)


def _keeps_own_pods_apart(each: checked.Rule) -> bool:
    """Return whether the rule allows a domain at most one pod of the policy per namespace."""
    match each:
        case checked.PodAffinityRule(anti=True, weight=None, pods=pods):
            has_keys = pods.match_label_keys or pods.mismatch_label_keys
            return pods.kind == "self" and not has_keys and each.head.active is None
        case _:
            return False


def _diagnose_crowded_namespaces(
    cluster: cluster_facts.ClusterFacts,
    policy: checked.CheckedPolicy,
    each: checked.Rule,
    asked: Sequence[node_constraints.NodeConstraint],
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each namespace with more pods than the cluster has domains."""
    assert isinstance(each, checked.PodAffinityRule)  # noqa: S101 - narrows the type
    nodes = cluster.find_matching_nodes(*(demand.selector for demand in asked))
    labels = (node.metadata.labels.get(each.topology_key) for node in nodes)
    names = [label for label in labels if label is not None]
    if not nodes or len(names) < len(nodes):
        return  # PS501 and PS502 report this; a node without the label is in no domain
    domains = len(set(names))
    counts = Counter(pod.metadata.namespace for pod in cluster.list_pods_of_policy(policy))
    for namespace, count in sorted(counts.items()):
        if count > domains:
            yield diagnostics.Diagnostic(
                "PS513",
                f"{count} pods of `{namespace}` must not share a `{each.topology_key}`, but "
                f"{cluster.name} has only {domains} for them",
                each.head.span,
                notes=(f"{count - domains} of them cannot be placed",),
                help="make it `preferred`, or use topologySpread with a `maxSkew`",
            )


RULE = rule.LintRule("PS513", diagnostics.Severity.WARNING, _find_violations)
