"""Count the decisions that shadow policies would have changed.

A decision is repeated within the cycle that made it, while the snapshot of the real decision is
still valid. The cost is limited: while other pods wait, shadow decisions take at most BUSY_SHARE of
the time; excess decisions are skipped and counted.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from policysched import clock as clocks
from policysched.cluster import snapshot
from policysched.framework import runtime, shadow
from policysched.scheduler import decisions, ports

BUSY_SHARE = 0.1
"""Maximum share of time for shadow decisions while pods wait for their real decision."""
_MOST_SAVED_SECONDS = 0.05
"""Maximum unused time that accumulates for later shadow decisions."""
_CHANGES_KEPT = 100

Candidates: TypeAlias = Mapping[str, Sequence[shadow.Candidate]]
"""schedulerName → shadow candidates."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShadowPlacementChange:
    """A pod that a shadow policy would have placed differently.

    Attributes:
        pod: `namespace/name` of the pod.
        node_name: node of the real decision; None if no node fitted.
        verdict: decision with the shadow policy.
    """

    pod: str
    uid: str
    decided_at: datetime.datetime
    node_name: str | None
    verdict: shadow.Verdict


VerdictListener: TypeAlias = Callable[[decisions.SchedulingDecision, shadow.Verdict], None]

Changes: TypeAlias = deque[ShadowPlacementChange]


@dataclasses.dataclass(slots=True)
class ShadowPolicyTally:
    """Counts of one shadow policy in one profile, since the policies were loaded.

    Attributes:
        outcomes: number of decisions about pods in the scope of the policy, by outcome.
        skipped: number of decisions that were skipped for lack of time.
        seconds: total duration of the shadow decisions.
        changes: latest pods that would have been placed differently, oldest first; consecutive
            changes for one pod are merged.
    """

    since: datetime.datetime
    outcomes: Counter[shadow.Outcome] = dataclasses.field(default_factory=Counter)
    skipped: int = 0
    seconds: float = 0.0
    changes: Changes = dataclasses.field(default_factory=lambda: deque(maxlen=_CHANGES_KEPT))

    @property
    def decided(self) -> int:
        """Number of decisions that did not fail."""
        return self.outcomes.total() - self.outcomes[shadow.Outcome.FAILED]

    @property
    def changed(self) -> int:
        """Number of decisions that would have been different."""
        return sum(self.outcomes[outcome] for outcome in shadow.CHANGES)


class ShadowDecisions:
    """A listener that repeats real decisions with shadow policies.

    Attributes:
        tallies: counts, keyed by (schedulerName, shadow policy).
        verdict_listeners: called with each real decision and the verdict about it.
    """

    def __init__(
        self,
        current: Callable[[], Candidates],
        pods: ports.PodLookup,
        clock: clocks.Clock,
        is_busy: Callable[[], bool],
    ) -> None:
        """Use the candidates that `current` returns; a new mapping resets the tallies.

        `pods` looks up the pods of decisions; `is_busy` returns whether other pods wait.
        """
        self.tallies: dict[tuple[str, str], ShadowPolicyTally] = {}
        self.verdict_listeners: list[VerdictListener] = []
        self._pods = pods
        self._clock = clock
        self._is_busy = is_busy
        self._current = current
        self._candidates: Candidates = {}
        self._saved_seconds = _MOST_SAVED_SECONDS
        self._looked_at_seconds = clock.monotonic_seconds()

    def refresh_candidates(self) -> None:
        """If `current` returns a new mapping, replace the candidates and reset the tallies."""
        current = self._current()
        if current is self._candidates:
            return
        self._candidates, now = current, self._clock.now()
        self.tallies = {
            (profile, each.policy): ShadowPolicyTally(now)
            for profile, candidates in current.items()
            for each in candidates
        }

    def repeat_with_candidates(
        self,
        decision: decisions.SchedulingDecision,
        result: runtime.ScheduleResult,
        snap: snapshot.Snapshot,
    ) -> None:
        """Repeat a real decision with each candidate; see `decisions.Listener`."""
        self.refresh_candidates()
        candidates = self._candidates.get(decision.scheduler_name)
        if not candidates or not shadow.is_decision(result):
            return
        pod = self._pods.current(decision.uid)
        if pod is None:
            return
        pod = snap.nominated.apply_nomination(pod)
        is_busy = self._is_busy()
        for candidate in candidates:
            if not candidate.concerns(pod, snap):
                continue
            tally = self.tallies[decision.scheduler_name, candidate.policy]
            if is_busy and not self._has_time_budget():
                tally.skipped += 1
                continue
            started_seconds = self._clock.monotonic_seconds()
            verdict = candidate.decide(pod, snap, result)
            seconds = self._clock.monotonic_seconds() - started_seconds
            tally.seconds += seconds
            if is_busy:
                self._saved_seconds -= seconds
            _count_verdict(tally, decision, verdict)
            for listener in self.verdict_listeners:
                listener(decision, verdict)

    def _has_time_budget(self) -> bool:
        now_seconds = self._clock.monotonic_seconds()
        saved = self._saved_seconds + BUSY_SHARE * (now_seconds - self._looked_at_seconds)
        self._saved_seconds = min(saved, _MOST_SAVED_SECONDS)
        self._looked_at_seconds = now_seconds
        return self._saved_seconds > 0


def _count_verdict(
    tally: ShadowPolicyTally, decision: decisions.SchedulingDecision, verdict: shadow.Verdict
) -> None:
    """Count a verdict in the tally, and keep it if it differs from the real decision."""
    tally.outcomes[verdict.outcome] += 1
    if verdict.outcome not in shadow.CHANGES:
        return
    change = ShadowPlacementChange(
        decision.pod, decision.uid, decision.decided_at, decision.node_name, verdict
    )
    if tally.changes and tally.changes[-1].uid == change.uid:
        tally.changes.pop()  # a pod that is retried repeatedly has one entry
    tally.changes.append(change)
