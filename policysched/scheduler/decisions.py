"""The latest decisions, for people: where each pod went, or why it went nowhere."""

from __future__ import annotations

import datetime
import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from policysched.cluster import snapshot
from policysched.framework import profile, queued_pod, runtime

_log = logging.getLogger(__name__)


class Decision(msgspec.Struct, frozen=True, gc=False):
    """The outcome of one scheduling cycle, before the pod is bound.

    Attributes:
        pod, uid: the pod, as `namespace/name`, and its uid.
        scheduler_name: the profile; `policies` and `policy_hash` are what it stood for.
        node_name: the chosen node, None when the pod fits nowhere; then `message` says why.
        feasible_count, node_count: nodes that passed, and all nodes.
        attempt: 1 for the first.
        decided_at: time of the snapshot.
        duration_seconds: of the cycle up to the choice.
    """

    pod: str
    uid: str
    scheduler_name: str
    node_name: str | None
    message: str
    feasible_count: int
    node_count: int
    attempt: int
    policies: tuple[str, ...]
    policy_hash: str
    decided_at: datetime.datetime
    duration_seconds: float


Listener: TypeAlias = Callable[[Decision, runtime.ScheduleResult, snapshot.Snapshot], None]
"""Called inside the cycle, while result and snapshot are still valid; it must be quick."""


class DecisionLog:
    """A ring of decisions; listeners hear of each one as it is made."""

    def __init__(self, limit: int = 1000) -> None:
        """Remember the latest `limit` decisions."""
        self._ring: deque[Decision] = deque(maxlen=limit)
        self.listeners: list[Listener] = []

    def __iter__(self) -> Iterator[Decision]:
        """Iterate over what is remembered, oldest first."""
        return iter(self._ring)

    def __len__(self) -> int:
        """Return how many decisions are remembered."""
        return len(self._ring)

    def latest_of(self, pod_key: str) -> Decision | None:
        """Return the newest decision about a pod, given as `namespace/name`."""
        return next((d for d in reversed(self._ring) if d.pod == pod_key), None)

    def record(
        self,
        queued: queued_pod.QueuedPodInfo,
        prof: profile.Profile,
        result: runtime.ScheduleResult,
        snap: snapshot.Snapshot,
        duration_seconds: float,
    ) -> None:
        """Remember what was decided about a pod."""
        decision = Decision(
            pod=queued.info.key,
            uid=queued.uid,
            scheduler_name=prof.scheduler_name,
            node_name=result.node_name,
            message=result.message,
            feasible_count=result.feasible_count,
            node_count=result.node_count,
            attempt=queued.attempts,
            policies=prof.policies,
            policy_hash=prof.policy_hash,
            decided_at=snap.now,
            duration_seconds=duration_seconds,
        )
        self._ring.append(decision)
        for listener in self.listeners:
            try:
                listener(decision, result, snap)
            except Exception:  # noqa: BLE001 - whatever somebody else's code does
                # Whoever only listens must not decide that the pod is not scheduled.
                _log.exception("a listener failed at the decision about %s", decision.pod)
