"""PS511: a required affinity to pods that the cluster does not have."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang import checked, diagnostics
from policysched.lint import cluster_facts, rule, selector_sets, subject


def _check(about: subject.Subject) -> Iterator[diagnostics.Diagnostic]:
    cluster = about.cluster
    if cluster is None or not cluster.pods:
        return
    for policy in about.program.policies:
        for each in policy.rules:
            if isinstance(each, checked.PodAffinityRule) and _is_required(each):
                yield from _of(cluster, policy, each)


def _is_required(each: checked.PodAffinityRule) -> bool:
    return each.weight is None and not each.anti and each.pods.kind == "where"


def _of(
    cluster: cluster_facts.ClusterFacts,
    policy: checked.CheckedPolicy,
    each: checked.PodAffinityRule,
) -> Iterator[diagnostics.Diagnostic]:
    selector = each.pods.selector
    if selector is None or not selector_sets.never_match(selector, policy.scope.where):
        return  # its own pods may be the first ones
    waiting = [shape.namespace for shape in cluster.shapes_of(policy)]
    if not waiting or selector_sets.never_match(selector):
        return  # PS504 and PS201 tell that
    without = sorted(
        namespace
        for namespace in set(waiting)
        if not cluster.pods_meant(each.pods, policy, namespace)
    )
    if without:
        yield diagnostics.Diagnostic(
            "PS511",
            f"{cluster.name} has no pod that `{each.head.name}` asks for, "
            f"as seen from namespace `{without[0]}`",
            each.head.span,
            notes=("pods are looked for in the pod's own namespace unless `namespaces` says more",),
            help="correct the labels, or add `namespaces (…)`",
        )


RULE = rule.Rule("PS511", diagnostics.Severity.WARNING, _check)
