"""PS511: a required affinity to pods that the cluster does not have."""

from __future__ import annotations

from collections.abc import Iterator

from policysched import spelling
from policysched.lang.checked import checked, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lang.words import glob_patterns
from policysched.lint import rule, rule_input
from policysched.lint.facts import cluster_facts
from policysched.lint.sets import selector_sets


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    cluster = about.cluster
    if cluster is None or not cluster.pods:
        return
    for policy in about.program.policies:
        for each in policy.rules:
            if isinstance(each, checked.PodAffinityRule) and _is_required(each):
                yield from _diagnose_absent_pods(cluster, policy, each)


def _is_required(each: checked.PodAffinityRule) -> bool:
    return each.weight is None and not each.anti and each.pods.kind == "where"


def _diagnose_absent_pods(
    cluster: cluster_facts.ClusterFacts,
    policy: checked.CheckedPolicy,
    each: checked.PodAffinityRule,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if the affinity selects no pods of the cluster, as seen from a namespace."""
    selector = each.pods.selector
    if selector is None:
        return
    is_own = not selector_sets.can_never_match_together(selector, policy.scope.where)
    waiting = [shape.namespace for shape in cluster.list_pod_shapes_of_policy(policy)]
    if not waiting or selector_sets.can_never_match_together(selector):
        return  # PS504 and PS201 report this
    without = sorted(
        namespace
        for namespace in set(waiting)
        if not (
            is_own and _may_be_in_namespaces(namespace, each.pods)
        )  # the pods of the policy can be the first to match
        and not cluster.find_pods_in_selection(each.pods, policy, namespace)
    )
    if without:
        yield diagnostics.Diagnostic(
            "PS511",
            f"{cluster.name} has no pod that `{each.head.name}` requires, "
            f"as seen from namespace `{without[0]}`",
            each.head.span,
            notes=(
                (
                    "only pods in the namespace of the incoming pod count, unless the rule names "
                    "other namespaces"
                ),
            ),
            help=_suggest_namespace(cluster, each.pods)
            or "correct the labels, or add `namespaces (…)`",
        )


def _may_be_in_namespaces(namespace: str, pods: checked_selector.PodSelection) -> bool:
    """Return whether the pod selection can contain pods of a namespace."""
    several = pods.namespaces
    if several is None or several.selector is not None:
        return True
    return glob_patterns.matches_any_pattern(several.names, namespace)


def _suggest_namespace(
    cluster: cluster_facts.ClusterFacts, pods: checked_selector.PodSelection
) -> str:
    """Return a hint for a namespace name without pods that is probably misspelt, or ""."""
    known = {shape.namespace for shape in cluster.pods_by_shape}
    names = pods.namespaces.names if pods.namespaces is not None else ()
    hints = (spelling.suggest_names(name, known) for name in names if name not in known)
    return next(filter(None, hints), "")


RULE = rule.LintRule("PS511", diagnostics.Severity.WARNING, _find_violations)
