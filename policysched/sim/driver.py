"""Runs the real scheduler against the simulated API server, step by step and in virtual time."""

from __future__ import annotations

from policysched.scheduler import scheduler as schedulers
from policysched.sim import api_server, virtual_time


class SimulationDriver:
    """A scheduler and its cluster, moved forward by whoever holds this.

    Between two calls nothing happens. Everything a call does happens in a fixed order, so that the
    same calls on the same seed end in the same cluster.
    """

    def __init__(
        self,
        server: api_server.SimulatedApiServer,
        scheduler: schedulers.Scheduler,
        time: virtual_time.VirtualTime,
    ) -> None:
        """Let `scheduler`, whose ports lead to `server`, watch it."""
        self._server = server
        self._scheduler = scheduler
        self._time = time
        server.namespaces.watch_objects(scheduler.events.namespaces)
        server.nodes.watch_objects(scheduler.events.nodes)
        for kind, sink in scheduler.events.storage.items():
            server.get_storage_collection(kind).watch_objects(sink)
        server.budgets.watch_objects(scheduler.events.budgets)
        server.pods.watch_objects(scheduler.events.pods)

    async def schedule_one_step(self) -> bool:
        """Tell the scheduler of all changes and let it schedule one pod; False if it had none."""
        self._server.deliver_changes()
        self._scheduler.run_timers()
        scheduled = self._scheduler.schedule_one()
        await virtual_time.run_ready_tasks()
        return scheduled

    async def run_until_idle(self) -> None:
        """Schedule until no pod is ready and every change has been told."""
        while await self.schedule_one_step() or self._server.has_undelivered:
            pass

    async def advance_time(self, seconds: float) -> None:
        """Let `seconds` go by; timers of the scheduler and slow bindings act at their times."""
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
