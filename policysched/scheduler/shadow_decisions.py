"""Counts the decisions that shadow policies would have changed.

A pod is decided again inside its own cycle, while the snapshot of the real decision is still valid.
The cost is limited: while other pods wait, second decisions take at most BUSY_SHARE of the time,
and the ones beyond the limit are skipped and counted as skipped.
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
"""Share of the time that second decisions may take while pods wait for their first decision."""
_MOST_SAVED_SECONDS = 0.05
"""Limit up to which unused time accumulates."""
_CHANGES_KEPT = 100

Candidates: TypeAlias = Mapping[str, Sequence[shadow.Candidate]]
"""The alternatives to the real decisions, by schedulerName."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShadowPlacementChange:
    """A pod that a shadow policy would have placed differently.

    Attributes:
        pod: `namespace/name`.
        node_name: the node of the real decision, None if there was none.
        verdict: the decision under the shadow policy.
    """

    pod: str
    uid: str
    decided_at: datetime.datetime
    node_name: str | None
    verdict: shadow.Verdict


Changes: TypeAlias = deque[ShadowPlacementChange]


@dataclasses.dataclass(slots=True)
class ShadowPolicyTally:
    """The counts of one shadow policy in one profile, since the policies were loaded.

    Attributes:
        outcomes: decisions about pods in the scope of the policy.
        skipped: decisions that were skipped for lack of time.
        seconds: total time of the second decisions.
        changes: the latest pods that would have been placed differently; consecutive changes of one
            pod (by uid) count as one.
    """

    since: datetime.datetime
    outcomes: Counter[shadow.Outcome] = dataclasses.field(default_factory=Counter)
    skipped: int = 0
    seconds: float = 0.0
    changes: Changes = dataclasses.field(default_factory=lambda: deque(maxlen=_CHANGES_KEPT))

    @property
    def decided(self) -> int:
        """Number of decisions with an outcome."""
        return self.outcomes.total() - self.outcomes[shadow.Outcome.FAILED]

    @property
    def changed(self) -> int:
        """Number of these decisions that would have been different."""
        return sum(self.outcomes[outcome] for outcome in shadow.CHANGES)


class ShadowDecisions:
    """A listener to real decisions, which decides the same pods by shadow policies.

    Attributes:
        tallies: by schedulerName and shadow policy.
    """

    def __init__(
        self,
        current: Callable[[], Candidates],
        pods: ports.PodLookup,
        clock: clocks.Clock,
        is_busy: Callable[[], bool],
    ) -> None:
        """Decide by the candidates that `current` returns; if it returns a new mapping, start over.

        `pods` returns the pods of decisions; `is_busy` returns whether other pods wait.
        """
        self.tallies: dict[tuple[str, str], ShadowPolicyTally] = {}
        self._pods = pods
        self._clock = clock
        self._is_busy = is_busy
        self._current = current
        self._candidates: Candidates = {}
        self._saved_seconds = _MOST_SAVED_SECONDS
        self._looked_at_seconds = clock.monotonic_seconds()

    def refresh_candidates(self) -> None:
        """Replace the candidates, and reset the tallies, if `current` returns a new mapping."""
        current = self._current()
        if current is self._candidates:
            return
        self._candidates, now = current, self._clock.now()
        self.tallies = {
            (profile, each.policy): ShadowPolicyTally(now)
            for profile, candidates in current.items()
            for each in candidates
        }

    def observe_decision(
        self,
        decision: decisions.SchedulingDecision,
        result: runtime.ScheduleResult,
        snap: snapshot.Snapshot,
    ) -> None:
        """Decide a pod again; see `decisions.Listener`."""
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
            _note_verdict(tally, decision, verdict)

    def _has_time_budget(self) -> bool:
        now_seconds = self._clock.monotonic_seconds()
        saved = self._saved_seconds + BUSY_SHARE * (now_seconds - self._looked_at_seconds)
        self._saved_seconds = min(saved, _MOST_SAVED_SECONDS)
        self._looked_at_seconds = now_seconds
        return self._saved_seconds > 0


def _note_verdict(
    tally: ShadowPolicyTally, decision: decisions.SchedulingDecision, verdict: shadow.Verdict
) -> None:
    tally.outcomes[verdict.outcome] += 1
    if verdict.outcome not in shadow.CHANGES:
        return
    change = ShadowPlacementChange(
        decision.pod, decision.uid, decision.decided_at, decision.node_name, verdict
    )
    if tally.changes and tally.changes[-1].uid == change.uid:
        tally.changes.pop()  # one entry for a pod that is retried repeatedly
    tally.changes.append(change)
