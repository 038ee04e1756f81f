"""The contracts of plugins, one Protocol an extension point.

They are those of the Kubernetes scheduling framework (`k8s.io/kube-scheduler/framework`), with one
difference: Filter and Score are asked about many nodes at once and answer with arrays.

    PreEnqueue → QueueSort → PreFilter → Filter → (PostFilter) → PreScore → Score → NormalizeScore
    → Reserve → Permit → PreBind → Bind → PostBind          (Unreserve when anything after fails)

Everything up to Permit is synchronous and free of I/O. PreBind, Bind and PostBind are coroutines.
A plugin implements any number of these by having the methods; it needs no base class.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import (
    apart,
    comparison,
    cycle_state,
    events,
    extender_answers,
    preemption_limits,
    queued_pod,
    status,
)

RawScores: TypeAlias = npt.NDArray[Any]
"""(n,) int64 or float64: what a Score plugin says before its scores are normalised.

Any stands for the one of the two that a plugin uses; its own annotations say which.
"""

MAX_NODE_SCORE = 100
"""Highest score of one plugin for one node (framework/interface.go)."""


class Reads(enum.Flag):
    """What a Filter or Score answer depends on, besides the pod's shape, nodeName and tolerations.

    The framework keeps the answer of a plugin for all equal pods and asks again only about rows
    that changed. A plugin that names less than it reads gives stale answers; an empty or missing
    value means ANYTHING. If answers hold for a limited time, the plugin calls
    `CycleState.expire_at`.
    """

    NODE = enum.auto()
    """The node object of the same row."""
    USAGE = enum.auto()
    """Pods placed on the same row: requests, ports, their number."""
    AMOUNTS = enum.auto()
    """Allocatable amounts of the same row, and requests and number of the pods placed on it. If
    this is all, nodes with the same amounts share answers."""
    ALL_NODES = enum.auto()
    """Node objects of other rows too: any change of any node asks again about all."""
    METRICS = enum.auto()
    """Metric samples: every refresh asks again about all nodes."""
    PODS = enum.auto()
    """Pods on other nodes. Only rules of policies can declare this: they report themselves which
    domains changed (`domain_filters`, `compared_scores`). Other plugins declare ANYTHING."""
    ANYTHING = enum.auto()
    """Anything else, such as pods on other nodes: the answer is never kept."""

    @property
    def has_own_pods(self) -> bool:
        """Whether the answer depends on pods placed on the same row."""
        return bool(self & (Reads.USAGE | Reads.AMOUNTS))

    @property
    def has_placed_pods(self) -> bool:
        """Whether the answer depends on placed pods, on any row."""
        return self.has_own_pods or Reads.PODS in self


@runtime_checkable
class Plugin(Protocol):
    """What all plugins have: a name. It appears in reasons, scores, metrics and profiles."""

    name: str


class ScopedPlugin(Plugin, Protocol):
    """Has something to say about some pods only, and knows them by their shape.

    Policies have many rules, of which most are about other pods; those cost nothing per pod.
    """

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return False to be left out of PreFilter, Filter, PreScore and Score for equal pods.

        It is left out of Reserve, Unreserve and PreBind, too; of Permit and Bind, it is not.

        Asked once for all equal pods; an answer that holds for a limited time says so by
        `CycleState.expire_at`, one that reads labels of namespaces need not.
        """
        ...


class SharingPlugin(Plugin, Protocol):
    """Remembers something about each shape of pods."""

    def shares(self, state: cycle_state.CycleState, shape: pod_shape.PodShape) -> None:
        """Take note of a shape before answers about it are used.

        They may have been given for another shape, which differs in what this plugin does not read.
        """
        ...


class KeyedPlugin(Plugin, Protocol):
    """Reads so little of a pod that pods of many shapes are equal to it.

    Its answers at Filter and Score are kept once for all of them that have the same tolerations and
    `spec.nodeName`. These answers must not expire. They must not depend on values of PreFilter and
    PreScore that are computed from more than the key.
    """

    def answer_key(self, shape: pod_shape.PodShape) -> Hashable:
        """Return what Filter and Score read of pods of a shape."""
        ...


class EvidencePlugin(Plugin, Protocol):
    """Can say what it saw when it rejected nodes: values, of which each node has another one.

    A reason must not hold them, since reasons group nodes and stand in conditions.
    """

    def evidence(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot, diagnosis: Diagnosis
    ) -> str:
        """Return a text for the event of a pod that fits nowhere, "" for nothing to tell."""
        ...


class NodeEvidencePlugin(Plugin, Protocol):
    """Can give the numbers and names behind a reason for which it rejected one node.

    Asked for people, once Filter has answered; Filter itself computes none of it.
    """

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return a text about the only node of the view, "" for nothing to add to `reason`.

        `state` has the pod's tolerations and nothing that other extension points have written.
        """
        ...


class PreEnqueuePlugin(Plugin, Protocol):
    """Decides whether a pod may enter activeQ at all."""

    def pre_enqueue(self, pod: pod_shape.PodInfo) -> status.Status:
        """Return success, or a rejection that keeps the pod gated."""
        ...


class QueueSortPlugin(Plugin, Protocol):
    """Orders activeQ; exactly one per process."""

    def sort_key(self, pod: queued_pod.QueuedPodInfo) -> tuple[object, ...]:
        """Return a tuple of numbers and texts; smaller ones are scheduled first."""
        ...


class EventsPlugin(Plugin, Protocol):
    """Says which events may make a pod schedulable that this plugin rejected."""

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Return the events; a plugin without this method is retried on every event."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class PreFilterResult:
    """Answer of PreFilter.

    `node_names` narrows the nodes to be filtered (None: all). SKIP leaves the plugin's Filter out
    for this pod; a rejection ends the cycle.
    """

    status: status.Status = status.SUCCESS
    node_names: frozenset[str] | None = None


ALL_NODES = PreFilterResult()
SKIP_FILTER = PreFilterResult(status.SKIP)
"""What is answered most."""


class PreFilterPlugin(Plugin, Protocol):
    """Looks at the pod once before nodes are filtered."""

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> PreFilterResult:
        """Compute what Filter needs into `state`."""
        ...


class FilterPlugin(Plugin, Protocol):
    """Decides on which nodes the pod can run."""

    @property
    def reads(self) -> Reads:
        """What the answers depend on; usually a class attribute."""
        ...

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        ...


class RowWriter(Protocol):
    """Knows what a pod requests, and writes a number for each of some rows."""

    def write(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp], out: npt.NDArray[Any]
    ) -> None:
        """Write `out[..., rows]`; `rows` is intp (m,), and `out` has N entries."""
        ...


class CodeWriter(RowWriter, Protocol):
    """Writes int32 codes: 0 if the pod fits, else what says why it does not."""

    def describe(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp], codes: npt.NDArray[np.int32]
    ) -> status.NodeStatuses:
        """Return the answers that int32 (m,) codes of `rows`, intp (m,), stand for.

        Asked whenever all rows were written, or one of the codes is not 0.
        """
        ...


class RowFilterPlugin(FilterPlugin, Protocol):
    """Prepares Filter once for equal pods, so that it can be asked about one row at little cost."""

    def make_filter_writer(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> CodeWriter:
        """Return what writes and describes the answers that `filter` returns."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class PostFilterResult:
    """Answer of PostFilter: success names the node on which room is being made.

    Attributes:
        status: SUCCESS, or why no room can be made.
        nominated_node_name: the node; "" takes back an older nomination of the pod, since no
            preemption helps it any more; None leaves that alone, for instance while victims of an
            earlier attempt are still terminating.
        victims: pods that have to go from the node, the most important one first. The scheduler
            evicts those that are not going already.
        write: writes what may help the pod later, and returns whether that succeeded; the scheduler
            starts it, and retries the pod if it failed. None for nothing to write.
    """

    status: status.Status
    nominated_node_name: str | None = None
    victims: tuple[pod_shape.PodInfo, ...] = ()
    write: Callable[[], Awaitable[bool]] | None = None


class PostFilterPlugin(Plugin, Protocol):
    """Acts when no node is feasible (preemption)."""

    def post_filter(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: Diagnosis,
    ) -> PostFilterResult:
        """Return success when the pod may become schedulable on a nominated node."""
        ...


class PreScorePlugin(Plugin, Protocol):
    """Looks at the pod once before the feasible nodes are scored."""

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Compute what Score needs; SKIP leaves the plugin's Score out, ERROR ends the cycle.

        `nodes` are the feasible nodes for a plugin that reads ANYTHING, else all rows.
        """
        ...


class ScorePlugin(Plugin, Protocol):
    """Ranks nodes.

    Two optional attributes serve policy rules, of which many share one plugin name: `score_name`
    (default: `name`) is the key of the weight and of the score table, `units_per_point` (default 1)
    says how finely the final scores are counted, 100 for hundredths.
    """

    @property
    def reads(self) -> Reads:
        """What the raw scores depend on; usually a class attribute."""
        ...

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> RawScores:
        """Return (n,) raw scores: int64, 0 to 100 units unless normalised, or float64 to be so."""
        ...


class RowScorePlugin(ScorePlugin, Protocol):
    """Prepares Score once for equal pods, so that it can be asked about one row at little cost."""

    def make_score_writer(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> RowWriter:
        """Return what writes the scores that `score` returns."""
        ...


class PartlyKeptScorePlugin(ScorePlugin, Protocol):
    """Scores pods of some shapes by more than `reads` has."""

    def keeps_scores(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> bool:
        """Return False if Score reads ANYTHING for pods of a shape; asked once for all of them."""
        ...


class NormalizeScorePlugin(Plugin, Protocol):
    """Brings raw scores into the range 0 to 100."""

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: RawScores
    ) -> columns.IntArray:
        """Return int64 (f,): final points for the raw scores of the f feasible nodes.

        `scores` have the dtype that `score` gave them; NaN in float64 marks a node without data.
        """
        ...


class ComparingPlugin(NormalizeScorePlugin, Protocol):
    """Declares how final scores are computed from raw ones; it must not read ANYTHING.

    The framework caches the final scores, and updates them when raw scores or feasible nodes
    change.
    """

    @property
    def comparison(self) -> comparison.Comparison:
        """What `normalize_score` does."""
        ...


class AtOnceScorePlugin(NormalizeScorePlugin, Protocol):
    """Reads ANYTHING and can answer PreScore, Score and NormalizeScore in one go, which is faster.

    It is asked so unless somebody measures the three apart.
    """

    def score_at_once(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        nodes: snapshot.NodeView,
        factor: int,
    ) -> columns.IntArray | int | status.Status:
        """Return int64 (f,): `factor` times the final points, all of them from 0 to 100.

        A single number where all are the same; what PreScore answers where that is not success.
        """
        ...


class ReservePlugin(Plugin, Protocol):
    """Keeps books of its own about where pods go."""

    def reserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Claim what the pod needs on the node."""
        ...

    def unreserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Give it back; called for all plugins when anything after Reserve fails."""
        ...


class PermitPlugin(Plugin, Protocol):
    """Approves, rejects or delays a binding."""

    def permit(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> tuple[status.Status, float]:
        """Return the answer and, for WAIT, after how many seconds waiting is a rejection."""
        ...


class PreBindPlugin(Plugin, Protocol):
    """Prepares the node or the cluster for the pod.

    One that often has nothing to do says so by the method of `PreBindPreFlightPlugin`; all others
    are taken to have work for every pod.
    """

    async def pre_bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Return success when the pod may be bound."""
        ...


class PreBindPreFlightPlugin(PreBindPlugin, Protocol):
    """Says before Permit is waited for whether its PreBind will have work (KEP-5278)."""

    def pre_bind_pre_flight(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Return SUCCESS when there is work, SKIP to be left out of PreBind, or ERROR."""
        ...


class AssumingPlugin(PreBindPlugin, Protocol):
    """Can assume the writes of its PreBind, if nothing is written (`simulate`)."""

    def assume_written(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Change the plugin's state as the writes of PreBind would."""
        ...


class BindPlugin(Plugin, Protocol):
    """Tells the API server; the first plugin that does not SKIP decides."""

    async def bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Bind the pod to the node."""
        ...


class PostBindPlugin(Plugin, Protocol):
    """Is told of a pod that was bound."""

    async def post_bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Clean up or take notes; the outcome cannot change any more."""
        ...


@dataclasses.dataclass(slots=True)
class Diagnosis:
    """Why no node was feasible.

    Attributes:
        ids: int16 (N,), index into `statuses`: the first failing plugin of each row, -1 if dead.
        statuses: the distinct answers; `statuses[0]` is SUCCESS.
        unschedulable_plugins: names of all plugins that rejected the pod or a node.
        pending_plugins: names of plugins that answered PENDING.
        pre_filter: set when PreFilter ended the cycle for all nodes.
        unasked: names of plugins whose PreFilter was left out, as one before them ended it.
        post_filter_message: what PostFilter had to say.
        refilter: asks Filter again, for plugins that make room; None where no cycle stands behind.
        preemption_limits: what policies forbid the pods of the profile; None for nothing.
        extenders: what HTTP extenders answered about the pod; None if none is interested.
    """

    ids: npt.NDArray[np.int16]
    statuses: list[status.Status]
    unschedulable_plugins: set[str] = dataclasses.field(default_factory=set)
    pending_plugins: set[str] = dataclasses.field(default_factory=set)
    pre_filter: status.Status | None = None
    unasked: frozenset[str] = frozenset()
    post_filter_message: str = ""
    refilter: apart.Refilter | None = None
    preemption_limits: preemption_limits.PreemptionLimits | None = None
    extenders: extender_answers.ExtenderAnswers | None = None
