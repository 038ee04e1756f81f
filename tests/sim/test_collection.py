from __future__ import annotations

import random
from collections.abc import Iterable

import msgspec
import pytest

from policysched import clock as clocks
from policysched.cluster.objects import objects
from policysched.sim import api_server, collection
from tests import builders


class Watcher:
    """Keeps what a watch tells."""

    def __init__(self) -> None:
        self.told: list[tuple[str, list[str]]] = []

    def replace(self, items: Iterable[objects.Pod | objects.Node]) -> None:
        """Note the replace."""
        self.told.append(("replace", [i.metadata.name for i in items]))

    def upsert(self, item: objects.Pod | objects.Node) -> None:
        """Note the upsert."""
        self.told.append(("upsert", [item.metadata.name, item.metadata.resource_version]))

    def delete(self, item: objects.Pod | objects.Node) -> None:
        """Note the delete."""
        self.told.append(("delete", [item.metadata.name]))


@pytest.fixture
def server() -> api_server.SimulatedApiServer:
    """Return an API server without objects."""
    return api_server.SimulatedApiServer(clocks.ManualClock(builders.EPOCH), random.Random(1))


def _pod(name: str = "a") -> objects.Pod:
    pod = builders.make_pod(name).build()
    return msgspec.structs.replace(pod, metadata=objects.ObjectMeta(name=name, namespace="default"))


def test_a_created_object_gets_uid_version_and_time(server: api_server.SimulatedApiServer) -> None:
    """What an API server adds to an object is added here too."""
    first, second = server.pods.create(_pod("a")).metadata, server.pods.create(_pod("b")).metadata
    assert first.creation_timestamp == "2026-01-05T12:00:00Z"
    assert (first.resource_version, second.resource_version) == ("1", "2")
    assert len({first.uid, second.uid}) == 2
    assert [len(part) for part in first.uid.split("-")] == [8, 4, 4, 4, 12]


def test_the_same_seed_gives_the_same_uids() -> None:
    """Nothing but the injected generator decides an uid."""
    clock = clocks.ManualClock(builders.EPOCH)
    servers = [api_server.SimulatedApiServer(clock, random.Random(7)) for _ in range(2)]
    uids = [server.pods.create(_pod()).metadata.uid for server in servers]
    assert uids[0] == uids[1]


def test_an_update_keeps_uid_and_creation_time(server: api_server.SimulatedApiServer) -> None:
    """An update changes what it says and the version, not what the object is."""
    created = server.pods.create(_pod())
    meta = objects.ObjectMeta(name="a", namespace="default", labels={"app": "web"})
    updated = server.pods.update(msgspec.structs.replace(created, metadata=meta))
    assert updated.metadata.uid == created.metadata.uid
    assert updated.metadata.creation_timestamp == created.metadata.creation_timestamp
    assert updated.metadata.resource_version == "2"
    assert server.pods.get("a", "default").metadata.labels == {"app": "web"}


def test_an_update_of_an_old_version_is_refused(server: api_server.SimulatedApiServer) -> None:
    """Optimistic concurrency: who read before the last change has to read again."""
    created = server.pods.create(_pod())
    server.pods.update(created)
    with pytest.raises(collection.SimulatedApiError, match="was modified") as caught:
        server.pods.update(created)
    assert caught.value.reason == "Conflict"


def test_an_update_of_another_object_of_that_name_is_refused(
    server: api_server.SimulatedApiServer,
) -> None:
    """A pod that was deleted and made again is another pod."""
    old = server.pods.create(_pod())
    server.pods.delete("a", "default")
    server.pods.create(_pod())
    with pytest.raises(collection.SimulatedApiError, match="uid is of another object"):
        server.pods.update(old)


@pytest.mark.parametrize("operation", ["get", "delete"])
def test_what_is_not_there_is_not_found(
    server: api_server.SimulatedApiServer, operation: str
) -> None:
    """Reading or deleting what does not exist says so."""
    with pytest.raises(collection.SimulatedApiError, match='pods "default/a" not found') as caught:
        getattr(server.pods, operation)("a", "default")
    assert caught.value.reason == "NotFound"


def test_a_name_is_taken_once(server: api_server.SimulatedApiServer) -> None:
    """Creating an object of a name that exists is refused, in the same namespace only."""
    server.pods.create(_pod())
    with pytest.raises(collection.SimulatedApiError, match="already exists"):
        server.pods.create(_pod())
    other = objects.ObjectMeta(name="a", namespace="other")
    server.pods.create(objects.Pod(metadata=other))
    assert len(server.pods) == 2


def test_a_watch_lists_then_tells_changes_in_order_when_delivered(
    server: api_server.SimulatedApiServer,
) -> None:
    """A sink gets the list at once, later changes of all kinds in their order, late."""
    server.pods.create(_pod("a"))
    server.deliver_changes()
    watcher = Watcher()
    server.pods.watch_objects(watcher)
    server.nodes.watch_objects(watcher)
    server.pods.create(_pod("b"))
    server.nodes.create(builders.make_node("n").build())
    server.pods.delete("a", "default")
    told_before_delivery = list(watcher.told)
    assert server.deliver_changes() == 3
    assert told_before_delivery == [("replace", ["a"]), ("replace", [])]
    assert watcher.told[2:] == [("upsert", ["b", "2"]), ("upsert", ["n", "3"]), ("delete", ["a"])]


def test_changes_made_while_delivering_wait_for_the_next_delivery(
    server: api_server.SimulatedApiServer,
) -> None:
    """A sink that writes hears of its own write in the next round."""

    class Writer(Watcher):
        def upsert(self, item: objects.Pod | objects.Node) -> None:
            super().upsert(item)
            if item.metadata.name == "a":
                server.pods.create(_pod("b"))

    writer = Writer()
    server.pods.watch_objects(writer)
    server.pods.create(_pod("a"))
    assert server.deliver_changes() == 1
    assert server.has_undelivered
    assert server.deliver_changes() == 1
    assert [names[0] for _, names in writer.told[1:]] == ["a", "b"]
