"""From a chosen node to a bound pod: Reserve, Permit, PreBind, Bind and PostBind, in order."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state, interface, status

_log = logging.getLogger(__name__)

_SCOPED = ("reserve", "unreserve", "pre_bind", "assume_written")
"""Points at which plugins are left out for pods to which they do not apply."""
_WORKING_PRE_BINDS = "policysched/working-pre-binds"


@dataclasses.dataclass(frozen=True, slots=True)
class _ConcernedPlugins:
    """The plugins that a pod concerns, at the points of _SCOPED in their order."""

    reserving: Sequence[interface.ReservePlugin]
    unreserving: Sequence[interface.ReservePlugin]
    pre_binding: Sequence[interface.PreBindPlugin]
    assuming: Sequence[interface.AssumingPlugin]


class BindingPoints:
    """Runs the plugins of a profile that act once a node was chosen for a pod."""

    def __init__(self, acting: Callable[[str], Iterable[tuple[int, Any]]]) -> None:
        """Take what tells the numbered plugins that act at an extension point, in order."""

        def plugins(point: str) -> list[Any]:
            return [plugin for _, plugin in acting(point)]

        self._acting = acting
        self._numbers = frozenset(number for point in _SCOPED for number, _ in acting(point))
        self._concerned: dict[frozenset[int], _ConcernedPlugins] = {}
        self._permitting: Sequence[interface.PermitPlugin] = plugins("permit")
        self._binding: Sequence[interface.BindPlugin] = plugins("bind")
        self._post_binding: Sequence[interface.PostBindPlugin] = plugins("post_bind")

    def _find_concerned(self, state: cycle_state.CycleState) -> _ConcernedPlugins:
        left_out = self._numbers & state.left_out  # few of the many that Filter leaves out
        found = self._concerned.get(left_out)
        if found is None:
            found = self._concerned[left_out] = _ConcernedPlugins(
                *(
                    [plugin for number, plugin in self._acting(point) if number not in left_out]
                    for point in _SCOPED
                )
            )
        return found

    def reserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Let every plugin claim what the pod needs; the first failure ends it."""
        for plugin in self._find_concerned(state).reserving:
            answer = asking.ask(plugin, "Reserve", plugin.reserve, state, pod, node_name)
            if not answer.is_success:
                return dataclasses.replace(answer, plugin=plugin.name)
        return status.SUCCESS

    def unreserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Give everything back, in reverse order."""
        for plugin in reversed(self._find_concerned(state).unreserving):
            try:
                plugin.unreserve(state, pod, node_name)
            except Exception:  # noqa: BLE001 - plugins are third-party code
                # The others, and the cache, must get back what they gave all the same.
                _log.exception("Unreserve of plugin %s failed for pod %s", plugin.name, pod.key)

    def permit(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> tuple[status.Status, dict[str, float]]:
        """Ask for approval; WAIT comes with the seconds each delaying plugin allows."""
        waits: dict[str, float] = {}
        for plugin in self._permitting:
            answer, timeout_seconds = asking.ask(
                plugin, "Permit", plugin.permit, state, pod, node_name
            )
            if answer.code is status.Code.WAIT:
                waits[plugin.name] = timeout_seconds
            elif not answer.is_success:
                return dataclasses.replace(answer, plugin=plugin.name), {}
        return (status.Status(status.Code.WAIT) if waits else status.SUCCESS), waits

    def pre_bind_pre_flight(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Return SUCCESS when PreBind will have work, SKIP when not, or the first ERROR.

        Plugins that skip are left out of `pre_bind` (runtime/framework.go, RunPreBindPreFlights).
        """
        working = []
        for plugin in self._find_concerned(state).pre_binding:
            answer = status.SUCCESS
            if hasattr(plugin, "pre_bind_pre_flight"):
                looking = cast("interface.PreBindPreFlightPlugin", plugin)
                method = looking.pre_bind_pre_flight
                answer = asking.ask(looking, "PreBindPreFlight", method, state, pod, node_name)
            if answer.is_success:
                working.append(plugin)
            elif not answer.is_skip:
                doing = f'running PreBindPreFlight "{plugin.name}"'
                return status.error(plugin.name, doing, answer)
        state.write(_WORKING_PRE_BINDS, working)
        return status.SUCCESS if working else status.SKIP

    async def pre_bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Run the PreBind plugins that did not skip; the first failure ends it."""
        working: Sequence[interface.PreBindPlugin] | None = state.find(_WORKING_PRE_BINDS, list)
        for plugin in self._find_concerned(state).pre_binding if working is None else working:
            answer = await asking.ask_async(
                plugin, "PreBind", plugin.pre_bind, state, pod, node_name
            )
            if not answer.is_success:
                return dataclasses.replace(answer, plugin=plugin.name)
        return status.SUCCESS

    def assume_written(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Let plugins assume the writes of their PreBind."""
        for plugin in self._find_concerned(state).assuming:
            plugin.assume_written(state, pod, node_name)

    async def bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Run Bind plugins until one does not SKIP."""
        for plugin in self._binding:
            answer = await asking.ask_async(plugin, "Bind", plugin.bind, state, pod, node_name)
            if not answer.is_skip:
                return dataclasses.replace(answer, plugin=plugin.name)
        return status.Status(status.Code.ERROR, ("no Bind plugin took the pod",))

    async def post_bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Tell PostBind plugins."""
        for plugin in self._post_binding:
            await plugin.post_bind(state, pod, node_name)
