"""Count the decisions of both versions of a rollout in its present stage."""

from __future__ import annotations

import contextlib
import heapq
from typing import TYPE_CHECKING, TypeVar

from policysched import clock as clocks
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime, shadow
from policysched.profiles import policies
from policysched.reload import versions
from policysched.rollout import guard_queries, progress, tally
from policysched.scheduler import counters, decisions, shadow_decisions
from policysched.scheduler import scheduler as schedulers

if TYPE_CHECKING:
    from policysched.cluster import snapshot

_T = TypeVar("_T")

_REJECTIONS = frozenset({shadow.Outcome.NEWLY_UNSCHEDULABLE, shadow.Outcome.FAILED})


class StageMeasurements:
    """Counts the decisions of both versions since the beginning of a stage.

    Attributes:
        new, old: the results of the new version and of the version in force.
    """

    def __init__(self, scheduler: schedulers.Scheduler, clock: clocks.Clock) -> None:
        """Count decisions of a scheduler during stages; at other times, it pays nothing."""
        self.new, self.old = tally.VersionTally(), tally.VersionTally()
        self._scheduler = scheduler
        self._clock = clock
        self._tallies: dict[str, tally.VersionTally] = {}
        self._began_seconds = 0.0
        self._began_at = clock.now()
        # Victims that have not been bound again.
        self._victims: set[str] = set()
        self._stage = ""
        self._listening = contextlib.ExitStack()

    def begin_stage(
        self, state: progress.RolloutState, shadowed: policies.Profiles | None = None
    ) -> None:
        """Count from now on; in a shadow stage, repeat decisions with the profiles `shadowed`."""
        self.end()
        new_hash, log = state.new_hash, self._scheduler.decisions
        self._stage = state.describe()
        self.new, self.old = tally.VersionTally(), tally.VersionTally()
        self._tallies = {new_hash: self.new, state.old_hash: self.old}
        self._began_seconds = self._clock.monotonic_seconds()
        self._began_at = self._clock.now().replace(microsecond=0)  # as in conditions
        self._victims.clear()
        self._listen(log.listeners, self._name_stage)
        self._listen(log.end_listeners, self._count_decision)
        if shadowed is not None:
            shadows = self._make_shadow_decisions(_make_candidates(new_hash, shadowed))
            self._listen(log.listeners, shadows.repeat_with_candidates)

    def end(self) -> None:
        """Count nothing more."""
        self._listening.close()

    def _listen(self, listeners: list[_T], listener: _T) -> None:
        """Add a listener until `end`."""
        listeners.append(listener)
        self._listening.callback(listeners.remove, listener)

    def _make_shadow_decisions(
        self, candidates: shadow_decisions.Candidates
    ) -> shadow_decisions.ShadowDecisions:
        scheduler = self._scheduler
        made = shadow_decisions.ShadowDecisions(
            lambda: candidates, scheduler.events.pods, self._clock, scheduler.queue.has_ready_pod
        )
        made.verdict_listeners.append(self._count_verdict)
        return made

    def _name_stage(
        self,
        decision: decisions.SchedulingDecision,
        _result: runtime.ScheduleResult,
        _snap: snapshot.Snapshot,
    ) -> None:
        """Add the stage to a decision of either version."""
        decision.rollout_stage = self._stage

    def _count_decision(self, decision: decisions.SchedulingDecision) -> None:
        """Count an attempt that has ended and began in this stage."""
        if decision.started_seconds < self._began_seconds:
            return
        pods = self._tallies.get(decision.policy_hash)
        if pods is None:
            return
        is_bound = decision.result is counters.AttemptResult.SCHEDULED
        # A preemptor has a node as soon as its victims are gone.
        is_unschedulable = not is_bound and not decision.nominated_node_name
        if is_bound:
            self._victims.discard(decision.pod)
        elif is_unschedulable and self._was_waiting_before(decision.uid):
            return
        judged = tally.JudgedPod(is_unschedulable, is_bound)
        ended_seconds = decision.ended_seconds or decision.started_seconds
        seconds = ended_seconds - decision.started_seconds
        victims = set(decision.victims) - self._victims  # those of earlier preemptors still stop
        self._victims |= victims
        pods.record_attempt(decision.uid, judged, seconds, len(victims))

    def _was_waiting_before(self, uid: str) -> bool:
        """Return whether an attempt before the stage has left a pod Pending already."""
        info = self._scheduler.events.pods.current(uid)
        for each in () if info is None else info.pod.status.conditions:
            if each.type == "PodScheduled" and each.status == "False":
                since = clocks.parse_time(each.last_transition_time or "")
                return since is not None and since < self._began_at
        return False

    def _count_verdict(
        self, decision: decisions.SchedulingDecision, verdict: shadow.Verdict
    ) -> None:
        """Count a decision that the new version repeated in a shadow stage.

        A pod that neither version can place is not judged: it may be a preemptor that waits.
        """
        if verdict.outcome is shadow.Outcome.STILL_UNSCHEDULABLE:
            return
        rejected = verdict.outcome in _REJECTIONS
        judged = tally.JudgedPod(is_unschedulable=rejected, is_bound=False)
        self.new.record_attempt(decision.uid, judged, 0.0, 0)

    def list_bound_pods(self, version_hash: str) -> list[guard_queries.PodKey]:
        """Return the newest bound pods of a version, at most `guard_queries.MOST_PODS`."""
        bound = (
            info.pod.metadata
            for info in self._scheduler.events.pods
            if info.pod.spec.node_name
            and info.pod.metadata.annotations.get(versions.VERSION_ANNOTATION) == version_hash
        )
        newest = heapq.nlargest(
            guard_queries.MOST_PODS, bound, key=lambda meta: meta.creation_timestamp or ""
        )
        return [(meta.namespace, meta.name) for meta in newest]

    def compute_missing_metrics_share(self, new: policies.Profiles) -> float | None:
        """Return the share of the samples of a version that are missing or too old.

        None if the version reads no metrics, or there are no nodes.
        """
        snap = self._scheduler.cache.snapshot()
        alive = _view_alive_nodes(snap)
        shares = [
            1.0 - float(reader.read(alive).is_ok.mean())
            for reader in new.metric_readers
            if len(alive)
        ]
        return sum(shares) / len(shares) if shares else None


def _view_alive_nodes(snap: snapshot.Snapshot) -> snapshot.NodeView:
    return snap.view_rows(snap.is_alive.nonzero()[0])


def _make_candidates(version_hash: str, made: policies.Profiles) -> shadow_decisions.Candidates:
    """Return a candidate for each profile, which decides about all pods of the profile."""

    def concerns(_shape: pod_shape.PodShape, _namespaces: object) -> bool:
        return True

    return {
        name: (
            shadow.Candidate(f"version {version_hash}", runtime.Framework(each, None), concerns),
        )
        for name, each in made.by_name.items()
    }
