"""Requirements that rules place on nodes regardless of metrics and time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked, checked_expr, checked_selector
from policysched.lint.policies import pod_value_constraints
from policysched.lint.sets import selector_sets


@dataclasses.dataclass(frozen=True, slots=True)
class NodeConstraint:
    """A selector that a node must match; otherwise the rule rejects the node.

    Attributes:
        rule: a required node affinity, or a `reject` on labels, fields or taints of nodes.
        selector: the selector that all remaining nodes match.
    """

    rule: checked.Rule
    selector: checked_selector.Selector


def get_rule_weight(each: checked.Rule) -> int:
    """Return the weight of a score or preference, or 0 for a rule that filters."""
    return 0 if isinstance(each, checked.UnweightedRule) else each.weight or 0


def get_preferred_node_selector(each: checked.Rule) -> checked_selector.Selector | None:
    """Return the selector of the nodes that a rule prefers, or None for any other rule."""
    match each:
        case checked.NodeAffinityRule(selector=selector, weight=int()):
            return selector
        case checked.ExpressionScoreRule(value=checked_expr.NodeMatch(selector=selector)):
            return selector
        case _:
            return None


def find_required_node_selectors(
    each: checked.Rule, scope: checked_selector.PolicyPodScope
) -> Iterator[checked_selector.Selector]:
    """Yield the selectors that a rule requires nodes to match, for pods of `scope`.

    The caller must ensure that the rule acts on all pods of `scope`.
    """
    match each:
        case checked.NodeAffinityRule(weight=None, selector=selector):
            yield selector
        case checked.RejectRule(condition=condition, until=None):
            yield from _find_accepted_node_selectors(condition, scope)
        case _:
            pass


def _find_accepted_node_selectors(
    condition: checked_expr.TypedExpr, scope: checked_selector.PolicyPodScope
) -> Iterator[checked_selector.Selector]:
    """Yield selectors that match every node that passes a `reject` with this condition."""
    match condition:
        case checked_expr.NodeMatch(selector=selector):
            yield checked_selector.SelectorNegation(selector)
        case checked_expr.Not(operand=checked_expr.NodeMatch(selector=selector)):
            yield selector
        case checked_expr.Or(operands=operands):
            for operand in operands:
                yield from _find_accepted_node_selectors(operand, scope)
        case checked_expr.And(operands=operands):
            yield from _find_failing_node_selectors(operands, scope)
        case _:
            compared = pod_value_constraints.split_comparison(condition)
            if compared is not None:
                comparison, is_equal = compared
                for known in _find_known_label(comparison, scope):
                    yield checked_selector.SelectorNegation(known) if is_equal else known


def _find_known_label(
    comparison: checked_expr.NodeLabelIsPodValue, scope: checked_selector.PolicyPodScope
) -> Iterator[checked_selector.LabelRequirement]:
    """Yield the label that a comparison with a value of the pod means for all pods of `scope`.

    It is known if the policy selects pods by one value.
    """
    parts = (
        scope.where.operands
        if isinstance(scope.where, checked_selector.SelectorConjunction)
        else (scope.where,)
    )
    for part in parts:
        match part:
            case checked_selector.LabelRequirement(
                key=key, operator="In", values=(value,), has_patterns=False
            ) if (comparison.value.kind, comparison.value.key) == ("label", key):
                yield checked_selector.LabelRequirement(
                    comparison.key, "In", (value,), comparison.span
                )
            case _:
                pass


def _find_failing_node_selectors(
    operands: Sequence[checked_expr.TypedExpr], scope: checked_selector.PolicyPodScope
) -> Iterator[checked_selector.Selector]:
    """Yield the selector of nodes that fail a condition, if all conditions are about nodes.

    Conditions about pods are ignored if all pods of `scope` meet them.
    """
    rejected = []
    for operand in operands:
        match operand:
            case checked_expr.NodeMatch(selector=selector):
                rejected.append(selector)
            case checked_expr.Not(operand=checked_expr.NodeMatch(selector=selector)):
                rejected.append(checked_selector.SelectorNegation(selector))
            case checked_expr.PodMatch(selector=selector) if selector_sets.does_selector_imply(
                scope.where, selector
            ):
                pass
            case _:
                return
    yield checked_selector.SelectorNegation(checked_selector.SelectorConjunction(tuple(rejected)))
