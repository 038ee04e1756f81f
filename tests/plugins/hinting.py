"""Events put to a plugin's registrations as the queue does."""

from __future__ import annotations

import dataclasses
from typing import Any

from policysched.cluster.objects import objects, storage_objects
from policysched.cluster.pods import pod_shape
from policysched.framework import events, interface
from tests import builders
from tests.plugins import asking

Resource, Action = events.EventResource, events.ActionType
Thing = (
    builders.PodBuilder
    | builders.NodeBuilder
    | objects.Namespace
    | storage_objects.StorageObject
    | None
)


@dataclasses.dataclass(frozen=True)
class Happening:
    """An event and the object before and after it."""

    resource: events.EventResource
    action: events.ActionType
    old: Thing = None
    new: Thing = None


def node_added(node: builders.NodeBuilder) -> Happening:
    """A node appears."""
    return Happening(Resource.NODE, Action.ADD, None, node)


def node_updated(
    action: events.ActionType, old: builders.NodeBuilder, new: builders.NodeBuilder
) -> Happening:
    """A node changes."""
    return Happening(Resource.NODE, action, old, new)


def pod_added(pod: builders.PodBuilder) -> Happening:
    """A placed pod appears."""
    return Happening(Resource.POD, Action.ADD, None, pod)


def pod_deleted(pod: builders.PodBuilder) -> Happening:
    """A placed pod goes."""
    return Happening(Resource.POD, Action.DELETE, pod, None)


def stored(
    resource: events.EventResource,
    *,
    old: storage_objects.StorageObject | None = None,
    new: storage_objects.StorageObject | None = None,
) -> Happening:
    """A storage object appears, changes or goes."""
    action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE_OTHER
    return Happening(resource, action, old, new)


def pod_relabelled(old: builders.PodBuilder, new: builders.PodBuilder) -> Happening:
    """A placed pod gets other labels."""
    return Happening(Resource.POD, Action.UPDATE_POD_LABEL, old, new)


def own_change(
    action: events.ActionType, old: builders.PodBuilder, new: builders.PodBuilder
) -> Happening:
    """The waiting pod itself changes."""
    return Happening(Resource.UNSCHEDULED_POD, action, old, new)


def would_queue(
    plugin: Any,  # any plugin that registers events
    waiting: builders.PodBuilder,
    happening: Happening,
    cluster: builders.Cluster | None = None,
) -> bool:
    """Return whether the event brings the waiting pod back, after one cycle that rejected it."""
    cluster = cluster or builders.make_cache()
    pod = cluster.info(waiting)
    _run_a_cycle(plugin, pod, cluster)
    event = events.ClusterEvent(happening.resource, happening.action)
    old, new = _held(happening.old, cluster), _held(happening.new, cluster)
    registered: list[events.ClusterEventWithHint] = list(plugin.events_to_register())
    return any(
        r.hint is None or r.hint(pod, old, new) is events.QueueingHint.QUEUE
        for r in registered
        if r.event.covers(event)
    )


def _run_a_cycle(
    plugin: interface.Plugin, pod: pod_shape.PodInfo, cluster: builders.Cluster
) -> None:
    snap = cluster.cache.snapshot()
    state = asking.state_for(pod)
    if hasattr(plugin, "pre_filter") and not plugin.pre_filter(state, pod, snap).status.is_success:
        return
    if hasattr(plugin, "filter"):
        plugin.filter(state, pod, snap.view_all_rows())


def _held(thing: Thing, cluster: builders.Cluster) -> events.ClusterObject:
    if isinstance(thing, builders.PodBuilder):
        return cluster.info(thing)
    if isinstance(thing, builders.NodeBuilder):
        return thing.build()
    return thing
