"""Which pods are making room for themselves at this moment.

Victims are evicted behind the scheduling cycle (KEP-4832). Until that is done a preemptor must not
be tried again: it would find its victims still running and choose others. So it is gated by the
PreEnqueue point of DefaultPreemption, which asks here (`framework/preemption/executor.go`).

The watch may show that the last victim goes before the call that evicts it has come back. That
event is what wakes the preemptor, so the gate must be open by then: the last victim is looked at
itself.
"""

from __future__ import annotations

from collections.abc import Callable


class PreemptionsInProgress:
    """Preemptors by uid, from the choice of their victims until these are evicted."""

    def __init__(self) -> None:
        """Start with none."""
        self._is_over: dict[str, Callable[[], bool]] = {}

    def start(self, uid: str) -> None:
        """Note that victims of the pod are going to be evicted."""
        self._is_over[uid] = _not_yet

    def wait_for_last(self, uid: str, is_leaving: Callable[[], bool]) -> None:
        """Note that only one victim is left; `is_leaving` says whether it is gone or terminating.

        A pod whose preemption was not started, or is finished, is left alone.
        """
        if uid in self._is_over:
            self._is_over[uid] = is_leaving

    def finish(self, uid: str) -> None:
        """Note that all victims of the pod are evicted, or that this failed."""
        self._is_over.pop(uid, None)

    def is_running(self, uid: str) -> bool:
        """Return whether a pod has to wait for the eviction of its victims."""
        is_over = self._is_over.get(uid)
        return is_over is not None and not is_over()


def _not_yet() -> bool:
    return False
