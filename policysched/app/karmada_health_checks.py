"""The /healthz, /livez and /readyz checks of `karmada run`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from policysched.serving import health

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from policysched import clock as clocks
    from policysched.karmada.scheduler import work_queue
    from policysched.karmada_loop import loop
    from policysched.kube.reading import watch_sync
    from policysched.leadership import runner

_OVERDUE_SECONDS: Final = 20.0
STUCK_SECONDS: Final = 120.0
"""Time without progress after which the scheduler counts as stuck, as in `app/health_checks.py`."""

STUCK_WRITES_SECONDS: Final = 600.0
"""Time without progress after which the check fails while too many writes are in flight.

Each write is abandoned after three attempts. Even if the API server requests long pauses between
them, this takes at most six minutes.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class MonitoredKarmadaComponents:
    """The components that the checks observe.

    Attributes:
        elector: reports whether this process leads.
        sync: reports whether all watched resources have been listed.
        names: names of the watched resources.
        stopping: set when the process is asked to stop.
        schedules: the scheduling loop.
        queue: the queue of the loop.
        clock: its monotonic time measures the time without progress.
    """

    elector: runner.LeaderElector
    sync: watch_sync.WatchSync
    names: Iterable[str]
    stopping: asyncio.Event
    schedules: loop.BindingSchedulingLoop
    queue: work_queue.WorkQueue
    clock: clocks.Clock


def make_karmada_health_checks(checked: MonitoredKarmadaComponents) -> health.HealthChecks:
    """Return the checks of a process."""

    def election() -> str:
        if checked.elector.overdue_seconds() > _OVERDUE_SECONDS:
            return "the lease has expired, and leader election has not noticed"
        return ""

    return health.HealthChecks(
        {"leaderElection": election, "scheduling": _BindingProgressCheck(checked).check},
        {
            "leaderElection": election,
            "informer-sync": lambda: checked.sync.describe_unsynced_resources(checked.names),
            "shutdown": lambda: "the process is shutting down" if checked.stopping.is_set() else "",
        },
    )


class _BindingProgressCheck:
    """Checks that waiting bindings are processed, except while new attempts are held back.

    A decision that does not end needs no check: it blocks all pages, including `ping`.
    """

    def __init__(self, checked: MonitoredKarmadaComponents) -> None:
        self._checked = checked
        self._steps = -1
        self._since_seconds = 0.0

    def check(self) -> str:
        schedules = self._checked.schedules
        now_seconds = self._checked.clock.monotonic_seconds()
        if schedules.steps != self._steps or not self._has_ready_bindings():
            self._steps, self._since_seconds = schedules.steps, now_seconds
        limit_seconds = STUCK_WRITES_SECONDS if schedules.must_delay_new_attempt else STUCK_SECONDS
        if now_seconds - self._since_seconds < limit_seconds:
            return ""
        if schedules.must_delay_new_attempt:
            return "bindings are being written, but no write has ended for minutes"
        return "bindings are ready to be scheduled, but no attempt was made for minutes"

    def _has_ready_bindings(self) -> bool:
        checked = self._checked
        return (
            checked.schedules.is_running
            and not checked.stopping.is_set()
            and not checked.schedules.is_held_back()
            and len(checked.queue) > 0
        )
