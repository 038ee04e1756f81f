"""Compare the decisions of another scheduler with our own; never assume, queue or write.

The decision about a pod is made when the watch shows that the other scheduler bound it, immediately
before the cache counts it. Each decision therefore uses the cluster as the other scheduler left it,
and our decisions do not affect each other. Decisions about pending pods are made periodically, once
the other scheduler has rejected them or PATIENCE_SECONDS have passed.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster import snapshot
from policysched.cluster.objects import objects, time_text
from policysched.cluster.pods import pod_shape
from policysched.framework import explanation, runtime, shadow
from policysched.framework.scoring import score_table

_log = logging.getLogger(__name__)

PATIENCE_SECONDS = 60.0
"""Age at which a pod counts as left pending, even if the other scheduler did not reject it."""
NEAR_SHARE = 0.02
"""A node counts as near if its score is below the best by at most this share.

One more pod on a node changes scores by about this much, and pods that the other scheduler bound at
the same time appear in the watch one after the other.
"""
_EXPLAIN_SECONDS = 1.0
"""Minimum interval between explanations of differences, which cost more than decisions."""


class ComparisonOutcome(enum.Enum):
    """The result of the comparison for one pod.

    BOTH_PENDING and WOULD_PLACE apply to pods that the other scheduler left pending, FAILED to any
    pod, and the rest to pods that it placed.
    """

    SAME_NODE = "sameNode"
    EQUAL_NODE = "equalNode"
    NEAR_NODE = "nearNode"
    OTHER_NODE = "otherNode"
    LEFT_PENDING = "leftPending"
    FAILED = "failed"
    BOTH_PENDING = "bothPending"
    WOULD_PLACE = "wouldPlace"


PLACED = (
    ComparisonOutcome.SAME_NODE,
    ComparisonOutcome.EQUAL_NODE,
    ComparisonOutcome.NEAR_NODE,
    ComparisonOutcome.OTHER_NODE,
    ComparisonOutcome.LEFT_PENDING,
    ComparisonOutcome.FAILED,
)
WAITING = (ComparisonOutcome.BOTH_PENDING, ComparisonOutcome.WOULD_PLACE, ComparisonOutcome.FAILED)
AGREEMENT = frozenset(
    {ComparisonOutcome.SAME_NODE, ComparisonOutcome.EQUAL_NODE, ComparisonOutcome.BOTH_PENDING}
)


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulerComparison:
    """The decisions of both schedulers about one pod.

    Attributes:
        pod: `namespace/name` of the pod.
        their_node: node that the other scheduler chose; None while the pod is pending.
        our_node: node that this process would choose; None if no node fits.
        why: reason for the difference; "" if there is none.
    """

    pod: str
    uid: str
    profile: str
    compared_at: datetime.datetime
    outcome: ComparisonOutcome
    their_node: str | None
    our_node: str | None
    why: str = ""


FindFramework: TypeAlias = Callable[[pod_shape.PodInfo], runtime.Framework | None]


class DryRunComparer:
    """Compares the decisions of another scheduler with our own.

    Attributes:
        placed: number of bound pods, keyed by (schedulerName, outcome).
        waiting: latest comparison of each pending pod, keyed by uid.
        differences: latest comparisons with different decisions, oldest first.
        seconds: total duration of all comparisons.
        is_on: whether bound pods are compared; False until the initial lists are complete.
    """

    def __init__(
        self,
        cache: caches.Cache,
        find_framework: FindFramework,
        clock: clocks.Clock,
        kept: int = 1000,
    ) -> None:
        """Decide from the state of `cache`, with each pod's profile; keep `kept` differences."""
        self.placed: Counter[tuple[str, ComparisonOutcome]] = Counter()
        self.waiting: dict[str, SchedulerComparison] = {}
        self.differences: deque[SchedulerComparison] = deque(maxlen=kept)
        self.seconds = 0.0
        self.is_on = False
        self._cache = cache
        self._find_framework = find_framework
        self._clock = clock
        self._explain_from_seconds = clock.monotonic_seconds()
        self._has_told_failure = False

    # --- pods that the other scheduler placed -----------------------------------------------------

    def compare_bound_pod(self, pending: pod_shape.PodInfo, node_name: str) -> None:
        """Compare the decisions about a pod that was just bound; plugin errors become FAILED.

        Must be called before the cache counts the pod.
        """
        name = pending.pod.spec.scheduler_name
        framework = self._find_framework(pending)
        if not self.is_on or framework is None:
            return
        self.waiting.pop(pending.uid, None)
        compared = self._compare_pod(framework, _drop_own_nomination(pending), node_name)
        self.placed[name, compared.outcome] += 1
        if compared.outcome not in AGREEMENT:
            self.differences.append(compared)

    # --- pending pods -----------------------------------------------------------------------------

    def compare_pending_pods(self, pods: Iterable[pod_shape.PodInfo]) -> Iterable[None]:
        """Compare one pending pod in each iteration; forget pods that are no longer pending."""
        waiting = {info.uid: info for info in pods}
        for gone in self.waiting.keys() - waiting.keys():
            del self.waiting[gone]
        for info in waiting.values():
            framework = self._find_framework(info)
            if (
                framework is None
                or not self._has_other_scheduler_given_up(info)
                or not self._is_schedulable_now(framework, info)
            ):
                self.waiting.pop(info.uid, None)
                continue
            before = self.waiting.get(info.uid)
            compared = self._compare_pod(framework, _drop_own_nomination(info), None)
            self.waiting[info.uid] = compared
            is_news = before is None or before.outcome is not compared.outcome
            if is_news and compared.outcome not in AGREEMENT:
                self.differences.append(compared)
            yield

    def _has_other_scheduler_given_up(self, info: pod_shape.PodInfo) -> bool:
        """Return whether the other scheduler rejected the pod, or PATIENCE_SECONDS have passed."""
        if _is_marked_unschedulable(info.pod):
            return True
        created_at = info.pod.metadata.creation_timestamp
        if created_at is None:
            return False
        return (
            self._clock.now().timestamp() - time_text.parse_rfc3339_seconds(created_at)
            > PATIENCE_SECONDS
        )

    def _is_schedulable_now(self, framework: runtime.Framework, info: pod_shape.PodInfo) -> bool:
        """Return whether the queue would hand out a pod; not if a PreEnqueue plugin fails."""
        try:
            return not info.is_terminating and framework.pre_enqueue(info).is_success
        except Exception:  # noqa: BLE001 - plugins are third-party code
            self._log_first_failure(info)
            return False

    # --- one pod ----------------------------------------------------------------------------------

    def _compare_pod(
        self, framework: runtime.Framework, info: pod_shape.PodInfo, their_node: str | None
    ) -> SchedulerComparison:
        """Choose a node for a pod, and compare it with the other scheduler's node, if any."""
        started_seconds = self._clock.monotonic_seconds()
        snap = self._cache.snapshot()
        try:
            result = framework.schedule_pod(info, snap)
            outcome, our_node = _classify_outcome(result, their_node, snap), result.node_name
            why = (
                ""
                if outcome in AGREEMENT
                else self._explain_difference(framework, info, result, their_node)
            )
        except Exception as error:  # noqa: BLE001 - plugins are third-party code
            # The calling watch handler must continue.
            self._log_first_failure(info)
            outcome, our_node, why = (
                ComparisonOutcome.FAILED,
                None,
                f"{type(error).__name__}: {error}",
            )
        self.seconds += self._clock.monotonic_seconds() - started_seconds
        return SchedulerComparison(
            info.key,
            info.uid,
            framework.profile.scheduler_name,
            snap.now,
            outcome,
            their_node,
            our_node,
            why,
        )

    def _log_first_failure(self, info: pod_shape.PodInfo) -> None:
        """Log the current exception, unless a plugin has failed before."""
        if not self._has_told_failure:
            _log.exception("deciding %s failed", info.key)
            self._has_told_failure = True

    def _explain_difference(
        self,
        framework: runtime.Framework,
        info: pod_shape.PodInfo,
        result: runtime.ScheduleResult,
        their_node: str | None,
    ) -> str:
        """Return why the other scheduler's node is worse than ours.

        If the other scheduler chose no node, or within _EXPLAIN_SECONDS of the last explanation,
        return the message of the cycle.
        """
        if their_node is None or not shadow.is_decision(result):
            return result.message
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds < self._explain_from_seconds:
            return result.message
        self._explain_from_seconds = now_seconds + _EXPLAIN_SECONDS
        snap = self._cache.snapshot()
        found = framework.explain_pod(info, snap)
        return (
            _explain_against_their_node(found, snap, their_node, result.node_name) or result.message
        )


def _classify_outcome(
    result: runtime.ScheduleResult, their_node: str | None, snap: snapshot.Snapshot
) -> ComparisonOutcome:
    """Classify our decision by how it differs from the other scheduler's."""
    if not shadow.is_decision(result):
        return ComparisonOutcome.FAILED
    if their_node is None:
        return (
            ComparisonOutcome.BOTH_PENDING
            if result.node_name is None
            else ComparisonOutcome.WOULD_PLACE
        )
    if result.node_name is None:
        return ComparisonOutcome.LEFT_PENDING
    if result.node_name == their_node:
        return ComparisonOutcome.SAME_NODE
    if shadow.is_best(result, their_node, snap):
        return ComparisonOutcome.EQUAL_NODE
    return (
        ComparisonOutcome.NEAR_NODE
        if _is_their_total_close(result, their_node, snap)
        else ComparisonOutcome.OTHER_NODE
    )


def _is_their_total_close(
    result: runtime.ScheduleResult, their_node: str, snap: snapshot.Snapshot
) -> bool:
    table = result.scores
    if table is None:
        return False
    points = table.totals[table.rows == snap.nodes.row_of.get(their_node, -1)]
    best = int(table.totals.max())
    return bool(len(points)) and best - int(points[0]) <= NEAR_SHARE * best


def _explain_against_their_node(
    found: explanation.Explanation, snap: snapshot.Snapshot, their_node: str, our_node: str | None
) -> str:
    """Return why their node was rejected, or the difference in score from our node."""
    verdict = next((v for v in found.verdicts if v.name == their_node), None)
    if verdict is None:
        return f"{their_node} is unknown here"
    if not verdict.first.is_success:
        reasons = ", ".join(verdict.first.reasons)
        return f"{their_node} is rejected by {verdict.first.plugin}: {reasons}"
    if found.scores is None or our_node is None:
        return ""
    rows = found.scores.rows.tolist()
    ours, theirs = (rows.index(snap.nodes.row_of[name]) for name in (our_node, their_node))
    totals = found.scores.totals
    our_points, their_points = (score_table.points(int(totals[at])) for at in (ours, theirs))
    leads = _list_leading_scores(found.scores, ours, theirs)
    return f"{our_node} has {our_points} points, {their_node} {their_points} ({leads})"


def _list_leading_scores(table: score_table.ScoreTable, ours: int, theirs: int) -> str:
    """Return the three scores with the largest differences between the two nodes."""
    leads = {name: int(points[ours] - points[theirs]) for name, points in table.by_plugin.items()}
    differing = sorted((name for name in leads if leads[name]), key=lambda n: (-abs(leads[n]), n))
    return ", ".join(f"{n} {score_table.points(leads[n]):+}" for n in differing[:3])


def _drop_own_nomination(info: pod_shape.PodInfo) -> pod_shape.PodInfo:
    """Return the pod without a nomination that a scheduler writes immediately before it binds.

    A nomination after a rejection is kept: preemption made room on that node.
    """
    if not info.pod.status.nominated_node_name or _is_marked_unschedulable(info.pod):
        return info
    status = msgspec.structs.replace(info.pod.status, nominated_node_name="")
    return pod_shape.PodInfo(msgspec.structs.replace(info.pod, status=status), info.shape)


def _is_marked_unschedulable(pod: objects.Pod) -> bool:
    return any(c.type == "PodScheduled" and c.status == "False" for c in pod.status.conditions)
