"""DeviceClasses, and the extended resources that they provide."""

from __future__ import annotations

import msgspec
import pytest

from policysched.cluster.devices import classes
from policysched.cluster.objects import device_objects
from tests.device_builders import make_class

RESOURCE = "example.com/gpu"


def _class(
    name: str, created: str = "2026-01-05T12:00:00Z", resource: str | None = RESOURCE
) -> device_objects.DeviceClass:
    made = make_class(name, extendedResourceName=resource)
    metadata = msgspec.structs.replace(made.metadata, creation_timestamp=created)
    return msgspec.structs.replace(made, metadata=metadata)


def _find(*items: device_objects.DeviceClass, resource: str = RESOURCE) -> str | None:
    found = classes.DeviceClasses(items).find_class_of_resource(resource)
    return None if found is None else found.metadata.name


@pytest.mark.parametrize("turn", [1, -1])
def test_of_several_classes_the_newest_provides_a_resource(turn: int) -> None:
    """And of those the first by name, in whichever order they arrive."""
    old, late = "2026-01-05T12:00:00Z", "2026-01-05T12:00:01Z"
    assert _find(*[_class("a", old), _class("b", late)][::turn]) == "b"
    assert _find(*[_class("a", late), _class("b", late)][::turn]) == "a"


def test_each_class_provides_a_resource_of_its_own_name() -> None:
    """Whatever else it provides."""
    assert _find(_class("a"), resource="deviceclass.resource.kubernetes.io/a") == "a"
    assert _find(_class("a"), resource="deviceclass.resource.kubernetes.io/b") is None
    assert _find(_class("a"), resource="example.com/other") is None


def test_classes_change() -> None:
    """A class that goes, or provides something else, leaves the resource to the next one."""
    known = classes.DeviceClasses([_class("a"), _class("b")])
    assert known.find_class_of_resource(RESOURCE) == _class("a")
    assert known.set(_class("a", resource=None)) == _class("a")
    assert known.find_class_of_resource(RESOURCE) == _class("b")
    assert known.remove("b") == _class("b")
    assert known.find_class_of_resource(RESOURCE) is None
    assert known.remove("b") is None
    assert known.get("b") is None


def test_each_change_has_a_generation() -> None:
    """What was found with the classes of one generation is not used in another."""
    known = classes.DeviceClasses()
    seen = {(known.generation, known.resource_generation)}
    known.set(_class("a"))
    seen.add((known.generation, known.resource_generation))
    before = known.resource_generation
    known.set(make_changed(_class("a")))
    assert known.resource_generation == before
    seen.add((known.generation, known.resource_generation))
    known.remove("unknown")
    known.remove("a")
    seen.add((known.generation, known.resource_generation))
    assert len(seen) == 4


def make_changed(item: device_objects.DeviceClass) -> device_objects.DeviceClass:
    """Return a class with a selector, which provides the same as before."""
    selectors = make_class("x", "true").spec.selectors
    return msgspec.structs.replace(
        item, spec=msgspec.structs.replace(item.spec, selectors=selectors)
    )
