"""What all policy rules have in common."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.compiler.pods import scope
from policysched.framework import cycle_state, events, status
from policysched.framework.scoring import score_table
from policysched.lang.checked import checked
from policysched.plugins import names

RuleT = TypeVar("RuleT", bound="PolicyRule")
ParamsT = ParamSpec("ParamsT")
ResultT = TypeVar("ResultT")


def evaluates(
    method: Callable[Concatenate[RuleT, ParamsT], ResultT],
) -> Callable[Concatenate[RuleT, ParamsT], ResultT]:
    """Wrap a method that evaluates a rule: a fault, which is a bug, names the rule."""

    @functools.wraps(method)
    def evaluate(rule: RuleT, /, *args: ParamsT.args, **kwargs: ParamsT.kwargs) -> ResultT:
        try:
            return method(rule, *args, **kwargs)
        except Exception as fault:
            fault.add_note(f"while evaluating policy rule {rule.head.name} at {rule.head.span}")
            raise

    return evaluate


class PolicyRule:
    """A rule of a policy, in the role of a plugin.

    Attributes:
        head: name, place and text of the rule.
        scope: the pods that it acts on.
    """

    name = names.POLICY

    def __init__(self, head: checked.RuleHead, rule_scope: scope.RuleScope) -> None:
        """Act on the pods of `rule_scope`."""
        self.head = head
        self.scope = rule_scope

    @property
    def rule_ref(self) -> status.RuleRef:
        """The reference to the rule that its answers carry."""
        return rule_ref(self.head)

    @property
    def kept_under(self) -> str:
        """Key in a CycleState for what this rule alone remembers."""
        return f"{self.name}/{id(self)}"

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the rule acts on pods of `shape` now."""
        return self.scope.applies_to(state, shape, snap)

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Leave it to `requeue.PolicyEvents`, which looks at all rules together."""
        return ()

    def rejection(self, code: status.Code, default_reason: str) -> status.Status:
        """Return the answer for nodes that the rule rejects, with its own message if it has one."""
        if self.head.forbids_preemption:
            code = status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        reason = self.head.message or default_reason
        return status.Status(code, (reason,), self.name, rule_ref(self.head))

    def lacks_label(self, topology_key: str) -> status.Status:
        """Return the answer for nodes that lack the label of the rule's topology."""
        return self.rejection(
            status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            f"node(s) didn't match policy {self.head.name} (missing label {topology_key})",
        )


class ScoreRule(PolicyRule):
    """A rule that gives points, counted in hundredths."""

    units_per_point = score_table.HUNDREDTHS

    def __init__(self, head: checked.RuleHead, rule_scope: scope.RuleScope, weight: int) -> None:
        """Add `weight` × points to the score pool."""
        super().__init__(head, rule_scope)
        self.weight = weight
        self.score_name = head.name


def rule_ref(head: checked.RuleHead) -> status.RuleRef:
    """Return the reference to a rule that answers carry: its name without that of the policy."""
    short = head.name.removeprefix(f"{head.policy}/")
    return status.RuleRef(head.policy, short, head.span.line)
