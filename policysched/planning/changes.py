"""What a plan says: of each pod, of each edit, and in numbers."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import objects
from policysched.framework import status
from policysched.planning import deciding, profile_edits


class PodChangeKind(enum.Enum):
    """How a pod's future differs, the gravest first."""

    UNSCHEDULABLE = "unschedulable"
    """It had a node and gets none."""
    PROFILE_REMOVED = "profileRemoved"
    """The new policies no longer declare its profile: it would stay pending."""
    MOVED = "moved"
    """It goes to another node."""
    SCHEDULABLE = "schedulable"
    """It had no node and gets one."""
    PROFILE_ADDED = "profileAdded"
    """Only the new policies declare its profile."""
    VICTIMS = "victims"
    """It goes where it went, but other pods are evicted for it."""
    NODES = "nodes"
    """It goes where it went, but other nodes take it."""
    REASON = "reason"
    """It stays pending for another reason."""
    SAME = "same"


class PlannedPodPhase(enum.Enum):
    """What a pod does now."""

    RUNNING = "running"
    PENDING = "pending"


class CauseKind(enum.Enum):
    """How edits lead to an outcome."""

    EDIT = "edit"
    """One edit: without it the outcome would be the old one."""
    TOGETHER = "together"
    """Several edits, of which each is needed: without any of them it would be the old one."""
    SEVERAL = "several"
    """Several edits, of which each is enough: it would be the old one only without all of them."""
    EARLIER_PODS = "earlierPods"
    """Both sides decide alike about this pod now; pods before it went elsewhere."""
    PROFILE = "profile"
    """Its profile was added or removed."""
    UNKNOWN = "unknown"
    """No set of edits explains it."""


@dataclasses.dataclass(frozen=True, slots=True)
class ChangeCause:
    """Why an outcome is another one.

    Attributes:
        how: what it does to the pod, in words.
    """

    kind: CauseKind
    edits: tuple[profile_edits.ProfileEdit, ...] = ()
    how: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class PodFate:
    """What becomes of a pod under one side."""

    node: str | None
    feasible: int
    message: str
    victims: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class PodChange:
    """A pod whose future differs.

    Attributes:
        pod: `namespace/name`.
        node: where it runs, None for a pending pod.
        lost: how many nodes took it before and do not now.
        gained: how many nodes take it now and did not before.
        node_lost: whether the node that it runs on is one that it lost.
        cause: None where it stays: which rules it loses nodes by is told of all pods together.
    """

    pod: str
    phase: PlannedPodPhase
    outcome: PodChangeKind
    node: str | None
    old: PodFate
    new: PodFate
    lost: int = 0
    gained: int = 0
    node_lost: bool = False
    cause: ChangeCause | None = None


@dataclasses.dataclass(slots=True)
class RejectionDifference:
    """A reason for which nodes do not take pods, on one side and not on the other.

    Attributes:
        answer: who says it, and why.
        rows: bool (N,), the nodes.
        pods: how many pods it is said to.
    """

    answer: status.Status
    rows: columns.BoolArray
    pods: int = 0


class RejectionDifferences:
    """Reasons that newly hold, or hold no more, over all pods."""

    def __init__(self) -> None:
        """Start with none."""
        self._found: dict[status.Status, RejectionDifference] = {}

    def add_rejections(
        self, said: deciding.PlannedDecision, rows: columns.BoolArray, pods: int
    ) -> None:
        """Count what was said to `pods` equal pods about `rows`, bool (N,)."""
        numbers = said.ids[rows]
        for number in np.unique(numbers).tolist():
            answer = said.statuses[max(number, 0)]
            verdict = self._found.get(answer)
            if verdict is None:
                verdict = self._found[answer] = RejectionDifference(
                    answer, np.zeros(len(rows), np.bool_)
                )
            verdict.rows |= rows & (said.ids == number)
            verdict.pods += pods

    def list_by_node_count(self) -> list[RejectionDifference]:
        """Return them, those about the most nodes first."""
        return sorted(
            self._found.values(),
            key=lambda each: (-int(each.rows.sum()), each.answer.plugin, each.answer.reasons),
        )


@dataclasses.dataclass(slots=True)
class PodChanges:
    """Everything that a plan found out about pods.

    Attributes:
        pods: that differ, running ones first, by name.
        considered: how many pods were looked at, by phase.
        unserved: pods that no profile of either side serves, by schedulerName.
        rejects: reasons that newly keep pods off nodes.
        admits: reasons that do so no more.
        edits: every edit between profiles that decide pods.
    """

    pods: list[PodChange] = dataclasses.field(default_factory=list)
    considered: Counter[PlannedPodPhase] = dataclasses.field(default_factory=Counter)
    unserved: Counter[str] = dataclasses.field(default_factory=Counter)
    rejects: RejectionDifferences = dataclasses.field(default_factory=RejectionDifferences)
    admits: RejectionDifferences = dataclasses.field(default_factory=RejectionDifferences)
    edits: list[profile_edits.ProfileEdit] = dataclasses.field(default_factory=list)

    def count_pods(self, outcome: PodChangeKind, phase: PlannedPodPhase | None = None) -> int:
        """Return how many pods have an outcome."""
        return sum(each.outcome is outcome and phase in (None, each.phase) for each in self.pods)

    def add_node_differences(
        self, old: deciding.PlannedDecision, new: deciding.PlannedDecision, pods: int
    ) -> tuple[int, int]:
        """Count the nodes that equal pods lose and gain, with the reasons; return how many."""
        before, after = old.get_feasible_mask(), new.get_feasible_mask()
        lost, gained = before & ~after, after & ~before
        if lost.any():
            self.rejects.add_rejections(new, lost, pods)
        if gained.any():
            self.admits.add_rejections(old, gained, pods)
        return int(lost.sum()), int(gained.sum())


def make_profile_change(
    pod: objects.Pod,
    phase: PlannedPodPhase,
    served: PodFate,
    outcome: PodChangeKind,
    node: str | None = None,
) -> PodChange:
    """Return the change of a pod whose profile was added or removed; `served` is with it."""
    name = pod.spec.scheduler_name
    without = PodFate(None, 0, f"no profile serves the schedulerName {name}")
    is_added = outcome is PodChangeKind.PROFILE_ADDED
    old, new = (without, served) if is_added else (served, without)
    cause = ChangeCause(
        CauseKind.PROFILE, how=f"profile `{name}` is {'added' if is_added else 'removed'}"
    )
    return PodChange(pod.key, phase, outcome, node, old, new, cause=cause)


def classify_pod_change(old: PodFate, new: PodFate, *, has_other_nodes: bool) -> PodChangeKind:
    """Return how two fates differ."""
    if old.node != new.node:
        if new.node is None:
            return PodChangeKind.UNSCHEDULABLE
        return PodChangeKind.SCHEDULABLE if old.node is None else PodChangeKind.MOVED
    if old.node is None:
        return PodChangeKind.SAME if old.message == new.message else PodChangeKind.REASON
    if set(old.victims) != set(new.victims):
        return PodChangeKind.VICTIMS
    return PodChangeKind.NODES if has_other_nodes else PodChangeKind.SAME


def explain_leaving_node(node: str, said: deciding.PlannedDecision, snap: snapshot.Snapshot) -> str:
    """Return why a pod does not stay on a node."""
    row = snap.nodes.row_of.get(node)
    if row is None:
        return f"{node} is gone"
    answer = said.get_row_status(row)
    if not answer.is_success:
        by = f" [{answer.plugin}]" if answer.rule is None and answer.plugin else ""
        return f"{node}: {answer.message}{by}"
    return f"{node} still takes it, {said.node} has more points" if said.node else ""
