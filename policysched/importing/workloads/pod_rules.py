"""Converts pod affinity, anti-affinity and topology spread of a pod to rules."""

from __future__ import annotations

from typing import Literal

from policysched.importing.reading import fields
from policysched.importing.result import policy_text
from policysched.importing.workloads import label_terms, node_rules
from policysched.lang.syntax import syntax, syntax_clause, syntax_expr

_Kind = Literal["podAffinity", "podAntiAffinity"]
_MISMATCH_HELP = "give all pods the label, or leave the term in the pods; the rule ignores them"
_TERM_FIELDS = ("matchLabelKeys", "mismatchLabelKeys")
_SPREAD_HELP = (
    "the fullest domain gets no points, even for a small difference; reduce the weight if "
    "this effect is too strong"
)
_NONE_HELP = "write a labelSelector"


def convert_pod_affinity(
    kind: _Kind, given: fields.StrictFields
) -> list[policy_text.CommentedStatement]:
    """Return the rules for `podAffinity` or `podAntiAffinity`."""
    found = []
    required = given.read_objects(node_rules.REQUIRED)
    if kind == "podAffinity" and len(required) > 1:
        problem = "each term of podAffinity is a rule of its own here"
        advice = "kube-scheduler counts only pods that match all of the terms"
        given.report.warn(given.locate_field(node_rules.REQUIRED), problem, advice)
    for term in required:
        found += _make_affinity_rule(kind, "required", term, term, None)
    preferred = given.read_objects(node_rules.PREFERRED)
    if len(preferred) > 1:
        node_rules.report_heavier_preferred_terms(given, node_rules.PREFERRED)
    weights = node_rules.compute_policy_term_weights(
        [node_rules.read_term_weight(each) for each in preferred]
    )
    for weighted, weight in zip(preferred, weights, strict=True):
        inner = weighted.read_object("podAffinityTerm")
        if inner is not None:
            found += _make_affinity_rule(kind, "preferred", inner, weighted, weight)
    return found


def _make_affinity_rule(
    kind: _Kind,
    strength: Literal["required", "preferred"],
    term: fields.StrictFields,
    whole: fields.StrictFields,
    weight: int | None,
) -> list[policy_text.CommentedStatement]:
    """Return the rule for one affinity term, or nothing if the term matches no pods."""
    pods = _convert_term_pods(term)
    clauses = [
        policy_text.make_word_clause("topologyKey", term.read_text("topologyKey")),
        *_convert_term_namespaces(term),
        *_convert_label_keys(term),
    ]
    if weight is not None:
        clauses.append(policy_text.make_amount_clause("weight", weight))
    if pods is None:
        return []
    node = syntax.PodAffinity(policy_text.SPAN, kind, strength, pods, tuple(clauses))
    return [policy_text.CommentedStatement(node, whole.place.origin_comment, whole.place)]


def _convert_term_pods(term: fields.StrictFields) -> syntax_expr.PodSet | None:
    selector = label_terms.convert_label_selector(term.read_object("labelSelector"))
    if selector is label_terms.TrivialSelector.NONE:
        problem = "a term without labelSelector matches no pod; it is left out"
        term.report.warn(term.place, problem, _NONE_HELP)
        return None
    where = None if isinstance(selector, label_terms.TrivialSelector) else selector
    return syntax_expr.PodSet(policy_text.SPAN, "pods", where)


def _convert_term_namespaces(term: fields.StrictFields) -> list[syntax_clause.Clause]:
    """Return the clauses for `namespaces` and `namespaceSelector` of a term."""
    names = term.read_texts("namespaces")
    given = term.read_object("namespaceSelector")
    selector = label_terms.convert_label_selector(given)
    if selector is label_terms.TrivialSelector.ALL:
        everywhere = (policy_text.make_keyword("all"),)
        return [syntax_expr.WordsClause(policy_text.SPAN, "namespaces", everywhere, is_all=True)]
    clauses: list[syntax_clause.Clause] = []
    if names:
        clauses.append(policy_text.make_list_clause("namespaces", names))
    if not isinstance(selector, label_terms.TrivialSelector):
        clauses.append(syntax_expr.SelectorClause(policy_text.SPAN, "namespaceSelector", selector))
    return clauses


def _convert_label_keys(term: fields.StrictFields) -> list[syntax_clause.Clause]:
    """Return the clauses for `matchLabelKeys` and `mismatchLabelKeys`; warn if effects differ."""
    found: list[syntax_clause.Clause] = []
    for name in _TERM_FIELDS:
        keys = term.read_texts(name)
        if keys:
            found.append(policy_text.make_list_clause(name, keys))
            if name == "mismatchLabelKeys" and not _list_required_labels(term).issuperset(keys):
                problem = "`mismatchLabelKeys` of a pod also counts pods without the label"
                term.report.warn(term.locate_field(name), problem, _MISMATCH_HELP)
    return found


def _list_required_labels(term: fields.StrictFields) -> set[str]:
    """Return the labels that every pod matched by the labelSelector has."""
    selector = term.read_object("labelSelector")
    if selector is None:
        return set()
    expressions = selector.read_objects("matchExpressions")
    required = [each for each in expressions if each.read_text("operator") in ("In", "Exists")]
    return {*selector.read_labels("matchLabels"), *(each.read_text("key") for each in required)}


def convert_spread_constraints(spec: fields.StrictFields) -> list[policy_text.CommentedStatement]:
    """Return the rules for `topologySpreadConstraints`."""
    found = []
    for constraint in spec.read_objects("topologySpreadConstraints"):
        pods = _convert_term_pods(constraint)
        clauses = _convert_spread_clauses(constraint)
        if pods is not None:
            node = syntax.TopologySpread(policy_text.SPAN, pods, clauses)
            found.append(
                policy_text.CommentedStatement(
                    node, constraint.place.origin_comment, constraint.place
                )
            )
    return found


def _convert_spread_clauses(given: fields.StrictFields) -> tuple[syntax_clause.Clause, ...]:
    """Return the clauses of a topology spread constraint; warn if points differ."""
    clauses: list[syntax_clause.Clause] = [
        policy_text.make_word_clause("topologyKey", given.read_text("topologyKey")),
    ]
    skew = given.read_integer("maxSkew")
    clauses.append(policy_text.make_amount_clause("maxSkew", 1 if skew is None else skew))
    when = given.read_text("whenUnsatisfiable", "DoNotSchedule")
    clauses.append(policy_text.make_word_clause("whenUnsatisfiable", when))
    domains = given.read_integer("minDomains")
    if domains is not None:
        clauses.append(policy_text.make_amount_clause("minDomains", domains))
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        honor = given.read_text(name)
        if honor:
            clauses.append(policy_text.make_word_clause(name, honor))
    keys = given.read_texts("matchLabelKeys")
    if keys:
        clauses.append(policy_text.make_list_clause("matchLabelKeys", keys))
    if when == "ScheduleAnyway":
        problem = (
            "`ScheduleAnyway` gives different points than in a pod, in the same order "
            "except for nodes without the topologyKey"
        )
        given.report.warn(given.locate_field("whenUnsatisfiable"), problem, _SPREAD_HELP)
        clauses.append(policy_text.make_amount_clause("weight", node_rules.SCORE_WEIGHT))
    return tuple(clauses)
