"""DefaultBinder: bind pods through the binding subresource of the API server.

Source: `plugins/defaultbinder/default_binder.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, handles, interface, status
from policysched.plugins import names


class DefaultBinder:
    """Binds pods through the binder of the handle; failures become an error status."""

    name = names.DEFAULT_BINDER

    def __init__(self, binder: handles.Binder) -> None:
        """Bind through `binder`."""
        self._binder = binder

    async def bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Bind the pod; return ERROR with the message of the API server if that fails."""
        del state
        refused = await self._binder.bind(pod, node_name)
        if refused is None:
            return status.SUCCESS
        return status.Status(status.Code.ERROR, (refused.message,), self.name)


if TYPE_CHECKING:
    _bind: type[interface.BindPlugin] = DefaultBinder
