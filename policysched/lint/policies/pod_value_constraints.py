"""Requirements that rules place on labels of nodes by values of the pod: `tenant = pod(tenant)`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from policysched.lang.checked import checked, checked_expr, checked_selector
from policysched.lint.sets import selector_sets


@dataclasses.dataclass(frozen=True, slots=True)
class PodValueConstraint:
    """A comparison that each remaining node meets; a pod without the value fits on no node.

    Attributes:
        rule: the rule that rejects the other nodes.
        comparison: the label of the node and the value of the pod.
        is_equal: whether they must be equal; otherwise they must differ.
    """

    rule: checked.Rule
    comparison: checked_expr.NodeLabelIsPodValue
    is_equal: bool

    def excludes(self, other: PodValueConstraint) -> bool:
        """Return whether no node meets both constraints, whatever the value of the pod."""
        is_same = self.comparison == other.comparison
        return is_same and self.is_equal is not other.is_equal

    def is_never_met(self, scope: checked_selector.PolicyPodScope) -> bool:
        """Return whether no pod of a policy has the value."""
        value, span = self.comparison.value, self.comparison.span
        if value.kind != "label":
            return False
        has_label = checked_selector.LabelRequirement(value.key, "Exists", (), span)
        return selector_sets.can_never_match_together(scope.where, has_label)


def find_pod_value_constraints(each: checked.Rule) -> Iterator[PodValueConstraint]:
    """Yield the constraints of a rule that also rejects nodes for pods without the value."""
    if not isinstance(each, checked.RejectRule) or each.until or each.on_missing != "reject":
        return
    is_any = isinstance(each.condition, checked_expr.Or)
    for part in checked_expr.list_operands(each.condition) if is_any else (each.condition,):
        found = split_comparison(part)
        if found is not None:
            comparison, rejects_equal = found
            yield PodValueConstraint(each, comparison, is_equal=not rejects_equal)


def split_comparison(
    condition: checked_expr.TypedExpr,
) -> tuple[checked_expr.NodeLabelIsPodValue, bool] | None:
    """Return a comparison with a value of the pod, and whether it holds if both are equal.

    Return None for other conditions.
    """
    is_equal = True
    while isinstance(condition, checked_expr.Not):
        condition, is_equal = condition.operand, not is_equal
    if not isinstance(condition, checked_expr.NodeLabelIsPodValue):
        return None
    return condition, is_equal
