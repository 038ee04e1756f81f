"""Drive the real scheduler against the simulated API server, step by step in virtual time."""

from __future__ import annotations

from policysched.scheduler import scheduler as schedulers
from policysched.sim import api_server, virtual_time


class SimulationDriver:
    """A scheduler and its simulated cluster, which advance only by explicit calls.

    Each call does its work in a fixed order, so the same calls with the same seed lead to the same
    cluster.
    """

    def __init__(
        self,
        server: api_server.SimulatedApiServer,
        scheduler: schedulers.Scheduler,
        time: virtual_time.VirtualTime,
    ) -> None:
        """Connect the watches of `server` to `scheduler`, whose ports `server` must implement."""
        self._server = server
        self._scheduler = scheduler
        self._time = time
        server.namespaces.watch_objects(scheduler.events.namespaces)
        server.nodes.watch_objects(scheduler.events.nodes)
        for kind, sink in scheduler.events.storage.items():
            server.get_storage_collection(kind).watch_objects(sink)
        server.budgets.watch_objects(scheduler.events.budgets)
        server.pods.watch_objects(scheduler.events.pods)

    async def deliver_and_schedule_pod(self) -> bool:
        """Deliver all changes and schedule one pod; return False if no pod is ready."""
        self._server.deliver_changes()
        self._scheduler.run_timers()
        scheduled = self._scheduler.schedule_one()
        await virtual_time.run_ready_tasks()
        return scheduled

    async def run_until_idle(self) -> None:
        """Schedule until no pod is ready and all changes are delivered."""
        while await self.deliver_and_schedule_pod() or self._server.has_undelivered:
            pass

    async def advance_time(self, seconds: float) -> None:
        """Advance the clock, stopping at timers of the scheduler and ends of sleeps."""
        end_seconds = self._time.clock.monotonic_seconds() + seconds
        await self.run_until_idle()
        while True:
            now_seconds = self._time.clock.monotonic_seconds()
            due = [end_seconds, self._time.next_wake_seconds, self._scheduler.next_timer_seconds()]
            next_seconds = min(t for t in due if t is not None)
            await self._time.advance(max(0.0, next_seconds - now_seconds))
            await self.run_until_idle()
            if next_seconds >= end_seconds:
                return
