"""The /livez and /readyz checks of a running scheduler."""

from __future__ import annotations

from policysched import clock as clocks
from policysched.app import context
from policysched.serving import health

_OVERDUE_SECONDS = 20.0
"""Tolerance for a leader that has not noticed its lost lease (kube-scheduler's server.go)."""
_STUCK_SECONDS = 120.0
"""Time without an attempt, despite ready pods, until the check fails; cycles are far shorter."""


def make_scheduler_health_checks(components: context.ProcessComponents) -> health.HealthChecks:
    """Return the checks of a process; they must be called only while it runs."""
    live: dict[str, health.Check] = {
        "leaderElection": lambda: _check_lease_expiry(components),
        "scheduling": _PodProgressCheck(components, components.clock).check,
    }
    ready: dict[str, health.Check] = {
        "leaderElection": lambda: _check_lease_expiry(components),
        "informer-sync": lambda: components.sync.describe_unsynced_profiles(
            components.profiles.get_profiles()
        ),
        "policies": lambda: "" if components.profiles.current.by_name else "there are no profiles",
        "shutdown": lambda: "the process is shutting down" if components.stopping.is_set() else "",
    }
    return health.HealthChecks(live, ready)


def _check_lease_expiry(components: context.ProcessComponents) -> str:
    """Fail if this process believes it leads, although its lease has expired for other processes.

    A standby passes.
    """
    if components.elector.overdue_seconds() > _OVERDUE_SECONDS:
        return "the lease has expired, and leader election has not noticed"
    return ""


class _PodProgressCheck:
    """Checks that the scheduler attempts to schedule ready pods.

    A cycle that does not end needs no check: it blocks all pages, including `ping`.
    """

    def __init__(self, components: context.ProcessComponents, clock: clocks.Clock) -> None:
        self._components = components
        self._clock = clock
        self._attempts = -1
        self._since_seconds = 0.0

    def check(self) -> str:
        attempts = sum(self._components.scheduler.counters.attempts.values())
        now_seconds = self._clock.monotonic_seconds()
        if attempts != self._attempts or not self._has_ready_pods():
            self._attempts, self._since_seconds = attempts, now_seconds
        if now_seconds - self._since_seconds >= _STUCK_SECONDS:
            return "pods are ready to be scheduled, but no attempt was made for minutes"
        return ""

    def _has_ready_pods(self) -> bool:
        """Return whether pods are ready and the scheduler is not waiting for the API server."""
        components = self._components
        return (
            components.elector.is_leading
            and not components.stopping.is_set()
            and components.sync.is_ready
            and components.reflectors.pods.synced.is_set()
            and components.scheduler.queue.count_pending_pods().get("active", 0) > 0
            and components.scheduler.bindings_in_flight < components.config.parallel_binds
        )
