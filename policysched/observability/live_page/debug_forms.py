"""The forms of the pages below /debug/ that `policysched ui --decisions` reads.

The process encodes them, and the page decodes them: a field that one side does not know is dropped.
schemas/page-*.schema.json describe the same forms.
"""

from __future__ import annotations

import msgspec

from policysched.observability.live_page import version_forms

FORM = 1
"""Increases when a page changes so that older readers cannot use it."""

STATUS_PATH = "/debug/status"
QUEUE_PATH = "/debug/queue"
VERSIONS_PATH = "/debug/versions"
RULES_PATH = "/debug/rules"
CLUSTER_PATH = "/debug/cluster"
NODE_PATH = "/debug/node"
EXPLAIN_PATH = "/debug/explain"


class RuleWithoutSamples(msgspec.Struct, frozen=True, rename="camel"):
    """A rule without a valid sample of a metric on any node.

    Attributes:
        rule: `POLICY/RULE`.
        holds_pods: whether pods wait for it (`onOutage hold`), instead of going without.
    """

    rule: str
    profile: str
    metric: str
    holds_pods: bool


class DownSource(msgspec.Struct, frozen=True):
    """A metrics source that was found to be down at the ISO 8601 time `since`, "" if unknown."""

    name: str
    since: str
    problem: str


class StatusDocument(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The state of one process, for the header of the page.

    Attributes:
        form: see `FORM`.
        version: the version of policysched.
        process: host name of the process, which is the name of its pod.
        namespace: namespace of the pod; "" outside a cluster.
        started_at: identifies the run of the process, ISO 8601.
        is_leading: whether the process decides about pods.
        is_dry_run: whether the process never writes.
        lease: the lease of leader election as `namespace/name`; "" without leader election.
        lease_holder: identity of the leader; "" if it is unknown or there is no lease.
        origin: source of the policies.
        hash: the version of the policies in use, as in decisions; "" without policies.
        since: time at which this version came into use, ISO 8601.
        is_frozen: whether other versions are held back.
        refused: the newest version if it is refused or was rolled back.
        profiles: names of the profiles.
        nodes, placed: numbers of nodes and of placed pods.
        pending: number of waiting pods, keyed by the name of the queue.
        decisions: number of ended scheduling attempts since the start.
        generation: increases with every change of nodes, pods, queues, samples and policies.
        down_sources: the metrics sources that do not answer.
        rules_without_samples: the rules that are skipped, or for which pods wait.
        rollout: hash of the new version in the running rollout, and its stage; "" without one.
    """

    form: int
    version: str
    process: str
    namespace: str
    started_at: str
    is_leading: bool
    is_dry_run: bool
    lease: str
    lease_holder: str
    origin: str
    hash: str
    since: str
    is_frozen: bool
    refused: version_forms.RefusedVersion | None
    profiles: list[str]
    nodes: int
    placed: int
    pending: dict[str, int]
    decisions: int
    generation: int
    down_sources: list[DownSource] = []
    rules_without_samples: list[RuleWithoutSamples] = []
    rollout: str = ""


class DecisionRow(msgspec.Struct, frozen=True, array_like=True):
    """An ended scheduling attempt as a JSON array, because there can be hundreds per second.

    Attributes:
        number: position in the stream of ended attempts, from 1.
        pod, uid: `namespace/name`, and the uid.
        result: scheduled, unschedulable or error.
        node: the chosen node; "" if there is none.
        feasible, nodes: numbers of feasible nodes and of all nodes.
        hash: the version of the policies.
        time: wall-clock time of the snapshot, ISO 8601.
        seconds: duration of the attempt, without the time in queues.
        message: why the pod has no node, truncated.
        by: for a chosen node, the rule that gave it the largest lead over the next best node;
            otherwise the filter that rejected the most nodes. "" if there is none.
        amount: this lead in points, or this number of nodes.
        rollout_stage: hash of the new version in the running rollout, and its stage; "" without a
            rollout, and from a scheduler of an earlier release.
    """

    number: int
    pod: str
    uid: str
    profile: str
    result: str
    node: str
    feasible: int
    nodes: int
    hash: str
    time: str
    seconds: float
    message: str
    by: str
    amount: float
    rollout_stage: str = ""


class RowsDocument(msgspec.Struct, frozen=True, rename="camel"):
    """Ended attempts after a number.

    Attributes:
        started_at: identifies the run of the process; another run has other numbers.
        next: number of the newest attempt; ask with `after=` this number for later ones.
        missed: attempts after the number that are not among the rows.
        rows: oldest first.
    """

    started_at: str
    next: int
    missed: int
    rows: list[DecisionRow]


class WaitingPod(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A pod that waits in a queue.

    Attributes:
        queue: active, backoff, unschedulable or gated.
        since: when it was last put into a queue, ISO 8601.
        attempts: scheduling attempts so far.
        backoff_until: end of its backoff, ISO 8601; "" if there is none.
        plugins: the plugins that rejected it in the last attempt, or that gate it.
        message: of the last failed attempt; "" before the first.
        nominated_node: node on which preemption makes room; "" if there is none.
        created_at: when it was created, ISO 8601; "" if this is unknown.
        retry_at: when it is tried again at the latest, ISO 8601; "" if it is ready, or gated.
        rejected_by: the rules (`POLICY/RULE`) and plugins that rejected nodes in its last kept
            decision, those that rejected the most first.
        gates: the names of its scheduling gates.
    """

    pod: str
    uid: str
    profile: str
    priority: int
    queue: str
    since: str
    attempts: int
    backoff_until: str
    plugins: list[str]
    message: str
    nominated_node: str
    created_at: str = ""
    retry_at: str = ""
    rejected_by: list[str] = []
    gates: list[str] = []


class UnservedPod(msgspec.Struct, frozen=True, rename="camel"):
    """A pod without a node whose schedulerName has no profile here."""

    pod: str
    scheduler_name: str


class QueueDocument(msgspec.Struct, frozen=True, rename="camel"):
    """The pods that wait.

    Attributes:
        now: time of the answer by the clock of the process, ISO 8601.
        in_flight: number of pods that are being scheduled or bound.
        total: number of waiting pods, keyed by the name of the queue.
        pods: at most as many as were asked for.
        unserved_count: number of pods without a node whose schedulerName has no profile here.
        unserved: these pods, at most as many as were asked for.
    """

    now: str
    in_flight: int
    total: dict[str, int]
    pods: list[WaitingPod]
    unserved_count: int = 0
    unserved: list[UnservedPod] = []


class RuleCount(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A rule of a profile, with its effect since the version was loaded.

    Attributes:
        name: `POLICY/RULE`.
        file, line, column: place of its text.
        length: number of characters of its text.
        weight: None for a rule that gives no points.
        is_of_profile: whether the profile lists the policy; otherwise placed pods that the policy
            selects repel the pods of this profile.
        attempts: number of attempts in which it rejected nodes.
        rejected: number of rejections of nodes, over all attempts.
        led: number of decisions in which it gave the chosen node its largest lead.
    """

    name: str
    policy: str
    kind: str
    text: str
    file: str
    line: int
    weight: int | None
    attempts: int
    rejected: int
    is_of_profile: bool = True
    column: int = 1
    length: int = 0
    led: int = 0


class ProfileRules(msgspec.Struct, frozen=True):
    """The rules of one profile in their order; `compared` decisions were between several nodes."""

    name: str
    rules: list[RuleCount]
    compared: int = 0


class RulesDocument(msgspec.Struct, frozen=True):
    """The rules in use.

    Attributes:
        since: time since which they are counted, ISO 8601.
    """

    hash: str
    since: str
    profiles: list[ProfileRules]


class LabelColumnForm(msgspec.Struct, frozen=True):
    """The values of a label: `of` has the index of each node's value, -1 without the label."""

    values: list[str]
    of: list[int]


class AmountColumnsForm(msgspec.Struct, frozen=True):
    """Used and available amounts of each node."""

    used: list[int]
    of: list[int]


class NodeColumnsForm(msgspec.Struct, frozen=True):
    """Columns that change only with nodes; see `cluster_columns`."""

    names: list[str]
    state: list[int]
    labels: dict[str, LabelColumnForm]
    taints: LabelColumnForm | None = None
    """Absent in an older scheduler."""


class UsageColumnsForm(msgspec.Struct, frozen=True):
    """Columns that change with pods and samples; see `cluster_columns`."""

    pods: AmountColumnsForm
    resources: dict[str, AmountColumnsForm]
    metrics: dict[str, list[float | None]]


class MapDocument(msgspec.Struct, frozen=True):
    """All nodes as columns.

    Attributes:
        generation: increases when a node changes.
        nodes: None if the client has the columns of this generation.
    """

    generation: int
    nodes: NodeColumnsForm | None
    usage: UsageColumnsForm


class NodeTaint(msgspec.Struct, frozen=True):
    """A taint of a node."""

    key: str
    value: str
    effect: str


class ConditionState(msgspec.Struct, frozen=True):
    """A condition of a node."""

    type: str
    status: str


class ResourceAmount(msgspec.Struct, frozen=True):
    """Requested and allocatable amount of a resource."""

    used: int
    of: int


class NodeSample(msgspec.Struct, frozen=True, rename="camel"):
    """The newest sample of a metric on a node.

    Attributes:
        state: ok, missing, stale (older than maxAge) or outOfRange; rules see only an ok sample.
        value: with its unit; "" without a sample.
        age_seconds: at the time of the answer; None without a sample.
    """

    state: str
    value: str
    age_seconds: float | None
    max_age_seconds: float


class NodeDocument(msgspec.Struct, frozen=True, rename="camel"):
    """One node; see `node_page`."""

    node: str
    labels: dict[str, str]
    taints: list[NodeTaint]
    is_cordoned: bool
    conditions: list[ConditionState]
    resources: dict[str, ResourceAmount]
    metrics: dict[str, str]
    pods: list[str]
    pod_count: int
    allowed_pods: int
    requests: dict[str, list[int]] = {}
    samples: dict[str, NodeSample] = {}


class RejectionReason(msgspec.Struct, frozen=True):
    """A distinct rejection; `line` is None for a plugin."""

    by: str
    line: int | None
    code: str
    reason: str


class FunnelStep(msgspec.Struct, frozen=True, rename="camel"):
    """A filter, the nodes that it is the first to reject, and the nodes that are left.

    Attributes:
        rejects_in_all: all nodes that it rejects; None of an older scheduler.
    """

    by: str
    line: int | None
    rejects: int
    left: int
    rejects_in_all: int | None = None


class ScoreWeight(msgspec.Struct, frozen=True):
    """A plugin or rule that gives points."""

    name: str
    weight: int


class RankedNode(msgspec.Struct, frozen=True):
    """A node with its total and the points of each score."""

    node: str
    total: int | float
    points: list[int | float]


class ExplainDocument(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The verdicts of all nodes about one pod; see `pod_verdicts`.

    Attributes:
        placed_on: the node of a placed pod, which is explained as if it had none.
        gate: why PreEnqueue holds the pod back.
        best, best_count: at most 20 names of the nodes with the highest total, and their number.
        of: for each node, in the order of the names, the index of its first rejection in `why`; -1
            if the pod fits.
        totals: for each node its points; None if the pod does not fit.
        rules: the scores that `points` of `ranking` list in the same order.
        ranking: the 32 best nodes.
        rules_without_samples: the rules for this pod that are skipped, or for which it waits.
    """

    pod: str
    profile: str
    policies: list[str]
    priority: int
    placed_on: str | None
    gate: str | None
    message: str
    node_count: int
    feasible: int
    best: list[str]
    best_count: int
    why: list[RejectionReason]
    of: list[int]
    funnel: list[FunnelStep]
    totals: list[int | float | None]
    rules: list[ScoreWeight]
    ranking: list[RankedNode]
    rules_without_samples: list[RuleWithoutSamples] = []
