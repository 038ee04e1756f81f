"""Assumptions about volumes: they stand until they are given up, or the API server tells more."""

from __future__ import annotations

import msgspec
import pytest

from policysched.cluster.objects import storage_objects
from policysched.cluster.storage import assumed_volumes, storage
from tests import storage_builders

OWNER = storage_objects.ClaimReference(namespace="default", name="c")


def volume(version: str, *, uid: str = "uid-v", is_taken: bool = False) -> object:
    """Return the volume `v` of class `k` in a version, perhaps promised."""
    made = storage_builders.make_volume("v", class_name="k", claim=OWNER if is_taken else None)
    meta = msgspec.structs.replace(made.metadata, resource_version=version, uid=uid)
    return msgspec.structs.replace(made, metadata=meta)


class Told:
    """A store with one volume, and what is assumed about it."""

    def __init__(self) -> None:
        self.storage = storage.Storage()
        self.volumes = self.storage.assumed.volumes
        self.tell(volume("1"))
        self.assume(volume("1", is_taken=True))

    def tell(self, item: object) -> None:
        """Let the API server tell of the volume."""
        assert isinstance(item, storage_objects.PersistentVolume)
        self.storage.volumes.set(item)

    def assume(self, item: object) -> None:
        """Assume something about the volume."""
        assert isinstance(item, storage_objects.PersistentVolume)
        self.volumes.assume(item)

    def restore(self, item: object) -> None:
        """Give it up."""
        assert isinstance(item, storage_objects.PersistentVolume)
        self.volumes.restore(item)

    @property
    def is_taken(self) -> bool:
        """Whether the volume is seen as promised, by name and by class alike."""
        (by_class,) = self.volumes.list_group("k")
        assert self.volumes.get("v") == by_class
        return by_class.spec.claim_ref is not None


def test_an_assumption_stands_until_it_is_given_up() -> None:
    """The object is seen as assumed, the store itself does not change."""
    told = Told()
    assert told.is_taken
    assert told.storage.volumes.get("v") == volume("1")
    told.restore(volume("1"))
    assert not told.is_taken
    assert told.volumes.count == 0


@pytest.mark.parametrize(
    "news",
    [
        pytest.param(volume("2"), id="a newer version"),
        pytest.param(volume("1", uid="another"), id="another object of that name"),
    ],
)
def test_what_the_api_server_tells_wins(news: object) -> None:
    """A change of the object ends every assumption about it."""
    told = Told()
    told.tell(news)
    assert not told.is_taken
    assert told.volumes.count == 0


def test_an_object_that_is_gone_is_not_assumed() -> None:
    """There is no assumption without its object, also not when one of that name comes again."""
    told = Told()
    told.storage.volumes.remove("v")
    assert told.volumes.get("v") is None
    assert told.volumes.list_group("k") == []
    told.tell(volume("3"))
    assert not told.is_taken


def test_only_the_assumption_about_that_version_is_given_up() -> None:
    """What has been written is in a newer version, about which nothing is assumed."""
    told = Told()
    told.restore(volume("2"))
    assert told.is_taken


def test_changes_are_told_whoever_made_them() -> None:
    """Objects that were told of, assumed or restored have changed; others have not."""
    told = Told()
    moment = told.volumes.cursor
    assert told.volumes.list_changes_since(moment) == set()
    told.restore(volume("1"))
    assert told.volumes.list_changes_since(moment) == {("", "v")}
    moment = told.volumes.cursor
    told.tell(volume("2"))
    assert told.volumes.list_changes_since(moment) == {("", "v")}
    assert isinstance(told.volumes, assumed_volumes.AssumedObjects)
