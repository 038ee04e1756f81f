"""Track assumed pods that are not being bound yet, so that preemption can requeue them.

Such a pod waits for Permit, or its PreBind plugins are running. Preemption stops the wait or the
plugins, and returns the pod to the queue instead of deleting it
(`framework/runtime/waiting_pods_map.go`, `pods_in_prebind_map.go`).
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
    """Running PreBind plugins, keyed by the uid of their pod."""

    def __init__(self) -> None:
        """Start with no plugins running."""
        self._works: dict[str, _PreBindRun] = {}

    async def run_plugins(
        self, uid: str, plugins: Coroutine[Any, Any, status.Status]
    ) -> status.Status:
        """Run the plugins; return their status, or ERROR if they were stopped."""
        work = self._works[uid] = _PreBindRun(asyncio.get_running_loop().create_task(plugins))
        try:
            answer = await work.task
        except asyncio.CancelledError:
            if not work.stopped_for or not work.task.done():
                raise
            return status.Status(status.Code.ERROR, (work.stopped_for,))
        finally:
            del self._works[uid]
        # A plugin can swallow its cancellation and succeed; the pod is preempted nevertheless.
        return status.Status(status.Code.ERROR, (work.stopped_for,)) if work.stopped_for else answer

    def stop_plugins(self, uid: str, reason: str) -> bool:
        """Stop the PreBind plugins of a pod; return False if none of them is running."""
        work = self._works.get(uid)
        if work is None or work.task.done():
            return False
        work.stopped_for = work.stopped_for or reason
        work.task.cancel()
        return True


@dataclasses.dataclass(frozen=True, slots=True)
class PreemptibleAssumedPods:
    """All assumed pods that wait for Permit or run PreBind plugins."""

    waiting: waiting_pods.WaitingPods
    pre_binding: PodsInPreBind = dataclasses.field(default_factory=PodsInPreBind)

    def preempt_pod(self, uid: str, plugin: str) -> bool:
        """Requeue a pod that `plugin` preempts; return False if it is in neither state."""
        if self.waiting.get(uid) is not None:
            return self.waiting.preempt(uid, plugin, "preempted")
        return self.pre_binding.stop_plugins(uid, f"preempted by {plugin}")
