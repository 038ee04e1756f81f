"""Which pods are making room for themselves at this moment.

Victims are evicted behind the scheduling cycle (KEP-4832). Until that is done a preemptor must not
be tried again: it would find its victims still running and choose others. So it is gated by the
PreEnqueue point of DefaultPreemption, which asks here (`framework/preemption/executor.go`).

The deletion of a victim is what wakes the preemptor, and the watch may show it before the call that
evicts the last one has come back. The gate must be open by then, so it goes by what the watch has
shown as soon as no other victim is left to be evicted.
"""

from __future__ import annotations

from collections.abc import Callable


class PreemptionsInProgress:
    """Preemptors by uid, from the choice of their victims until these are seen to go."""

    def __init__(self) -> None:
        """Start with none."""
        self._is_over: dict[str, Callable[[], bool]] = {}

    def start(self, uid: str) -> None:
        """Note that victims of the pod are going to be evicted."""
        for over in [known for known, is_over in self._is_over.items() if is_over()]:
            del self._is_over[over]
        self._is_over[uid] = _not_yet

    def wait_until(self, uid: str, is_over: Callable[[], bool]) -> None:
        """From now on let `is_over` say whether the victims of the pod are going.

        A pod whose preemption was not started, or is finished, is left alone.
        """
        if uid in self._is_over:
            self._is_over[uid] = is_over

    def finish(self, uid: str) -> None:
        """Note that the pod need not wait any more."""
        self._is_over.pop(uid, None)

    def is_running(self, uid: str) -> bool:
        """Return whether a pod has to wait for the eviction of its victims."""
        is_over = self._is_over.get(uid)
        return is_over is not None and not is_over()


def _not_yet() -> bool:
    return False
