"""Check the rules of a policy with one function for each kind of statement.

Each function returns the checked rule, or None if an error was reported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from policysched.lang.checked import checked, checked_expr, checked_selector
from policysched.lang.checking import clauses, number_reading
from policysched.lang.checking.expressions import check_exprs, check_missing_data
from policysched.lang.checking.metrics import check_metrics
from policysched.lang.checking.selectors import (
    check_selectors,
    check_taints,
    pod_value_tests,
)
from policysched.lang.checking.statements import (
    check_pod_rules,
    check_preemption,
    check_scores,
    check_until,
    rule_statements,
)
from policysched.lang.syntax import syntax, syntax_clause, syntax_expr
from policysched.lang.words import vocabulary

MissingAction: TypeAlias = Literal["allow", "reject"]
TOLERATED_WITHOUT_EFFECT = ("NoSchedule", "PreferNoSchedule")
_EVICTION: dict[bool, tuple[str, str, str]] = {
    False: ("pod", "pod", "kubelet and taint eviction read"),
    True: ("resource", "placement", "Karmada's taint manager reads"),
}
"""Whether the rule is about clusters -> words for messages: the object that tolerates, the object
that has the tolerations, and the components that read them."""


_RuleNode: TypeAlias = (
    syntax.NodeAffinity
    | syntax.ClusterAffinity
    | syntax.PodAffinity
    | syntax.TopologySpread
    | syntax.Tolerate
    | syntax.Reject
    | syntax.Score
    | syntax.Preempt
    | syntax.Protect
)
_RULES = get_args(_RuleNode)


def check_statement(
    policy: str, node: syntax.Statement, env: number_reading.NameEnvironment
) -> list[checked.Rule]:
    """Return the rules of a statement: none if it is not a rule or an error was reported.

    A statement whose weight depends on the time is two rules, of which one is active at a time.
    """
    if not isinstance(node, _RULES):
        return []
    key = _find_clause_table_key(node)
    own = clauses.ClauseSet(env, key, node.clauses)
    rule = _check_rule(node, rule_statements.RuleStatement(policy, key.split()[0], node, own))
    otherwise = own.read_weight_otherwise()
    if rule is None or otherwise is None:
        return [] if rule is None else [rule]
    outside = _make_rule_outside(rule, otherwise)
    return [rule] if outside is None else [rule, outside]


def _find_clause_table_key(node: _RuleNode) -> str:
    """Return the key of a statement in `syntax_words.ALLOWED_CLAUSES`."""
    match node:
        case syntax.NodeAffinity(strength=strength):
            return f"nodeAffinity {strength}"
        case syntax.ClusterAffinity(strength=strength):
            return f"clusterAffinity {strength}"
        case syntax.PodAffinity(kind=kind, strength=strength):
            return f"{kind} {strength}"
        case syntax.TopologySpread():
            return "topologySpread"
        case syntax.Tolerate():
            return "tolerate"
        case syntax.Reject():
            return "reject"
        case syntax.Preempt():
            return "preempt"
        case syntax.Protect():
            return "protect"
        case syntax.Score():
            return "score strategy" if check_scores.is_resource_strategy(node) else "score"


def _check_rule(node: _RuleNode, statement: rule_statements.RuleStatement) -> checked.Rule | None:
    """Check a statement as a rule; return None if an error was reported."""
    match node:
        case syntax.NodeAffinity() | syntax.ClusterAffinity():
            return _check_node_affinity(node, statement)
        case syntax.PodAffinity():
            return check_pod_rules.check_pod_affinity(node, statement)
        case syntax.TopologySpread():
            return check_pod_rules.check_topology_spread(node, statement)
        case syntax.Tolerate():
            return _check_tolerate(node, statement)
        case syntax.Reject():
            return _check_reject(node, statement)
        case syntax.Preempt():
            return check_preemption.check_preempt(node, statement)
        case syntax.Protect():
            return checked.ProtectRule(statement.make_rule_head())
        case syntax.Score():
            return check_scores.check_score(node, statement.make_rule_head(), statement.own)


def _make_rule_outside(rule: checked.Rule, weight: int) -> checked.Rule | None:
    """Return the rule that gives `weight` outside the times of `during`; None after an error.

    It has the name of the rule with `.otherwise`, a name that no rule can have in a text.
    """
    active = rule.head.active
    if active is None or isinstance(rule, checked.UnweightedRule):
        return None
    head = dataclasses.replace(
        rule.head,
        name=f"{rule.head.name}{checked.OTHERWISE}",
        active=dataclasses.replace(active, is_outside=True),
    )
    return dataclasses.replace(rule, head=head, weight=weight)


def _check_node_affinity(
    node: syntax.NodeAffinity | syntax.ClusterAffinity, statement: rule_statements.RuleStatement
) -> checked.Rule | None:
    """Check `nodeAffinity` or `clusterAffinity`.

    If labels are compared with values of the pod, the result is a rule with a condition.
    """
    if isinstance(node, syntax.NodeAffinity) and pod_value_tests.has_pod_values(
        node.selector, statement.own.env.lets
    ):
        return _check_pod_dependent_affinity(node, statement)
    head = statement.make_rule_head()
    if not rule_statements.check_no_missing_clause(statement.own, rule_statements.NO_POD_VALUE):
        return None
    domain: vocabulary.Domain = "node" if isinstance(node, syntax.NodeAffinity) else "cluster"
    selector = check_selectors.SelectorChecker(statement.own.env, domain).check_selector(
        node.selector
    )
    is_fine, weight = rule_statements.check_term_weight(node.strength, statement.own)
    if selector is None or not is_fine:
        return None
    return checked.NodeAffinityRule(head, selector, weight)


def _check_pod_dependent_affinity(
    node: syntax.NodeAffinity, statement: rule_statements.RuleStatement
) -> checked.Rule | None:
    """Check `nodeAffinity` as the `reject` or `score` statement that has the same meaning."""
    test = syntax_expr.NodeTest(node.selector.span, node.selector)
    if node.strength == "preferred":
        score = syntax.Score(node.span, test, node.clauses)
        return check_scores.check_score(score, statement.make_rule_head(), statement.own)
    condition = syntax_expr.ExprNot(node.selector.span, test)
    return _check_reject(syntax.Reject(node.span, condition, node.clauses), statement)


def _check_tolerate(
    node: syntax.Tolerate, statement: rule_statements.RuleStatement
) -> checked.TolerationRule | None:
    env = statement.own.env
    head = statement.make_rule_head()
    patterns = [_check_toleration(pattern, env) for pattern in node.tolerations]
    good = tuple(pattern for pattern in patterns if pattern is not None)
    return checked.TolerationRule(head, good) if len(good) == len(patterns) else None


def _check_toleration(
    pattern: syntax_expr.Toleration, env: number_reading.NameEnvironment
) -> checked_selector.TaintPattern | None:
    """Check a toleration; report tolerations that policies must not grant, such as `NoExecute`."""
    if pattern.key.text == "*" and not pattern.key.quoted:
        env.found.add_error(
            "PS207",
            "a policy cannot tolerate every taint",
            pattern.span,
            help="name the taints: `tolerate dedicated=web:NoSchedule, maintenance`",
        )
        return None
    is_cluster = env.target == "cluster"
    if pattern.effect is not None and pattern.effect.text == "NoExecute":
        subject, holder, readers = _EVICTION[is_cluster]
        env.found.add_error(
            "PS207",
            f"a policy cannot make a {subject} tolerate `NoExecute`",
            pattern.effect.span,
            notes=(f"{readers} only the {holder}'s own tolerations",),
            help=f"add the toleration to the {holder}, or tolerate `NoSchedule` here",
        )
        return None
    if is_cluster and pattern.operator in ("Gt", "Lt"):
        env.found.add_error(
            "PS704",
            f"a toleration of clusters cannot use `{pattern.operator}`",
            pattern.span,
            notes=("Karmada compares taints of clusters only by equality and presence",),
            help=f"write the value: `{pattern.key.text}=value:NoSchedule`",
        )
        return None
    return check_taints.check_taint_pattern(env, pattern, TOLERATED_WITHOUT_EFFECT)


def _check_reject(
    node: syntax.Reject, statement: rule_statements.RuleStatement
) -> checked.RejectRule | None:
    """Check `reject` with its condition, `until` and its action for missing data."""
    own = statement.own
    head = statement.make_rule_head()
    window_fine, window = check_scores.check_window_clause(own)
    condition = check_exprs.ExprChecker(own.env, window).check_condition(node.condition)
    until_fine, until = _check_until_condition(own, window, condition)
    missing_fine, action = _check_missing_action(condition, node, own)
    if condition is None:
        return None
    if not (
        window_fine
        and until_fine
        and missing_fine
        and check_scores.check_window_has_metric(own, condition)
    ):
        return None
    if not checked_expr.reads_placed_pods(condition) and own.env.target == "node":
        why = "the condition does not depend on placed pods, so no pod is evicted for this rule"
        if not rule_statements.check_no_preemption_clause(own, why):
            return None
    return checked.RejectRule(head, condition, action, until)


def _check_until_condition(
    own: clauses.ClauseSet,
    window: checked_expr.MetricWindow | None,
    condition: checked_expr.TypedExpr | None,
) -> tuple[bool, checked_expr.TypedExpr | None]:
    """Return whether `until` is valid or absent, and its condition; None if absent."""
    clause = own.get_clause("until", syntax_clause.ExprClause)
    if clause is None:
        return True, None
    if check_until.report_until_date(clause, own.env):
        return False, None
    until = check_exprs.ExprChecker(own.env, window).check_condition(clause.expr)
    if until is None or condition is None:
        return False, None
    for part in (condition, until):
        problem, advice = "", "select pods with `for pods where`"
        if not checked_expr.list_read_metrics(part):
            problem = "hysteresis needs a metric, but this rule reads none"
            advice = "remove `until`, or compare a metric"
        elif checked_expr.reads_pod(part):
            problem = (
                "hysteresis applies to a node for all pods, so its conditions cannot "
                "depend on the pod"
            )
        if problem:
            own.env.found.add_error("PS108", problem, part.span, help=advice)
            return False, None
    return check_until.check_until_conditions(condition, until, own.env), until


def _check_missing_action(
    condition: checked_expr.TypedExpr | None, node: syntax.Reject, own: clauses.ClauseSet
) -> tuple[bool, MissingAction | None]:
    """Return whether missing data is handled, and the action; None if no data can be missing."""
    clause = own.get_clause("missing", syntax_clause.MissingClause)
    if clause is not None:
        action = check_metrics.check_missing_action(own.env, clause)
        return action is not None, action
    parts = (
        []
        if condition is None
        else list(check_missing_data.iterate_possibly_missing_parts(condition))
    )
    if condition is None or not parts:
        return True, None
    action = _get_missing_action_of_metrics(condition, parts, node, own.env)
    return action is not None, action


def _get_missing_action_of_metrics(
    condition: checked_expr.TypedExpr,
    parts: Sequence[checked_expr.TypedExpr],
    node: syntax.Reject,
    env: number_reading.NameEnvironment,
) -> MissingAction | None:
    """Return the action that all metrics declare.

    Report the statement if there is no such action: a metric declares none, two metrics declare
    different actions, or other parts may be missing.
    """
    only_metrics, read = check_missing_data.collect_metric_keys(parts)
    actions = {metric.missing_action for metric in env.metrics.values() if metric.key in read}
    if only_metrics and len(actions) == 1 and (action := actions.pop()) is not None:
        return action
    check_missing_data.report_unhandled_missing_data(
        env,
        node.condition.span,
        node.span,
        ("missing allow", "missing reject"),
        check_missing_data.explain_unsettled_missing_data(condition, actions),
    )
    return None
