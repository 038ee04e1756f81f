"""Delete pods gracefully like a kubelet: a pod is removed after its grace period."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Awaitable, Callable

import msgspec

from policysched.cluster.objects import objects
from policysched.sim import collection


class GracefulTerminations:
    """Starts and completes graceful deletions of pods.

    Attributes:
        grace_seconds: returns the grace period of a pod that has a node; by default 0.
    """

    def __init__(
        self,
        pods: collection.ObjectCollection[objects.Pod],
        sleep: Callable[[float], Awaitable[None]],
        now: Callable[[], datetime.datetime],
    ) -> None:
        """Delete from `pods`; wait for grace periods with `sleep`."""
        self._pods = pods
        self._sleep = sleep
        self._now = now
        self._tasks: set[asyncio.Task[None]] = set()
        self.grace_seconds: Callable[[objects.Pod], float] = lambda _pod: 0.0

    def begin_deletion(self, pod: objects.Pod) -> None:
        """Start the deletion of a pod that is not terminating yet; needs a running event loop."""
        if pod.metadata.deletion_timestamp is not None:
            return
        grace_seconds = self.grace_seconds(pod) if pod.spec.node_name else 0.0
        if grace_seconds <= 0:
            self._pods.delete(pod.metadata.name, pod.metadata.namespace)
            return
        end = self._now() + datetime.timedelta(seconds=grace_seconds)
        told = msgspec.structs.replace(
            pod.metadata, deletion_timestamp=end.strftime("%Y-%m-%dT%H:%M:%SZ")
        )
        self._pods.update(msgspec.structs.replace(pod, metadata=told))
        ending = asyncio.get_running_loop().create_task(self._end_deletion(pod, grace_seconds))
        self._tasks.add(ending)
        ending.add_done_callback(self._tasks.discard)

    async def _end_deletion(self, pod: objects.Pod, grace_seconds: float) -> None:
        await self._sleep(grace_seconds)
        current = self._pods.find(pod.metadata.name, pod.metadata.namespace)
        if current is not None and current.metadata.uid == pod.metadata.uid:
            self._pods.delete(pod.metadata.name, pod.metadata.namespace)
