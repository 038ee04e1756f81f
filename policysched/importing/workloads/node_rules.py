"""Converts nodeSelector, node affinity and tolerations of a pod to rules."""

from __future__ import annotations

import math
from typing import Literal

from policysched.importing.reading import fields
from policysched.importing.result import policy_text
from policysched.importing.workloads import label_terms
from policysched.lang.syntax import syntax, syntax_expr

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SCORE_WEIGHT = 2
"""The default weight of NodeAffinity, InterPodAffinity and PodTopologySpread.

One preferred term thus gives up to 200 points.
"""

_MAX_WEIGHT = 100
_NOTHING = "a term that matches no node is left out; kube-scheduler would leave the pod Pending"
_TOGETHER = (
    "in a pod they share 200 points; here each gives 100 times its weight, in the same proportion"
)


def convert_node_selector(spec: fields.StrictFields) -> list[policy_text.CommentedStatement]:
    """Return the rule for `nodeSelector`."""
    required = label_terms.convert_labels_to_requirements(spec.read_labels("nodeSelector"))
    if not required:
        return []
    node = syntax.NodeAffinity(policy_text.SPAN, "required", policy_text.join_by_and(required), ())
    at = spec.locate_field("nodeSelector")
    return [policy_text.CommentedStatement(node, at.origin_comment, at)]


def convert_node_affinity(given: fields.StrictFields) -> list[policy_text.CommentedStatement]:
    """Return the rules for `nodeAffinity`."""
    found = []
    required = given.read_object(REQUIRED)
    if required is not None:
        found += _convert_required_terms(required)
    preferred = given.read_objects(PREFERRED)
    weights = compute_policy_term_weights([read_term_weight(each) for each in preferred])
    if len(preferred) > 1:
        report_heavier_preferred_terms(given, PREFERRED)
    for term, weight in zip(preferred, weights, strict=True):
        inner = term.read_object("preference")
        if inner is None:
            continue
        selector = label_terms.convert_node_term(inner)
        if isinstance(selector, label_terms.TrivialSelector):
            inner.report.warn(inner.place, "the preference matches nothing", "it is left out")
            continue
        clause = (policy_text.make_amount_clause("weight", weight),)
        node = syntax.NodeAffinity(policy_text.SPAN, "preferred", selector, clause)
        found.append(policy_text.CommentedStatement(node, term.place.origin_comment, term.place))
    return found


def _convert_required_terms(required: fields.StrictFields) -> list[policy_text.CommentedStatement]:
    """Return the rule for required node selector terms; warn about terms that match no node."""
    selectors = []
    for term in required.read_objects("nodeSelectorTerms"):
        selector = label_terms.convert_node_term(term)
        if isinstance(selector, label_terms.TrivialSelector):
            term.report.warn(term.place, _NOTHING, "write a term that matches the wanted nodes")
        else:
            selectors.append(selector)
    if not selectors:
        return []
    node = syntax.NodeAffinity(policy_text.SPAN, "required", policy_text.join_by_or(selectors), ())
    return [policy_text.CommentedStatement(node, required.place.origin_comment, required.place)]


def read_term_weight(term: fields.StrictFields) -> int:
    """Return the weight of a preferred term; warn and limit it if it is out of range."""
    given = term.read_integer("weight")
    weight = 1 if given is None else min(max(given, 1), _MAX_WEIGHT)
    if given not in (None, weight):
        problem = f"the weight {given} is not from 1 to {_MAX_WEIGHT}; {weight} is used"
        term.report.warn(
            term.locate_field("weight"), problem, "give the term a weight in this range"
        )
    return weight


def compute_policy_term_weights(weights: list[int]) -> list[int]:
    """Return the weights of preferred terms in a policy.

    A single term gets the weight of the plugin, whatever its weight in the pod, because points are
    normalised. Several terms get the smallest integers in exactly the same proportion.
    """
    if len(weights) <= 1:
        return [SCORE_WEIGHT] * len(weights)
    common = math.gcd(*weights)
    return [weight // common for weight in weights]


def report_heavier_preferred_terms(given: fields.StrictFields, name: str) -> None:
    """Report that several preferred terms together have more weight than in a pod."""
    problem = "several preferred terms weigh more in a policy"
    given.report.warn(given.locate_field(name), problem, _TOGETHER)


# ---------------------------------------------------------------------------- tolerations


def convert_tolerations(spec: fields.StrictFields) -> list[policy_text.CommentedStatement]:
    """Return one rule for each toleration in `tolerations`."""
    found = []
    for toleration in spec.read_objects("tolerations"):
        pattern = _convert_toleration_pattern(toleration)
        if pattern is not None:
            node = syntax.Tolerate(policy_text.SPAN, (pattern,), ())
            found.append(
                policy_text.CommentedStatement(
                    node, toleration.place.origin_comment, toleration.place
                )
            )
    return found


def _convert_toleration_pattern(given: fields.StrictFields) -> syntax_expr.Toleration | None:
    """Return a toleration; None, with a warning, if a policy cannot express it."""
    key, effect = given.read_text("key"), given.read_text("effect")
    operator, value = given.read_text("operator", "Equal"), given.read_text("value")
    given.skip_fields("tolerationSeconds")  # applies to NoExecute only, which is reported below
    if not key:
        problem = "a policy cannot tolerate every taint"
        given.report.warn(given.place, problem, "leave it in the pod, or tolerate each key")
        return None
    if effect in ("NoExecute", ""):
        problem = f"a policy cannot make a pod tolerate `{key}:NoExecute`"
        given.report.warn(given.place, problem, "leave this toleration in the pod")
        if effect:
            return None
    unknown = [("operator", operator)] if operator not in _SIGNS else []
    unknown += [("effect", effect)] if effect not in _EFFECTS else []
    for field, written in unknown:
        problem = f"`{written}` is not a valid {field} of tolerations"
        given.report.warn(given.locate_field(field), problem, "the toleration is left out")
    return None if unknown else _make_toleration_rule(key, operator, value, effect)


_EFFECTS = frozenset({"", "NoSchedule", "PreferNoSchedule"})
_SIGNS: dict[str, Literal["=", "Gt", "Lt"] | None] = {
    "Equal": "=",
    "Exists": None,
    "Gt": "Gt",
    "Lt": "Lt",
}


def _make_toleration_rule(
    key: str, operator: str, value: str, effect: str
) -> syntax_expr.Toleration:
    """Return the syntax tree of a toleration whose fields are valid."""
    is_number = operator in ("Gt", "Lt")
    written = policy_text.make_keyword(value) if is_number else policy_text.make_word(value)
    return syntax_expr.Toleration(
        policy_text.SPAN,
        policy_text.make_word(key),
        _SIGNS[operator],
        None if operator == "Exists" else written,
        policy_text.make_keyword(effect) if effect else None,
    )
