"""Repeats the decision about a pod, as if a shadow policy were in force.

The second decision sees the same snapshot and the same answers of HTTP extenders, and changes
nothing: PreFilter, Filter, PreScore and Score are pure, PostFilter and all that follows is not
asked.
"""

from __future__ import annotations

import dataclasses
import enum
import logging
from collections.abc import Callable, Iterable

from policysched.cluster import snapshot
from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime

_log = logging.getLogger(__name__)


class Outcome(enum.Enum):
    """What the policy would have changed."""

    SAME_NODE = "sameNode"
    OTHER_NODE = "otherNode"
    STILL_UNSCHEDULABLE = "stillUnschedulable"
    NEWLY_UNSCHEDULABLE = "newlyUnschedulable"
    NEWLY_SCHEDULABLE = "newlySchedulable"
    FAILED = "failed"


CHANGES = frozenset({Outcome.OTHER_NODE, Outcome.NEWLY_UNSCHEDULABLE, Outcome.NEWLY_SCHEDULABLE})
"""Outcomes in which the policy would have made a difference."""


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """What would have become of a pod.

    Attributes:
        policy: name of the shadow policy.
        node_name: where the pod would have gone, None for nowhere.
        message: why nowhere, or what failed; "" else.
    """

    policy: str
    outcome: Outcome
    node_name: str | None = None
    message: str = ""

    def as_json(self) -> dict[str, object]:
        """Return it in the form that `explain` and `simulate` have."""
        return {
            "policy": self.policy,
            "outcome": self.outcome.value,
            "node": self.node_name,
            "message": self.message,
        }


class Candidate:
    """A profile with one shadow policy in force.

    Attributes:
        policy: name of the shadow policy.
    """

    def __init__(
        self,
        policy: str,
        framework: runtime.Framework,
        concerns: Callable[[pod_shape.PodShape, pod_counts.NamespaceLabels], bool],
    ) -> None:
        """Decide by `framework` the pods that the policy `concerns`.

        The framework has plugins of its own and no chance, so that real decisions, what is kept
        for them and their order of chance are the same without it.
        """
        self.policy = policy
        self._framework = framework
        self._concerns = concerns
        self._has_told = False

    def concerns(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> bool:
        """Return whether the policy has a say about the pod."""
        return self._concerns(pod.shape, snap.counts.namespaces)

    def decide(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot, real: runtime.ScheduleResult
    ) -> Verdict:
        """Return what the policy would have changed about a `real` decision; never raises.

        Where several nodes are equally good the pod counts as staying on its own, if that is one
        of them.
        """
        try:
            result = self._framework.schedule_pod(pod, snap, real.extenders)
        except Exception as error:  # noqa: BLE001 - plugins are third-party code
            # Whatever breaks here must not cost the pod its real decision.
            if not self._has_told:
                _log.exception("deciding %s by shadow policy %s failed", pod.key, self.policy)
                self._has_told = True
            return Verdict(self.policy, Outcome.FAILED, message=f"{type(error).__name__}: {error}")
        return _compare(self.policy, result, real, snap)


def decide_all(
    candidates: Iterable[Candidate],
    pod: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    real: runtime.ScheduleResult,
) -> list[Verdict]:
    """Return the verdicts of those candidates that have a say about a decided pod."""
    if not is_decision(real):
        return []
    return [each.decide(pod, snap, real) for each in candidates if each.concerns(pod, snap)]


def is_decision(real: runtime.ScheduleResult) -> bool:
    """Return whether a cycle came to a decision, not to an error."""
    return real.status.is_success or real.status.is_rejection


def _compare(
    policy: str,
    result: runtime.ScheduleResult,
    real: runtime.ScheduleResult,
    snap: snapshot.Snapshot,
) -> Verdict:
    if not is_decision(result):
        return Verdict(policy, Outcome.FAILED, message=result.message)
    if result.node_name is None:
        is_new = real.node_name is not None
        outcome = Outcome.NEWLY_UNSCHEDULABLE if is_new else Outcome.STILL_UNSCHEDULABLE
        return Verdict(policy, outcome, message=result.message)
    if real.node_name is None:
        return Verdict(policy, Outcome.NEWLY_SCHEDULABLE, result.node_name)
    if is_best(result, real.node_name, snap):
        return Verdict(policy, Outcome.SAME_NODE, real.node_name)
    return Verdict(policy, Outcome.OTHER_NODE, result.node_name)


def is_best(result: runtime.ScheduleResult, node_name: str, snap: snapshot.Snapshot) -> bool:
    """Return whether no node is better than `node_name` by the points of a result."""
    if result.scores is None:
        return result.node_name == node_name
    return bool((result.scores.best_rows() == snap.nodes.row_of.get(node_name, -1)).any())
