"""Filters of policies: which rules reject a pod on a node, one pod and one node at a time."""

from __future__ import annotations

from collections import Counter

from policysched.cluster.objects import objects
from policysched.lang.checked import checked, checked_expr, checked_selector
from tests.reference import policy_expressions, policy_pods, policy_selectors, single_node

Rejection = tuple[str, str]
"""(name of the rule, code)."""

NO_POD = objects.Pod(objects.ObjectMeta())
NEVER = "UnschedulableAndUnresolvable"
NOT_NOW = "Unschedulable"


def rejections(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile | None,
    pod: objects.Pod,
    node: objects.Node,
) -> set[Rejection]:
    """Return the rules that reject the node; no profile: one that the program does not name."""
    found = set()
    for policy in profile.policies if profile else ():
        for rule in policy.rules:
            if profile and judge.acts_on(rule, policy, profile, pod):
                code = _verdict(judge, profile, policy, rule, pod, node)
                if code:
                    found.add((rule.head.name, NEVER if rule.head.forbids_preemption else code))
    return found | _repelled(judge, pod, node)


def _verdict(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile,
    policy: checked.CheckedPolicy,
    rule: checked.Rule,
    pod: objects.Pod,
    node: objects.Node,
) -> str | None:
    match rule:
        case checked.NodeAffinityRule(weight=None):
            return None if policy_selectors.node_matches(rule.selector, node) else NEVER
        case checked.RejectRule():
            return _reject(judge, profile, rule, pod, node)
        case checked.PodAffinityRule(weight=None):
            return _affinity(judge, policy, rule, pod, node)
        case checked.TopologySpreadRule(weight=None):
            return _spread(judge, profile, policy, rule, pod, node)
        case _:
            return None


def _reject(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile,
    rule: checked.RejectRule,
    pod: objects.Pod,
    node: objects.Node,
) -> str | None:
    metrics = {metric.key: metric for metric in profile.metrics}
    place = policy_expressions.Place(pod, node, judge.world, metrics)
    if policy_expressions.is_out(rule.condition, place):
        return None
    holds = policy_expressions.condition(rule.condition, place)
    if holds is False and node.name in judge.world.held.get((rule.condition, rule.until), ()):
        holds = True
    if holds is False or (holds is None and rule.on_missing != "reject"):
        return None
    return NOT_NOW if checked_expr.reads_placed_pods(rule.condition) else NEVER


def refreshed(judge: policy_pods.Judge, metric: str) -> None:
    """Move the hysteresis of all rules that read a metric which has new samples."""
    found = {
        (rule.condition, rule.until): profile
        for profile in judge.program.profiles
        for policy in profile.policies
        for rule in policy.rules
        if isinstance(rule, checked.RejectRule) and rule.until is not None
    }
    for (when, until), profile in found.items():
        if metric not in (
            *checked_expr.list_read_metrics(when),
            *checked_expr.list_read_metrics(until),
        ):
            continue
        held = judge.world.held.setdefault((when, until), set())
        metrics = {each.key: each for each in profile.metrics}
        for node in judge.world.nodes.values():
            place = policy_expressions.Place(NO_POD, node, judge.world, metrics, grows=False)
            if policy_expressions.condition(when, place):
                held.add(node.name)
            elif policy_expressions.condition(until, place):
                held.discard(node.name)


def _affinity(
    judge: policy_pods.Judge,
    policy: checked.CheckedPolicy,
    rule: checked.PodAffinityRule,
    pod: objects.Pod,
    node: objects.Node,
) -> str | None:
    key = rule.topology_key
    domains = {
        other_node.metadata.labels[key]
        for other, other_node in judge.world.placed()
        if key in other_node.metadata.labels and judge.in_set(rule.pods, policy.scope, other, pod)
    }
    domain = node.metadata.labels.get(key)
    if rule.anti:
        return NOT_NOW if domain in domains else None
    if rule.on_missing == "allow" and policy_pods.lacks_text(rule.pods, pod):
        return None
    if domain is None:
        return NEVER
    if not domains and judge.in_set(rule.pods, policy.scope, pod, pod):
        return None
    return None if domain in domains else NOT_NOW


def _repelled(judge: policy_pods.Judge, pod: objects.Pod, node: objects.Node) -> set[Rejection]:
    """Return the anti-affinity rules of placed pods, of any profile, that keep the pod away."""
    return {
        (rule.head.name, NEVER if rule.head.forbids_preemption else NOT_NOW)
        for profile in judge.program.profiles
        for policy in profile.policies
        for rule in policy.rules
        if isinstance(rule, checked.PodAffinityRule)
        and rule.anti
        and rule.weight is None
        and any(
            judge.acts_on(rule, policy, profile, other)
            and judge.in_set(rule.pods, policy.scope, pod, other)
            for other, other_node in judge.world.placed()
            if _same_domain(rule.topology_key, node, other_node)
        )
    }


def _same_domain(key: str, one: objects.Node, other: objects.Node) -> bool:
    return key in one.metadata.labels and one.metadata.labels[key] == other.metadata.labels.get(key)


# --- spread --------------------------------------------------------------------------------------


def spread_counts(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile,
    policy: checked.CheckedPolicy,
    rule: checked.TopologySpreadRule,
    pod: objects.Pod,
) -> Counter[str]:
    """Return the counted pods of every domain that has an eligible node."""
    counts: Counter[str] = Counter()
    for node in judge.world.nodes.values():
        domain = node.metadata.labels.get(rule.topology_key)
        if domain is None or not is_eligible(judge, profile, rule, pod, node):
            continue
        counts[domain] += judge.count(rule.pods, policy.scope, pod, [node])
    return counts


def is_eligible(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile,
    rule: checked.TopologySpreadRule,
    pod: objects.Pod,
    node: objects.Node,
) -> bool:
    """Return whether a spread rule counts a node: it has all keys and is included by policy."""
    if not has_topology_keys(judge, profile, rule, pod, node):
        return False
    if rule.node_affinity_policy == "Honor":
        if not single_node.matches_node_affinity(pod, node):
            return False
        for policy in profile.policies:
            for other in policy.rules:
                if (
                    isinstance(other, checked.NodeAffinityRule)
                    and other.weight is None
                    and judge.acts_on(other, policy, profile, pod)
                    and not policy_selectors.node_matches(other.selector, node)
                ):
                    return False
    if rule.node_taints_policy == "Honor":
        granted = tolerated(judge, profile, pod)
        return not any(
            taint.effect in ("NoSchedule", "NoExecute")
            and not single_node.tolerates(pod, taint)
            and not any(policy_selectors.taint_matches(p, taint) for p in granted)
            for taint in node.spec.taints
        )
    return True


def has_topology_keys(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile,
    rule: checked.TopologySpreadRule,
    pod: objects.Pod,
    node: objects.Node,
) -> bool:
    """Return whether a node has the keys of all rules and constraints of the pod like `rule`."""
    keys = {
        constraint.topology_key
        for constraint in pod.spec.topology_spread_constraints
        if constraint.when_unsatisfiable == rule.when_unsatisfiable
    }
    keys |= {
        other.topology_key
        for policy in profile.policies
        for other in policy.rules
        if isinstance(other, checked.TopologySpreadRule)
        and other.when_unsatisfiable == rule.when_unsatisfiable
        and judge.acts_on(other, policy, profile, pod)
    }
    return keys <= set(node.metadata.labels)


def tolerated(
    judge: policy_pods.Judge, profile: checked.CheckedProfile, pod: objects.Pod
) -> list[checked_selector.TaintPattern]:
    """Return the patterns of the taints that policies let the pod tolerate."""
    return [
        pattern
        for policy in profile.policies
        for rule in policy.rules
        if isinstance(rule, checked.TolerationRule) and judge.acts_on(rule, policy, profile, pod)
        for pattern in rule.patterns
    ]


def _spread(
    judge: policy_pods.Judge,
    profile: checked.CheckedProfile,
    policy: checked.CheckedPolicy,
    rule: checked.TopologySpreadRule,
    pod: objects.Pod,
    node: objects.Node,
) -> str | None:
    domain = node.metadata.labels.get(rule.topology_key)
    if domain is None:
        return NEVER
    counts = spread_counts(judge, profile, policy, rule, pod)
    fewest = min(counts.values()) if len(counts) >= rule.min_domains else 0
    own = 1 if judge.in_set(rule.pods, policy.scope, pod, pod) else 0
    return NOT_NOW if counts.get(domain, 0) + own - fewest > rule.max_skew else None
