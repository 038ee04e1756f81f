"""Decide whether an event makes another scheduling attempt worthwhile.

Plugins register the events that can change their decision, each with an optional function (the
queueing hint) that checks the event in detail. Only plugins that rejected a pod are called
(KEP-4247;
`backend/queue/scheduling_queue.go`, isPodWorthRequeuing).
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from policysched.cluster.pods import pod_shape
from policysched.framework import events, queued_pod
from policysched.queue import active_queue, queue_profiles, unschedulable_pods

_log = logging.getLogger(__name__)


class QueueingStrategy(enum.Enum):
    """How a pod is requeued after an event."""

    SKIP = enum.auto()
    AFTER_BACKOFF = enum.auto()
    IMMEDIATELY = enum.auto()


Hints: TypeAlias = tuple[events.QueueingHintFn | None, ...]
Interest: TypeAlias = Mapping[str, Mapping[str, Hints]]
"""Profile → plugin → its hints for one event; a hint of None always queues."""


class QueueingHints:
    """The registrations of all plugins of all profiles."""

    def __init__(self, profiles: queue_profiles.QueueProfiles, *, asks: bool = True) -> None:
        """Collect the registered events of the plugins in `profiles`.

        If `asks` is False, hints are not called: every registered event requeues the pod.
        """
        self._find_profile_name = profiles.find_name
        self._registered = {
            name: prof.events_to_register() for name, prof in profiles.by_name.items()
        }
        self._asks = asks
        self._interest: dict[events.ClusterEvent, Interest] = {}

    def find_waiting_plugins(self, event: events.ClusterEvent) -> Interest:
        """Return the plugins that wait for `event`; empty if there are none."""
        found = self._interest.get(event)
        if found is None:
            by_profile = {
                name: self._find_hints_by_plugin(event, by_plugin)
                for name, by_plugin in self._registered.items()
            }
            found = {name: plugins for name, plugins in by_profile.items() if plugins}
            self._interest[event] = found
        return found

    def _find_hints_by_plugin(
        self,
        event: events.ClusterEvent,
        registered: Mapping[str, Sequence[events.ClusterEventWithHint]],
    ) -> Mapping[str, Hints]:
        """Return the hints of the registrations that cover `event`, keyed by plugin."""
        by_plugin = {
            plugin: tuple(
                r.hint if self._asks else None for r in registrations if r.event.covers(event)
            )
            for plugin, registrations in registered.items()
        }
        return {plugin: hints for plugin, hints in by_plugin.items() if hints}

    def may_open_gate(self, queued: queued_pod.QueuedPodInfo, event: events.ClusterEvent) -> bool:
        """Return whether a pod is not gated, or is gated by a plugin that waits for `event`.

        A wildcard event counts only for plugins that registered the wildcard resource.
        """
        if not queued.is_gated:
            return True
        profile_name = self._find_profile_name(queued.info)
        if event.resource is not events.EventResource.WILDCARD:
            return queued.gating_plugin in self.find_waiting_plugins(event).get(profile_name, {})
        registered = self._registered.get(profile_name, {}).get(queued.gating_plugin, ())
        return any(r.event.resource is events.EventResource.WILDCARD for r in registered)

    def choose_queueing_strategy(
        self, queued: queued_pod.QueuedPodInfo, happened: active_queue.ObservedClusterEvent
    ) -> QueueingStrategy:
        """Return whether and how the event `happened` requeues a pod that failed before it."""
        rejecting = unschedulable_pods.list_rejecting_plugins(queued)
        if not rejecting:
            return QueueingStrategy.AFTER_BACKOFF
        if happened.event.resource is events.EventResource.WILDCARD:
            return QueueingStrategy.AFTER_BACKOFF
        profile_name = self._find_profile_name(queued.info)
        best = QueueingStrategy.SKIP
        for plugin, hints in (
            self.find_waiting_plugins(happened.event).get(profile_name, {}).items()
        ):
            if plugin not in rejecting or not _does_any_hint_help(hints, queued.info, happened):
                continue
            if plugin in queued.pending_plugins:
                return QueueingStrategy.IMMEDIATELY
            best = QueueingStrategy.AFTER_BACKOFF
            if not queued.pending_plugins:
                break
        return best

    def choose_strategy_after_attempt(
        self,
        queued: queued_pod.QueuedPodInfo,
        happened: Iterable[active_queue.ObservedClusterEvent],
    ) -> QueueingStrategy:
        """Return how the events since a pod's pop requeue it after a failed attempt."""
        if not queued.unschedulable_plugins and not queued.pending_plugins:
            return QueueingStrategy.AFTER_BACKOFF
        best = QueueingStrategy.SKIP
        for each in happened:
            strategy = self.choose_queueing_strategy(queued, each)
            if strategy is QueueingStrategy.IMMEDIATELY:
                return strategy
            if strategy is QueueingStrategy.AFTER_BACKOFF:
                best = strategy
                if not queued.pending_plugins:
                    break
        return best


def _does_any_hint_help(
    hints: Hints, pod: pod_shape.PodInfo, happened: active_queue.ObservedClusterEvent
) -> bool:
    return any(hint is None or _does_hint_help(hint, pod, happened) for hint in hints)


def _does_hint_help(
    hint: events.QueueingHintFn, pod: pod_shape.PodInfo, happened: active_queue.ObservedClusterEvent
) -> bool:
    """Return whether a queueing hint requeues the pod; a failure of the hint counts as yes."""
    try:
        answer = hint(pod, happened.old, happened.new)
    except Exception:  # noqa: BLE001 - plugins are third-party code
        # A broken hint could hold a pod back forever; one additional attempt is harmless.
        _log.exception("queueing hint failed for pod %s on %s", pod.key, happened.event.label)
        return True
    if answer is events.QueueingHint.SKIP:
        return False
    if answer is not events.QueueingHint.QUEUE:
        _log.error(
            "queueing hint failed for pod %s on %s: it must answer api.QueueingHint, not %r",
            *(pod.key, happened.event.label, answer),
        )
    return True
