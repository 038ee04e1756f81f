"""The /livez and /readyz checks of a running scheduler."""

from __future__ import annotations

from policysched import clock as clocks
from policysched.app import context
from policysched.serving import health

_OVERDUE_SECONDS = 20.0
"""Tolerance for a leader that has not noticed its lost lease (kube-scheduler's server.go)."""
_STUCK_SECONDS = 120.0
"""Time without an attempt, despite ready pods, until the check fails; cycles are far shorter."""


def make_scheduler_health_checks(joined: context.ProcessComponents) -> health.HealthChecks:
    """Return the checks of a process; they must be called only while it runs."""
    live: dict[str, health.Check] = {
        "leaderElection": lambda: _check_lease_expiry(joined),
        "scheduling": _PodProgressCheck(joined, joined.clock).check,
    }
    ready: dict[str, health.Check] = {
        "leaderElection": lambda: _check_lease_expiry(joined),
        "informer-sync": lambda: joined.sync.describe_unsynced_profiles(
            joined.profiles.get_profiles()
        ),
        "policies": lambda: "" if joined.profiles.current.by_name else "there are no profiles",
        "shutdown": lambda: "the process is shutting down" if joined.stopping.is_set() else "",
    }
    return health.HealthChecks(live, ready)


def _check_lease_expiry(joined: context.ProcessComponents) -> str:
    """Fail if this process believes it leads, although its lease has expired for other processes.

    A standby passes.
    """
    if joined.elector.overdue_seconds() > _OVERDUE_SECONDS:
        return "the lease has expired, and leader election has not noticed"
    return ""


class _PodProgressCheck:
    """Checks that the scheduler attempts to schedule ready pods.

    A cycle that does not end needs no check: it blocks all pages, including `ping`.
    """

    def __init__(self, joined: context.ProcessComponents, clock: clocks.Clock) -> None:
        self._joined = joined
        self._clock = clock
        self._attempts = -1
        self._since_seconds = 0.0

    def check(self) -> str:
        attempts = sum(self._joined.scheduler.counters.attempts.values())
        now_seconds = self._clock.monotonic_seconds()
        if attempts != self._attempts or not self._has_ready_pods():
            self._attempts, self._since_seconds = attempts, now_seconds
        if now_seconds - self._since_seconds >= _STUCK_SECONDS:
            return "pods are ready to be scheduled, but no attempt was made for minutes"
        return ""

    def _has_ready_pods(self) -> bool:
        """Return whether pods are ready and the scheduler is not waiting for the API server."""
        joined = self._joined
        return (
            joined.elector.is_leading
            and not joined.stopping.is_set()
            and joined.sync.is_ready
            and joined.reflectors.pods.synced.is_set()
            and joined.scheduler.queue.count_pending_pods().get("active", 0) > 0
            and joined.scheduler.bindings_in_flight < joined.config.parallel_binds
        )
