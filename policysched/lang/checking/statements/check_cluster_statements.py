"""Check the placement statements of a clusterPolicy: groups, spread, division of replicas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

from policysched.lang.checked import checked, checked_cluster
from policysched.lang.checking import clauses, diagnostic_collector, number_reading
from policysched.lang.checking.selectors import check_selectors
from policysched.lang.diagnostics import diagnostics
from policysched.lang.syntax import syntax, syntax_expr
from policysched.lang.words import kubernetes_names, vocabulary

_MAX_INT32 = 2**31 - 1
MAX_GROUP_NAME = 32
"""Maximum length of `affinityName` in Karmada's `policy/v1alpha1/propagation_types.go`."""

_S = TypeVar("_S", bound=syntax_expr.SyntaxNode)


def check_cluster_placement(
    policy: syntax.Policy, rules: Iterable[checked.Rule], env: number_reading.NameEnvironment
) -> checked_cluster.ClusterPlacement:
    """Return the valid statements of a clusterPolicy other than rules.

    Args:
        policy: a clusterPolicy.
        rules: the valid rules of the policy, whose scores can divide replicas.
        env: resolves names, and collects diagnostics.
    """
    groups = [
        _check_cluster_group(node, env) for node in _list_statements(policy, syntax.ClusterGroup)
    ]
    spread = [
        _check_spread_constraint(node, env)
        for node in _list_statements(policy, syntax.SpreadConstraint)
    ]
    good_groups = tuple(each for each in groups if each is not None)
    good_spread = tuple(each for each in spread if each is not None)
    _report_repeated_statements(
        ((f"clusterGroup {each.name}", each.span) for each in good_groups), env.found
    )
    _report_repeated_statements(
        ((f"spreadConstraint by {each.by}", each.span) for each in good_spread), env.found
    )
    divisions = _list_statements(policy, syntax.Replicas)
    _report_repeated_statements((("replicas", node.span) for node in divisions), env.found)
    division = (
        _check_replica_division(policy, divisions[0], tuple(rules), env) if divisions else None
    )
    return checked_cluster.ClusterPlacement(good_groups, good_spread, division)


def _list_statements(policy: syntax.Policy, kind: type[_S]) -> list[_S]:
    return [node for node in policy.statements if isinstance(node, kind)]


def _report_repeated_statements(
    said: Iterable[tuple[str, Any]], found: diagnostic_collector.DiagnosticCollector
) -> None:
    """Report each statement that a policy has more than once."""
    first: dict[str, Any] = {}
    for what, span in said:
        if first.setdefault(what, span) is not span:
            found.add_error(
                "PS108",
                f"`{what}` appears twice in this policy",
                span,
                secondary=(diagnostics.SpanLabel(first[what], "first here"),),
                help="keep one of them",
            )


def _check_cluster_group(
    node: syntax.ClusterGroup, env: number_reading.NameEnvironment
) -> checked_cluster.OrderedClusterGroup | None:
    """Check a cluster group: its name and its selector."""
    problem = kubernetes_names.find_dns_label_problem(node.name.text)
    if not problem and len(node.name.text) > MAX_GROUP_NAME:
        problem = f"has {len(node.name.text)} characters; Karmada allows at most {MAX_GROUP_NAME}"
    if problem:
        ours = kubernetes_names.convert_to_dns_label(node.name.text)
        env.found.report_invalid_name("group", node.name, problem, ours)
    selector = check_selectors.SelectorChecker(env, "cluster").check_selector(node.selector)
    if problem or selector is None:
        return None
    return checked_cluster.OrderedClusterGroup(node.name.text, selector, node.span)


def _check_spread_constraint(
    node: syntax.SpreadConstraint, env: number_reading.NameEnvironment
) -> checked_cluster.ClusterSpreadConstraint | None:
    """Check a spread constraint: its field, and its bounds on groups."""
    own = clauses.ClauseSet(env, "spreadConstraint", node.clauses)
    if node.by.text not in vocabulary.SPREAD_FIELDS:
        what = "a field for spreading clusters"
        env.found.report_word_not_allowed(what, node.by, vocabulary.SPREAD_FIELDS)
        return None
    least_fine, least = own.read_whole_number("minGroups", (1, _MAX_INT32))
    most_fine, most = own.read_whole_number("maxGroups", (1, _MAX_INT32))
    if not (least_fine and most_fine):
        return None
    least = least or 1
    if most is not None and most < least:
        env.found.add_error(
            "PS111",
            f"`maxGroups {most}` is less than `minGroups {least}`",
            node.span,
            help=f"write `maxGroups {least}` or more",
        )
        return None
    return checked_cluster.ClusterSpreadConstraint(
        cast("Any", node.by.text), least, most, node.span
    )


def _check_replica_division(
    policy: syntax.Policy,
    node: syntax.Replicas,
    rules: Sequence[checked.Rule],
    env: number_reading.NameEnvironment,
) -> checked_cluster.ReplicaDivisionStrategy | None:
    """Check the division of replicas: its weights, and the score to divide by."""
    weights = _check_static_weights(node, env)
    if weights is None:
        return None
    rule = None
    if node.dynamic == "score":
        is_fine, rule = _find_division_score(policy, node, rules, env)
        if not is_fine:
            return None
    return checked_cluster.ReplicaDivisionStrategy(
        node.division, weights, node.dynamic, rule, node.span
    )


def _check_static_weights(
    node: syntax.Replicas, env: number_reading.NameEnvironment
) -> tuple[tuple[str, int], ...] | None:
    """Return the (cluster, weight) pairs; None if an error was reported."""
    found: dict[str, int] = {}
    good = True
    for name, amount in node.weights:
        problem = kubernetes_names.find_dns_label_problem(name.text)
        if problem:
            env.found.report_invalid_name("cluster", name, problem)
        elif name.text in found:
            env.found.add_error("PS108", f"`{name.text}` has two weights", name.span)
            problem = "twice"
        weight = number_reading.read_whole_number(
            env, amount, (1, _MAX_INT32), what="a weight", code="PS301"
        )
        good = good and not problem and weight is not None
        found[name.text] = weight or 1
    return tuple(found.items()) if good else None


def _find_division_score(
    policy: syntax.Policy,
    node: syntax.Replicas,
    rules: Sequence[checked.Rule],
    env: number_reading.NameEnvironment,
) -> tuple[bool, str | None]:
    """Return whether the division is valid, and the name of its score; None to add all scores."""
    written = [s for s in policy.statements if isinstance(s, syntax.Score | syntax.ClusterAffinity)]
    if not written:
        env.found.add_error(
            "PS109",
            "replicas are divided by score, but this policy has no score",
            node.span,
            help="add `score …`, or write `replicas Divided Weighted AvailableReplicas`",
        )
        return False, None
    if node.rule is None:
        return True, None
    named = {
        rule.head.given_name: rule.head.statement_name
        for rule in rules
        if rule.head.given_name is not None and hasattr(rule, "weight") and rule.weight is not None
    }
    if node.rule.text not in named:
        advice = f"name a score of this policy with `as {node.rule.text[:40]}`"
        env.found.report_undefined_name(
            "score in this policy named", node.rule, named, instead=advice
        )
        return False, None
    return True, named[node.rule.text]
