"""Check the rules about other pods: `podAffinity`, `podAntiAffinity` and `topologySpread`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

from policysched.lang import source
from policysched.lang.checked import checked, checked_selector
from policysched.lang.checking import clauses
from policysched.lang.checking.expressions import check_missing_data
from policysched.lang.checking.metrics import check_metrics
from policysched.lang.checking.selectors import check_pod_sets
from policysched.lang.checking.statements import rule_statements
from policysched.lang.diagnostics import fixes
from policysched.lang.syntax import syntax, syntax_clause, syntax_expr
from policysched.lang.words import vocabulary

_MissingAction: TypeAlias = Literal["allow", "reject"]
_MAX_INT32 = 2**31 - 1


def _check_topology_key(statement: rule_statements.RuleStatement) -> str | None:
    """Return the topologyKey; report a missing or invalid key and return None."""
    is_fine, key = check_pod_sets.check_topology_key(statement.own)
    found = statement.own.env.found
    if key is None and found.is_next_to_unparsed_part(statement.node.span):
        return None
    if key is None:
        end = statement.node.span.end
        text = found.texts[statement.node.span.file]
        hostname = " topologyKey kubernetes.io/hostname"
        found.add_error(
            "PS206",
            f"`{statement.kind}` has no topologyKey",
            _find_keyword_span(statement.node.span, statement.kind),
            help="add `topologyKey kubernetes.io/hostname`, or the label of zones or racks",
            fix=fixes.make_replacement_fix(text.span(end, end), hostname),
        )
        return None
    return key if is_fine else None


def _find_keyword_span(span: source.Span, keyword: str) -> source.Span:
    return source.Span(span.file, span.start, span.start + len(keyword), span.line, span.column)


def check_pod_affinity(
    node: syntax.PodAffinity, statement: rule_statements.RuleStatement
) -> checked.PodAffinityRule | None:
    """Check `podAffinity` or `podAntiAffinity`."""
    head = statement.make_rule_head()
    pods = check_pod_sets.check_pod_selection(node.pods, statement.own)
    topology_key = _check_topology_key(statement)
    is_fine, weight = rule_statements.check_term_weight(node.strength, statement.own)
    if pods is None or topology_key is None or not is_fine:
        return None
    is_anti = node.kind == "podAntiAffinity"
    choices: tuple[_MissingAction, ...] = ("allow",) if is_anti else ("reject", "allow")
    missing_fine, action = check_missing_pod_values(
        statement, pods, choices if node.strength == "required" else ()
    )
    if not missing_fine:
        return None
    return checked.PodAffinityRule(head, is_anti, pods, topology_key, weight, action)


def check_missing_pod_values(
    statement: rule_statements.RuleStatement,
    pods: checked_selector.PodSelection,
    choices: Sequence[_MissingAction],
) -> tuple[bool, _MissingAction | None]:
    """Return whether `missing` is right for values that the pod may lack, and its action.

    `choices` are the actions that the rule can take; a rule that gives points has none, because
    without a value it gives all nodes the same points.
    """
    own = statement.own
    clause = own.get_clause("missing", syntax_clause.MissingClause)
    can_be_missing = pods.can_lack_value
    if not can_be_missing or not choices:
        why = (
            "without the value, all nodes get the same points"
            if can_be_missing
            else rule_statements.NO_POD_VALUE
        )
        return rule_statements.check_no_missing_clause(own, why), None
    if clause is None:
        check_missing_data.report_unhandled_missing_data(
            own.env,
            pods.compared[0].span,
            statement.node.span,
            [f"missing {each}" for each in choices],
            "a pod without this value has nothing to compare",
        )
        return False, None
    action = check_metrics.check_missing_action(own.env, clause)
    if action is not None and action not in choices:
        own.env.found.add_error(
            "PS108",
            f"`missing {action}` is not possible here: without the value, no pod is counted",
            clause.span,
            help="write `missing allow`, and `reject when pod(KEY DoesNotExist)` as a rule",
        )
        return False, None
    return action is not None, action


def check_topology_spread(
    node: syntax.TopologySpread, statement: rule_statements.RuleStatement
) -> checked.TopologySpreadRule | None:
    """Check `topologySpread`, with the defaults of Kubernetes for absent clauses."""
    own = statement.own
    head = statement.make_rule_head()
    pods = check_pod_sets.check_pod_selection(node.pods, own)
    topology_key = _check_topology_key(statement)
    skew_fine, max_skew = own.read_whole_number("maxSkew", (1, _MAX_INT32))
    domains_fine, min_domains = own.read_whole_number("minDomains", (1, _MAX_INT32))
    when = own.read_choice("whenUnsatisfiable", vocabulary.WHEN_UNSATISFIABLE)
    affinity_policy = own.read_choice("nodeAffinityPolicy", vocabulary.NODE_INCLUSION)
    taints_policy = own.read_choice("nodeTaintsPolicy", tuple(reversed(vocabulary.NODE_INCLUSION)))
    weight_fine, weight = _check_spread_weight(own, when)
    if when == "ScheduleAnyway" and min_domains is not None:
        _report_unused_spread_clause(own, "minDomains", "DoNotSchedule")
        return None
    if when == "ScheduleAnyway" and head.forbids_preemption:
        _report_unused_spread_clause(own, "preemption", "DoNotSchedule")
        return None
    if pods is None or topology_key is None or when is None:
        return None
    if affinity_policy is None or taints_policy is None:
        return None
    choices: tuple[_MissingAction, ...] = ("allow",) if when == "DoNotSchedule" else ()
    missing_fine, _ = check_missing_pod_values(statement, pods, choices)
    if not (skew_fine and domains_fine and weight_fine and missing_fine):
        return None
    return checked.TopologySpreadRule(
        head=head,
        pods=pods,
        topology_key=topology_key,
        max_skew=max_skew or 1,
        min_domains=min_domains or 1,
        when_unsatisfiable=cast("Literal['DoNotSchedule', 'ScheduleAnyway']", when),
        node_affinity_policy=cast("Literal['Honor', 'Ignore']", affinity_policy),
        node_taints_policy=cast("Literal['Honor', 'Ignore']", taints_policy),
        weight=weight,
    )


def _check_spread_weight(own: clauses.ClauseSet, when: str | None) -> tuple[bool, int | None]:
    """Return whether the weight is valid, and the weight; report a weight for DoNotSchedule."""
    clause = own.get_clause("weight", syntax_clause.AmountClause)
    if when == "ScheduleAnyway":
        return rule_statements.check_term_weight("preferred", own)
    if own.get_clause("otherwise", syntax_clause.AmountClause) is not None:
        _report_unused_spread_clause(own, "otherwise", "ScheduleAnyway")
        return False, None
    if clause is not None and when is not None:
        own.env.found.add_error(
            "PS301",
            "`topologySpread` with DoNotSchedule takes no weight: it gives no points",
            clause.span,
            help="remove the weight, or write `whenUnsatisfiable ScheduleAnyway`",
        )
        return False, None
    return True, None


def _report_unused_spread_clause(own: clauses.ClauseSet, keyword: str, when: str) -> None:
    """Report a clause that has an effect only with another `whenUnsatisfiable`."""
    clause = own.get_clause(keyword, syntax_clause.AmountClause) or own.get_clause(
        keyword, syntax_expr.WordClause
    )
    if clause is not None:
        own.env.found.add_error(
            "PS108",
            f"`{keyword}` has an effect only with `whenUnsatisfiable {when}`",
            clause.span,
            help="remove it",
        )
