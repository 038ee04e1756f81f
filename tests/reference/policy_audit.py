"""The audit of one running pod: which rules reject it on its own node, as if it were not there."""

from __future__ import annotations

from policysched.cluster.objects import objects
from policysched.lang.checked import checked, checked_expr, rule_parts
from tests.reference import policy_expressions, policy_filters, policy_pods


def violated_rules(
    judge: policy_pods.Judge, profile: checked.CheckedProfile | None, pod: objects.Pod
) -> set[str]:
    """Return the names of the rules that a placed pod violates."""
    world = judge.world
    node = world.nodes[pod.spec.node_name]
    own = world.pods.pop(pod.metadata.uid)
    try:
        found = {name for name, _ in policy_filters.rejections(judge, profile, pod, node)}
        for policy in profile.policies if profile else ():
            for rule in policy.rules:
                if profile and isinstance(rule, checked.RejectRule):
                    acts = judge.acts_on(rule, policy, profile, pod)
                    if not (acts and _stays(judge, profile, rule, pod, node, found)):
                        found.discard(rule.head.name)
    finally:
        world.pods[own.metadata.uid] = own
    return found


def _stays(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile,
    rule: checked.RejectRule,
    pod: objects.Pod,
    node: objects.Node,
    found: set[str],
) -> bool:
    """Return whether a rejection is a violation: neither about an attempt nor for lack of data."""
    exprs = [
        each
        for expr in rule_parts.list_rule_expressions(rule)
        for each in checked_expr.walk_expressions(expr)
    ]
    if any(isinstance(e, checked_expr.ElapsedTime) and e.kind != "nodeAge" for e in exprs):
        return False
    if not checked_expr.list_read_metrics(rule.condition):
        return rule.head.name in found
    metrics = {metric.key: metric for metric in profile.metrics}
    place = policy_expressions.Place(pod, node, judge.world, metrics, grows=False)
    if policy_expressions.is_out(rule.condition, place):
        return False
    holds = policy_expressions.condition(rule.condition, place)
    is_held = node.name in judge.world.held.get((rule.condition, rule.until), ())
    return holds is True or (holds is False and is_held)
