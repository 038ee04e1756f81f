"""Everything by which `run` writes to the cluster, except for the lease."""

from __future__ import annotations

import asyncio
import logging
import platform
import random
from collections.abc import Coroutine

from policysched import clock as clocks
from policysched.framework import handles
from policysched.kube.events import event_recorder
from policysched.kube.http import client
from policysched.kube.writing import binding, eviction, pod_status, volume_writing
from policysched.scheduler import ports
from policysched.scheduler import scheduler as schedulers

_log = logging.getLogger("policysched")

_FLUSH_SECONDS = 5.0


class ApiWriters:
    """Writes through the API server.

    Attributes:
        recorder: of events, of pods and others.
    """

    def __init__(self, api: client.ApiClient, clock: clocks.Clock) -> None:
        """Write by `api`; nothing is written until `background` runs."""
        instance = f"policysched-{platform.node()}"
        self.recorder = event_recorder.ApiEventRecorder(api, clock, instance=instance)
        self._status_writer = pod_status.ApiPodStatusWriter(api, clock)
        self._evictor = eviction.ApiPodEvictor(api, clock)
        self._binder = binding.ApiBinder(api)
        self._volume_writer = volume_writing.ApiVolumeWriter(api)

    def make_write_ports(self) -> ports.SchedulerPorts:
        """Return the ways out of the loop."""
        return ports.SchedulerPorts(self.recorder, self._status_writer, self._evictor)

    def make_plugin_handle(
        self, scheduler: schedulers.Scheduler, rng: random.Random
    ) -> handles.Handle:
        """Return what plugins are made with; `rng` is for what is left to chance."""
        cache = scheduler.cache
        return handles.Handle(
            self._binder,
            cache.owners,
            scheduler.preemptions,
            cache.storage,
            cache.budgets,
            volume_writer=self._volume_writer,
            rng=rng,
        )

    def list_background_writers(self) -> list[Coroutine[None, None, None]]:
        """Return what writes while everything else goes on."""
        return [self.recorder.run(), self._status_writer.run()]

    async def flush_pending_writes(self) -> None:
        """Let what was decided be told, as far as the API server takes it in time."""
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                await asyncio.gather(self.recorder.flush(), self._status_writer.flush())
        except TimeoutError:
            _log.warning("some events or conditions were not written before the end")
