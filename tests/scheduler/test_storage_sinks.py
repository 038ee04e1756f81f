"""What the watch says of storage objects and budgets, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from policysched.cluster.objects import disruption_budgets, storage_objects
from policysched.framework import events
from tests import builders
from tests import storage_builders as build
from tests.scheduler import fakes

Change = tuple[str, events.ClusterObject, events.ClusterObject]

ITEMS = [
    pytest.param(build.make_volume("x"), "PersistentVolume", id="volume"),
    pytest.param(build.make_claim("x"), "PersistentVolumeClaim", id="claim"),
    pytest.param(build.make_class("x"), "storage.k8s.io/StorageClass", id="class"),
    pytest.param(build.make_csi_node("x"), "storage.k8s.io/CSINode", id="csi node"),
    pytest.param(build.make_driver("x"), "storage.k8s.io/CSIDriver", id="driver"),
    pytest.param(
        build.make_capacity("x", "fast", "1Gi"), "storage.k8s.io/CSIStorageCapacity", id="capacity"
    ),
    pytest.param(
        build.make_attachment("x", "n1", "v"), "storage.k8s.io/VolumeAttachment", id="attachment"
    ),
]


def versioned(item: storage_objects.StorageObject, version: str) -> storage_objects.StorageObject:
    """Return the object in another version."""
    metadata = msgspec.structs.replace(item.metadata, resource_version=version)
    return msgspec.structs.replace(item, metadata=metadata)


@pytest.fixture
def world() -> fakes.World:
    """Return a scheduler without anything."""
    return fakes.World()


@pytest.fixture
def heard(world: fakes.World, monkeypatch: pytest.MonkeyPatch) -> list[Change]:
    """Return what the queue of `world` hears: label, object before, object after."""
    changes: list[Change] = []

    def move(
        event: events.ClusterEvent, old: events.ClusterObject, new: events.ClusterObject
    ) -> None:
        changes.append((event.label, old, new))

    monkeypatch.setattr(world.queue, "move_all_to_active_or_backoff", move)
    return changes


@pytest.mark.parametrize("item, resource", ITEMS)
def test_every_change_is_an_event_of_its_kind(
    world: fakes.World,
    heard: list[Change],
    item: storage_objects.StorageObject,
    resource: str,
) -> None:
    """An object that comes, changes and goes is told with what it was and what it is."""
    sink = world.scheduler.events.storage[type(item)]
    store = world.cache.storage.get_store(type(item))
    first, second = versioned(item, "1"), versioned(item, "2")
    for version in (first, second):
        sink.upsert(version)
        assert list(store) == [version]
    sink.delete(second)
    assert len(store) == 0
    assert heard == [
        (f"{resource}Add", None, first),
        (f"{resource}Update", first, second),
        (f"{resource}Delete", second, None),
    ]


@pytest.mark.parametrize("item, resource", ITEMS)
def test_what_is_not_new_is_not_told(
    world: fakes.World,
    heard: list[Change],
    item: storage_objects.StorageObject,
    resource: str,
) -> None:
    """A relist repeats objects; an object may go before it was known."""
    sink = world.scheduler.events.storage[type(item)]
    sink.delete(item)
    sink.upsert(versioned(item, "1"))
    sink.upsert(versioned(item, "1"))
    assert [label for label, _, _ in heard] == [f"{resource}Add"]


def test_a_list_replaces_everything(world: fakes.World, heard: list[Change]) -> None:
    """Claims that are missing in a list were deleted while nobody watched; namespaces differ."""
    sink = world.scheduler.events.storage[storage_objects.PersistentVolumeClaim]
    gone, stays = build.make_claim("c"), versioned(build.make_claim("c", "other"), "1")
    new = build.make_claim("new")
    for claim in (gone, stays):
        sink.upsert(claim)
    heard.clear()
    sink.replace([stays, new])
    assert heard == [
        ("PersistentVolumeClaimDelete", gone, None),
        ("PersistentVolumeClaimAdd", None, new),
    ]
    assert list(world.cache.storage.claims) == [stays, new]


def test_a_plugin_that_waits_for_updates_hears_of_them() -> None:
    """What a plugin registers as any update covers the event that the sinks send."""
    resource = events.EventResource.PERSISTENT_VOLUME
    waits_for = events.ClusterEvent(resource, events.ActionType.ADD | events.ActionType.UPDATE)
    assert waits_for.covers(events.ClusterEvent(resource, events.ActionType.UPDATE))
    assert not waits_for.covers(events.ClusterEvent(resource, events.ActionType.DELETE))


def budget_names(world: fakes.World) -> list[tuple[str, str, int]]:
    """Return the budgets that are known: namespace, name, disruptions allowed."""
    return [(b.namespace, b.name, b.disruptions_allowed) for b in world.cache.budgets]


def test_budgets_are_kept_and_move_no_pod(world: fakes.World, heard: list[Change]) -> None:
    """Preemption finds the newest state of every budget; nothing is tried again for it."""
    sink = world.scheduler.events.budgets
    listed: Sequence[disruption_budgets.PodDisruptionBudget] = [
        build.make_budget("a", selector=builders.label_selector(app="a")),
        build.make_budget("a", "other"),
    ]
    sink.replace(listed)
    sink.upsert(build.make_budget("a", allowed=3))
    assert budget_names(world) == [("default", "a", 3), ("other", "a", 0)]
    sink.delete(listed[1])
    assert budget_names(world) == [("default", "a", 3)]
    sink.replace([build.make_budget("b")])
    assert budget_names(world) == [("default", "b", 0)]
    assert heard == []
