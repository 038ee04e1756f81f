"""Pods that have a place and are not bound yet: whoever preempts them need not delete them.

They wait for Permit, or their PreBind plugins are at work. Both can be stopped; the pod goes back
to the queue (`framework/runtime/waiting_pods_map.go`, `pods_in_prebind_map.go`).
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Coroutine
from typing import Any

from policysched.framework import status, waiting_pods


@dataclasses.dataclass(slots=True, eq=False)
class _PreBindRun:
    task: asyncio.Task[status.Status]
    stopped_for: str = ""


class PodsInPreBind:
    """Running PreBind plugins, by uid of their pod."""

    def __init__(self) -> None:
        """Start with none."""
        self._works: dict[str, _PreBindRun] = {}

    async def run_plugins(
        self, uid: str, plugins: Coroutine[Any, Any, status.Status]
    ) -> status.Status:
        """Return what the plugins answer, ERROR when they were stopped."""
        work = self._works[uid] = _PreBindRun(asyncio.get_running_loop().create_task(plugins))
        try:
            answer = await work.task
        except asyncio.CancelledError:
            if not work.stopped_for or not work.task.done():
                raise
            return status.Status(status.Code.ERROR, (work.stopped_for,))
        finally:
            del self._works[uid]
        # Plugins that do not let themselves be stopped are too late all the same.
        return status.Status(status.Code.ERROR, (work.stopped_for,)) if work.stopped_for else answer

    def stop_plugins(self, uid: str, reason: str) -> bool:
        """Stop the plugins of a pod; False when none are at work, so that it may be bound."""
        work = self._works.get(uid)
        if work is None or work.task.done():
            return False
        work.stopped_for = work.stopped_for or reason
        work.task.cancel()
        return True


@dataclasses.dataclass(frozen=True, slots=True)
class UnboundAssumedPods:
    """All pods that have a place and are not bound yet, but for those that are being bound."""

    waiting: waiting_pods.WaitingPods
    pre_binding: PodsInPreBind = dataclasses.field(default_factory=PodsInPreBind)

    def preempt_pod(self, uid: str, plugin: str) -> bool:
        """Send a pod back to the queue for `plugin`; False when it is none of them."""
        if self.waiting.get(uid) is not None:
            return self.waiting.preempt(uid, plugin, "preempted")
        return self.pre_binding.stop_plugins(uid, f"preempted by {plugin}")
