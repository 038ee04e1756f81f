"""Imports TASPolicy (`telemetry.intel.com/v1alpha1`) of Intel's Telemetry Aware Scheduling.

The result implements the intended effect of the strategies, not the defects of TAS; docs/import.md
lists these defects. Source: telemetry-aware-scheduling `pkg/strategies`, `pkg/metrics` and
`pkg/telemetryscheduler`, and its README.
"""

from __future__ import annotations

import re
from typing import Literal

from policysched.importing.reading import fields
from policysched.importing.result import findings, import_draft, policy_text
from policysched.lang.syntax import syntax, syntax_clause, syntax_expr
from policysched.lang.words import vocabulary
from policysched.promql import query_text

KIND = "TASPolicy"
GROUP = "telemetry.intel.com/"
_LABEL = "telemetry-policy"
_RESOURCE = "telemetry/scheduling"
_REFRESH, _MAX_AGE = "15s", "2m"
_COMPARISONS: dict[str, Literal["<", ">", "="]] = {
    "LessThan": "<",
    "GreaterThan": ">",
    "Equals": "=",
}
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_]")
_DESCHEDULE = "evict with the descheduler, and keep `reject … until …` on the same metric here"
_LABELING = "reject or score by the metric itself, not by a label derived from it"


def import_tas_policy(given: fields.StrictFields, made: import_draft.ImportDraft) -> None:
    """Add the metrics and the policy, and make its pods schedulable without TAS.

    Pods opt in to TAS by a request for `telemetry/scheduling`, a resource that no node has.

    Raises:
        InputError: a field has the wrong type.
    """
    given.skip_fields("apiVersion", "kind", "status")
    metadata = given.read_object("metadata")
    name = metadata.read_text("name") if metadata else ""
    namespace = metadata.read_text("namespace", "default") if metadata else "default"
    if metadata is not None:
        metadata.read_all_values()
    spec = given.read_object("spec")
    strategies = spec.read_object("strategies") if spec is not None else None
    statements = [] if strategies is None else _convert_strategies(strategies, made)
    given.report_unread_fields()
    if not statements:
        made.report.warn(
            given.place, f"the TASPolicy `{name}` places no pod", "nothing is written for it"
        )
        return
    scope = _make_pod_scope(namespace, name)
    block = policy_text.CommentedBlock(
        "policy",
        made.names.reserve_name(name, "tas-policy"),
        (policy_text.CommentedStatement(scope), *statements),
        f"from the TASPolicy `{namespace}/{name}`, {given.place.origin_comment}",
        given.place,
        f"the TASPolicy {namespace}/{name}",
    )
    made.policies.append(block)
    if _RESOURCE not in made.ignored_resources:
        made.ignored_resources.append(_RESOURCE)


def _make_pod_scope(namespace: str, name: str) -> syntax.Scope:
    """Return the scope of the pods that TAS assigns to the policy by label."""
    where = policy_text.make_label_requirement(_LABEL, "=", (name,))
    names = syntax.NamespaceScope(policy_text.SPAN, (policy_text.make_word(namespace),), None)
    return syntax.Scope(policy_text.SPAN, "pods", names, where)


# ---------------------------------------------------------------------------- strategies


def _convert_strategies(
    strategies: fields.StrictFields, made: import_draft.ImportDraft
) -> list[policy_text.CommentedStatement]:
    """Return the rules for the strategies that place pods, and warn about the others."""
    found: list[policy_text.CommentedStatement] = []
    dont = strategies.read_object("dontschedule")
    if dont is not None:
        found += _convert_dontschedule(dont, made)
    on_metric = strategies.read_object("scheduleonmetric")
    if on_metric is not None:
        found += _convert_scheduleonmetric(on_metric, made)
    for name, advice in (("deschedule", _DESCHEDULE), ("labeling", _LABELING)):
        other = strategies.read_object(name)
        if other is not None:
            other.read_all_values()
            problem = f"the strategy `{name}` acts on pods that are already placed"
            made.report.warn(other.place, problem, advice)
    return found


def _convert_dontschedule(
    strategy: fields.StrictFields, made: import_draft.ImportDraft
) -> list[policy_text.CommentedStatement]:
    """Return rules that reject nodes: one for each condition, or one for their conjunction.

    The rules of anyOf are separate, so that an outage of one metric does not disable the others.
    """
    conditions = []
    for rule in strategy.read_objects("rules"):
        condition = _convert_rule_condition(rule, made)
        if condition is not None:
            conditions.append((condition, rule.place))
    logic = strategy.read_text("logicalOperator", "anyOf")
    strategy.skip_fields("policyName")
    if logic not in ("anyOf", "allOf"):
        problem = f"`logicalOperator: {logic}` is neither anyOf nor allOf; anyOf is used"
        made.report.warn(strategy.locate_field("logicalOperator"), problem, "write one of them")
    if logic == "allOf" and len(conditions) > 1:
        both = syntax_expr.ExprAnd(policy_text.SPAN, tuple(each for each, _ in conditions))
        return [_make_reject_rule(both, strategy.place, "dontschedule")]
    numbers = range(1, len(conditions) + 1)
    return [
        _make_reject_rule(
            each, place, f"dontschedule-{n}" if len(conditions) > 1 else "dontschedule"
        )
        for n, (each, place) in zip(numbers, conditions, strict=True)
    ]


def _make_reject_rule(
    condition: syntax_expr.Expr, place: findings.ValueLocation, name: str
) -> policy_text.CommentedStatement:
    clauses = (
        policy_text.make_missing_clause("allow"),
        policy_text.make_unquoted_word_clause("as", name),
    )
    node = syntax.Reject(policy_text.SPAN, condition, clauses)
    return policy_text.CommentedStatement(node, place.origin_comment, place)


def _convert_rule_condition(
    rule: fields.StrictFields, made: import_draft.ImportDraft
) -> syntax_expr.Comparison | None:
    """Return the comparison of a TAS rule; None, with a warning, for an unknown operator."""
    operator = rule.read_text("operator")
    name, target = rule.read_text("metricname"), rule.read_integer("target")
    if operator not in _COMPARISONS:
        problem = f"the operator `{operator}` is unknown; TAS treats the rule as never met"
        known = ", ".join(_COMPARISONS)
        made.report.warn(rule.locate_field("operator"), problem, f"write one of {known}")
        return None
    value: syntax_expr.Expr = policy_text.make_number_expression(abs(target or 0))
    if target is not None and target < 0:
        value = syntax_expr.Negate(policy_text.SPAN, value)
    metric = _declare_metric(name, rule.locate_field("metricname"), made)
    return syntax_expr.Comparison(
        policy_text.SPAN, _COMPARISONS[operator], metric, value, policy_text.SPAN
    )


def _convert_scheduleonmetric(
    strategy: fields.StrictFields, made: import_draft.ImportDraft
) -> list[policy_text.CommentedStatement]:
    """Return the score by the first rule, the only one that TAS uses."""
    rules = strategy.read_objects("rules")
    strategy.skip_fields("policyName", "logicalOperator")
    for further in rules[1:]:
        further.read_all_values()
        problem = "TAS uses only the first rule of `scheduleonmetric`; this one is left out"
        made.report.warn(further.place, problem, "write a `score` with a weight for it")
    if not rules:
        return []
    first = rules[0]
    operator = first.read_text("operator")
    first.skip_fields("target")  # the target does not affect the order
    if operator not in ("LessThan", "GreaterThan"):
        problem = f"`scheduleonmetric` by `{operator}` orders nothing"
        first.skip_fields("metricname")
        made.report.warn(first.place, problem, "write LessThan or GreaterThan")
        return []
    metric = _declare_metric(first.read_text("metricname"), first.locate_field("metricname"), made)
    clauses: tuple[syntax_clause.Clause, ...] = (
        policy_text.make_unquoted_word_clause(
            "prefer", "low" if operator == "LessThan" else "high"
        ),
        syntax_clause.NormalizeClause(
            policy_text.SPAN, "normalize", policy_text.make_keyword("rank"), ()
        ),
        policy_text.make_missing_clause("score", 0),
        policy_text.make_unquoted_word_clause("as", "scheduleonmetric"),
    )
    node = syntax.Score(policy_text.SPAN, metric, clauses)
    return [policy_text.CommentedStatement(node, first.place.origin_comment, first.place)]


# ---------------------------------------------------------------------------- metrics


def _declare_metric(
    name: str, at: findings.ValueLocation, made: import_draft.ImportDraft
) -> syntax_expr.Ref:
    """Return a reference to the metric named `name`, and declare the metric at its first use."""
    known = _NOT_A_NAME.sub("_", name)
    if not known or known[0].isdigit() or known in vocabulary.RESERVED_NAMES:
        known = f"metric_{known}"
    if known not in made.metrics:
        declared = _make_metric_declaration(known, name)
        made.metrics[known] = policy_text.CommentedMetric(declared, at.origin_comment, at)
        problem = f"`{name}` is assumed to be a Prometheus series with the label `instance`"
        advice = "compare the query with the rule of the custom metrics adapter"
        made.report.note(at, problem, advice)
    return syntax_expr.Ref(policy_text.SPAN, policy_text.make_keyword(known))


def _make_metric_declaration(known: str, name: str) -> syntax.Metric:
    """Return the declaration of a metric whose query selects the series of that name."""
    span, keyword = policy_text.SPAN, policy_text.make_keyword
    query = query_text.render_name_as_selector(name)
    options = (
        policy_text.make_unquoted_word_clause("node", "instance"),
        syntax_clause.AmountClause(span, "refresh", policy_text.make_numeral(_REFRESH)),
        syntax_clause.AmountClause(span, "maxAge", policy_text.make_numeral(_MAX_AGE)),
    )
    return syntax.Metric(
        span, keyword(known), keyword("number"), syntax.PromQL(span, query), options
    )
