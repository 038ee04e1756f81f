"""Pods that a Permit plugin holds back until somebody allows or rejects them.

Source: `framework/runtime/waiting_pods_map.go`. Deadlines go by the injected clock: whoever runs
the loop calls `expire` when `next_deadline_seconds` has come.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping

from policysched import clock as clocks
from policysched.cluster.pods import pod_shape
from policysched.framework import status

MAX_WAIT_SECONDS = 900.0
"""No plugin can hold a pod for longer (framework/runtime/framework.go, maxTimeout)."""


@dataclasses.dataclass(slots=True, eq=False)
class WaitingPod:
    """A pod that holds its place on a node and is not bound yet.

    Attributes:
        info: the pod.
        node_name: where it will go.
        waits_seconds: how long each plugin that has not allowed it yet may wait.
        since_seconds: when the waiting began (monotonic clock).
    """

    info: pod_shape.PodInfo
    node_name: str
    waits_seconds: dict[str, float]
    since_seconds: float
    answer: asyncio.Future[status.Status]


class WaitingPods:
    """All pods that wait at Permit, by uid."""

    def __init__(self, clock: clocks.Clock) -> None:
        """Start empty."""
        self._clock = clock
        self._pods: dict[str, WaitingPod] = {}

    def __len__(self) -> int:
        """Return how many pods wait."""
        return len(self._pods)

    def __iter__(self) -> Iterator[WaitingPod]:
        """Iterate over the waiting pods; they may be allowed or rejected meanwhile."""
        return iter(list(self._pods.values()))

    def get(self, uid: str) -> WaitingPod | None:
        """Return a waiting pod."""
        return self._pods.get(uid)

    def add(
        self, info: pod_shape.PodInfo, node_name: str, waits_seconds: Mapping[str, float]
    ) -> None:
        """Let a pod wait; `waits_seconds` says for which plugins, and how long at most."""
        waits = {plugin: min(s, MAX_WAIT_SECONDS) for plugin, s in waits_seconds.items()}
        answer = asyncio.get_running_loop().create_future()
        now_seconds = self._clock.monotonic_seconds()
        self._pods[info.uid] = WaitingPod(info, node_name, waits, now_seconds, answer)

    async def wait(self, uid: str) -> status.Status:
        """Return SUCCESS when the pod is allowed or does not wait.

        Else the rejection, or an ERROR when it was preempted.
        """
        waiting = self._pods.get(uid)
        if waiting is None:
            return status.SUCCESS
        try:
            return await waiting.answer
        finally:
            self._pods.pop(uid, None)

    def allow(self, uid: str, plugin: str) -> bool:
        """Let go of a pod on behalf of a plugin; False when no such pod waits."""
        waiting = self._pods.get(uid)
        if waiting is None:
            return False
        waiting.waits_seconds.pop(plugin, None)
        if not waiting.waits_seconds:
            _answer(waiting, status.SUCCESS)
        return True

    def reject(self, uid: str, plugin: str, reason: str) -> bool:
        """Turn a pod away; False when no such pod waits, or its answer was given before."""
        waiting = self._pods.get(uid)
        return waiting is not None and _answer(waiting, status.unschedulable(plugin, reason))

    def preempt(self, uid: str, plugin: str, reason: str) -> bool:
        """Turn a pod away that did nothing wrong: it is tried again after backoff in any case.

        Returns:
            False when no such pod waits, or it was allowed before; True when it goes back to the
            queue, for this or another reason.
        """
        waiting = self._pods.get(uid)
        if waiting is None:
            return False
        preempted = status.Status(status.Code.ERROR, (reason,), plugin)
        if _answer(waiting, preempted):
            return True
        return not waiting.answer.cancelled() and not waiting.answer.result().is_success

    def remove(self, uid: str) -> None:
        """Forget a pod for whose answer nobody will wait."""
        self._pods.pop(uid, None)

    def cancel_all(self) -> None:
        """Cancel whoever awaits `wait`, because the scheduler stops."""
        for waiting in self._pods.values():
            waiting.answer.cancel()

    def next_deadline_seconds(self) -> float | None:
        """Return when the first wait is over (monotonic clock), None when none will be."""
        deadlines = [
            waiting.since_seconds + min(waiting.waits_seconds.values())
            for waiting in self._pods.values()
            if not waiting.answer.done()
        ]
        return min(deadlines, default=None)

    def expire(self) -> None:
        """Turn away the pods whose time is up."""
        now_seconds = self._clock.monotonic_seconds()
        for waiting in self._pods.values():
            for plugin, seconds in waiting.waits_seconds.items():
                if waiting.since_seconds + seconds <= now_seconds:
                    reason = (
                        f"rejected due to timeout after waiting {seconds:g}s at plugin {plugin}"
                    )
                    _answer(waiting, status.unschedulable(plugin, reason))


def _answer(waiting: WaitingPod, answer: status.Status) -> bool:
    if waiting.answer.done():
        return False
    waiting.answer.set_result(answer)
    return True
