"""Counts what shadow policies would have changed, decision by decision.

A pod is decided again inside its own cycle, where the snapshot is still the one that the real
decision saw. What that costs is bounded: while other pods wait, second decisions take at most
BUSY_SHARE of the time, and those beyond are left out and counted as such.
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
"""Share of the time that second decisions may take while pods wait for their first one."""
_MOST_SAVED_SECONDS = 0.05
"""Time that was not used does not add up beyond this."""
_CHANGES_KEPT = 100

Candidates: TypeAlias = Mapping[str, Sequence[shadow.Candidate]]
"""What is decided beside the real decisions, by schedulerName."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShadowPlacementChange:
    """A pod that would have gone elsewhere.

    Attributes:
        pod: `namespace/name`.
        node_name: where it went, None for nowhere.
        verdict: what the shadow policy would have made of it.
    """

    pod: str
    uid: str
    decided_at: datetime.datetime
    node_name: str | None
    verdict: shadow.Verdict


Changes: TypeAlias = deque[ShadowPlacementChange]


@dataclasses.dataclass(slots=True)
class ShadowPolicyTally:
    """What is known of one shadow policy in one profile, since the policies were loaded.

    Attributes:
        outcomes: decisions about pods that the policy concerns.
        skipped: decisions that were left out for lack of time.
        seconds: what deciding again took.
        changes: the latest pods that would have gone elsewhere, by uid.
    """

    since: datetime.datetime
    outcomes: Counter[shadow.Outcome] = dataclasses.field(default_factory=Counter)
    skipped: int = 0
    seconds: float = 0.0
    changes: Changes = dataclasses.field(default_factory=lambda: deque(maxlen=_CHANGES_KEPT))

    @property
    def decided(self) -> int:
        """How many decisions came to an outcome."""
        return self.outcomes.total() - self.outcomes[shadow.Outcome.FAILED]

    @property
    def changed(self) -> int:
        """How many of them would have been different."""
        return sum(self.outcomes[outcome] for outcome in shadow.CHANGES)


class ShadowDecisions:
    """Listens to real decisions.

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
        """Decide by what is `current`; when that is another mapping, counting begins anew.

        `pods` knows the pods of decisions, `is_busy` says whether others wait for theirs.
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
        """Take over candidates that are current now, if they are others than before."""
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
        tally.changes.pop()  # the same pod, tried again and again
    tally.changes.append(change)
