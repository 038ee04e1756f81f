"""The results of a plan for each pod and each edit, with counts."""

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
    """The kind of difference between the two fates of a pod, most severe first."""

    UNSCHEDULABLE = "unschedulable"
    """The pod gets a node under the old policies and none under the new policies."""
    PROFILE_REMOVED = "profileRemoved"
    """The new policies no longer declare the profile of the pod, so the pod would stay pending."""
    MOVED = "moved"
    """The pod gets a different node."""
    SCHEDULABLE = "schedulable"
    """The pod gets no node under the old policies and one under the new policies."""
    PROFILE_ADDED = "profileAdded"
    """Only the new policies declare the profile of the pod."""
    VICTIMS = "victims"
    """The pod gets the same node, but preemption evicts different pods for it."""
    NODES = "nodes"
    """The pod gets the same node, but the set of feasible nodes differs."""
    REASON = "reason"
    """The pod stays pending, but for a different reason."""
    SAME = "same"


class PlannedPodPhase(enum.Enum):
    """Whether a pod currently has a node."""

    RUNNING = "running"
    PENDING = "pending"


class CauseKind(enum.Enum):
    """How edits cause an outcome."""

    EDIT = "edit"
    """A single edit: undoing it restores the old outcome."""
    TOGETHER = "together"
    """Several edits that act together: undoing any one of them restores the old outcome."""
    SEVERAL = "several"
    """Several sufficient edits: only undoing all of them restores the old outcome."""
    EARLIER_PODS = "earlierPods"
    """Both sides make the same decision for this pod, but they placed earlier pods differently."""
    PROFILE = "profile"
    """The profile of the pod was added or removed."""
    UNKNOWN = "unknown"
    """No set of edits explains the outcome."""


@dataclasses.dataclass(frozen=True, slots=True)
class ChangeCause:
    """The cause of a changed outcome.

    Attributes:
        how: a text that describes the effect on the pod, or "".
    """

    kind: CauseKind
    edits: tuple[profile_edits.ProfileEdit, ...] = ()
    how: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class PodFate:
    """The result for a pod under one side: its node, or the reason why it has none."""

    node: str | None
    feasible: int
    message: str
    victims: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class PodChange:
    """A pod with different fates under the two sides.

    Attributes:
        pod: `namespace/name`.
        node: the node on which it runs; None for a pending pod.
        lost: the number of nodes that are feasible under the old side only.
        gained: the number of nodes that are feasible under the new side only.
        node_lost: whether the node on which it runs is among the lost nodes.
        cause: the edits that cause the change; None for `NODES`, because the reasons for lost nodes
            are reported for all pods together.
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
    """A status that rejects nodes for pods under one side only.

    Attributes:
        answer: the status, with its plugin or rule and its reasons.
        rows: the rejected nodes, bool (N,).
        pods: the number of pods that got the status.
    """

    answer: status.Status
    rows: columns.BoolArray
    pods: int = 0


class RejectionDifferences:
    """Collects, over all pods, the statuses that reject nodes under one side only."""

    def __init__(self) -> None:
        """Start without differences."""
        self._found: dict[status.Status, RejectionDifference] = {}

    def add_rejections(
        self, said: deciding.PlannedDecision, rows: columns.BoolArray, pods: int
    ) -> None:
        """Count the statuses in `said` at `rows`, bool (N,), for `pods` identical pods."""
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
        """Return the differences, those with the most nodes first."""
        return sorted(
            self._found.values(),
            key=lambda each: (-int(each.rows.sum()), each.answer.plugin, each.answer.reasons),
        )


@dataclasses.dataclass(slots=True)
class PodChanges:
    """The results of a plan for all pods.

    Attributes:
        pods: the pods with differences; running pods come first, and each phase is ordered by name.
        considered: the number of compared pods for each phase.
        unserved: the number of pods that neither side serves, for each schedulerName.
        rejects: the statuses that reject nodes under the new side only.
        admits: the statuses that reject nodes under the old side only.
        edits: all edits between profiles that serve pods.
    """

    pods: list[PodChange] = dataclasses.field(default_factory=list)
    considered: Counter[PlannedPodPhase] = dataclasses.field(default_factory=Counter)
    unserved: Counter[str] = dataclasses.field(default_factory=Counter)
    rejects: RejectionDifferences = dataclasses.field(default_factory=RejectionDifferences)
    admits: RejectionDifferences = dataclasses.field(default_factory=RejectionDifferences)
    edits: list[profile_edits.ProfileEdit] = dataclasses.field(default_factory=list)

    def count_pods(self, outcome: PodChangeKind, phase: PlannedPodPhase | None = None) -> int:
        """Return the number of pods with an outcome, in one phase or in both."""
        return sum(each.outcome is outcome and phase in (None, each.phase) for each in self.pods)

    def add_node_differences(
        self, old: deciding.PlannedDecision, new: deciding.PlannedDecision, pods: int
    ) -> tuple[int, int]:
        """Record the nodes that identical pods lose and gain, with reasons; return both counts."""
        before, after = old.get_feasible_mask(), new.get_feasible_mask()
        lost, gained = before & ~after, after & ~before
        if lost.any():
            self.rejects.add_rejections(new, lost, pods)
        if gained.any():
            self.admits.add_rejections(old, gained, pods)
        return int(lost.sum()), int(gained.sum())


def make_one_sided_change(
    pod: objects.Pod,
    phase: PlannedPodPhase,
    served: PodFate,
    outcome: PodChangeKind,
    node: str | None = None,
) -> PodChange:
    """Return the change for a pod whose profile was added or removed.

    `served` is the fate under the side that declares the profile.
    """
    name = pod.spec.scheduler_name
    without = PodFate(None, 0, f"no profile serves the schedulerName {name}")
    is_added = outcome is PodChangeKind.PROFILE_ADDED
    old, new = (without, served) if is_added else (served, without)
    cause = ChangeCause(
        CauseKind.PROFILE, how=f"profile `{name}` is {'added' if is_added else 'removed'}"
    )
    return PodChange(pod.key, phase, outcome, node, old, new, cause=cause)


def classify_pod_change(old: PodFate, new: PodFate, *, has_other_nodes: bool) -> PodChangeKind:
    """Return the kind of difference between two fates."""
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
    """Return the reason why a pod does not stay on its node."""
    row = snap.nodes.row_of.get(node)
    if row is None:
        return f"{node} no longer exists"
    answer = said.get_row_status(row)
    if not answer.is_success:
        by = f" [{answer.plugin}]" if answer.rule is None and answer.plugin else ""
        return f"{node}: {answer.message}{by}"
    return f"{node} still accepts it, but {said.node} has more points" if said.node else ""
