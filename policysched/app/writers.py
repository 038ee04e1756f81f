"""All writers of `run` to the cluster, except the writer of the lease."""

from __future__ import annotations

import asyncio
import logging
import platform
import random
from collections.abc import Callable, Coroutine

from policysched import clock as clocks
from policysched.cluster.pods import pod_shape
from policysched.framework import handles
from policysched.kube.events import event_recorder
from policysched.kube.http import client
from policysched.kube.writing import (
    binding,
    claim_writing,
    eviction,
    pod_status,
    volume_writing,
)
from policysched.scheduler import ports
from policysched.scheduler import scheduler as schedulers

_log = logging.getLogger("policysched")

_FLUSH_SECONDS = 5.0


class ApiWriters:
    """Writes bindings, evictions, status, volumes and events through the API server.

    Attributes:
        recorder: records events about pods and other objects.
    """

    def __init__(self, api: client.ApiClient, clock: clocks.Clock) -> None:
        """Write through `api`; events and status need the tasks of `list_background_writers`."""
        self._clock = clock
        instance = f"policysched-{platform.node()}"
        self.recorder = event_recorder.ApiEventRecorder(api, clock, instance=instance)
        self._status_writer = pod_status.ApiPodStatusWriter(api, clock)
        self._evictor = eviction.ApiPodEvictor(api, clock)
        self._api = api
        self._volume_writer = volume_writing.ApiVolumeWriter(api)
        self._claim_writer = claim_writing.ApiClaimWriter(api)

    def make_write_ports(self, extenders: ports.Extenders | None) -> ports.SchedulerPorts:
        """Return the interfaces through which the scheduling loop writes and asks `extenders`."""
        return ports.SchedulerPorts(
            self.recorder, self._status_writer, self._evictor, extenders=extenders
        )

    def make_plugin_handle(
        self,
        scheduler: schedulers.Scheduler,
        rng: random.Random,
        make_annotations: Callable[[], dict[str, str]] = dict,
    ) -> handles.Handle:
        """Return the handle that plugins receive.

        Args:
            scheduler: provides the state of the cluster.
            rng: makes the random choices of plugins.
            make_annotations: returns the annotations that a pod gets when it is bound.
        """
        cache = scheduler.cache
        return handles.Handle(
            binding.ApiBinder(self._api, make_annotations),
            cache.owners,
            scheduler.preemptions,
            cache.storage,
            cache.budgets,
            cache.devices,
            volume_writer=self._volume_writer,
            claim_writer=self._claim_writer,
            clock=self._clock,
            start_task=scheduler.start_task,
            record_event=self._record_normal_event,
            measured_claims=scheduler.measured_claims,
            rng=rng,
            waiting_pods=scheduler.waiting_pods,
        )

    def _record_normal_event(
        self, pod: pod_shape.PodInfo, reason: str, action: str, note: str
    ) -> None:
        name = pod.pod.spec.scheduler_name
        self.recorder.record(pod, ports.EventType.NORMAL, reason, action, note, name)

    def list_background_writers(self) -> list[Coroutine[None, None, None]]:
        """Return the coroutines that write events and status in the background."""
        return [self.recorder.run(), self._status_writer.run()]

    async def flush_pending_writes(self) -> None:
        """Flush pending events and conditions within a timeout."""
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                await asyncio.gather(self.recorder.flush(), self._status_writer.flush())
        except TimeoutError:
            _log.warning("some events or conditions were not written before shutdown")
