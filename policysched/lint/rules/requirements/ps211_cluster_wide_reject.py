"""PS211: a policy that may reject nodes for every pod of the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import selector_sets


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each enforced policy that selects all pods and has a rejecting rule."""
    for policy in about.program.policies:
        if policy.mode != "enforce" or not _is_for_all(policy.scope):
            continue
        rejecting = next((each for each in policy.rules if _may_reject_nodes(each)), None)
        if rejecting is not None:
            yield diagnostics.Diagnostic(
                "PS211",
                f"`{policy.name}` may reject nodes for every pod, including those of kube-system",
                policy.span,
                secondary=(diagnostics.SpanLabel(rejecting.head.span, "may reject"),),
                help="select the pods: `for pods in namespace (…)`, `for pods where …`",
            )


def _is_for_all(scope: checked_selector.PolicyPodScope) -> bool:
    has_all_namespaces = scope.namespaces is None or (
        scope.namespaces.selector is not None
        and selector_sets.does_match_everything(scope.namespaces.selector)
    )
    return has_all_namespaces and selector_sets.does_match_everything(scope.where)


def _may_reject_nodes(each: checked.Rule) -> bool:
    """Return whether a rule filters nodes instead of scoring them."""
    match each:
        case checked.RejectRule():
            return True
        case checked.NodeAffinityRule(weight=weight) | checked.PodAffinityRule(weight=weight):
            return weight is None
        case checked.TopologySpreadRule(when_unsatisfiable=answer):
            return answer == "DoNotSchedule"
        case _:
            return False


RULE = rule.LintRule("PS211", diagnostics.Severity.WARNING, _find_violations)
