"""ResourceClaims that are observed, assumed and in flight."""

from __future__ import annotations

import msgspec
import pytest

from policysched.cluster.devices import claims
from policysched.cluster.devices.slice_devices import DeviceId
from policysched.cluster.objects import device_objects, objects
from tests.device_builders import DRIVER, make_claim, make_request, make_result

Claim = device_objects.ResourceClaim
DEVICE = DeviceId(DRIVER, "pool", "a")


def _claim(version: int | str, *devices: str, uid: str = "uid-c") -> Claim:
    results = [make_result(device) for device in devices]
    made = make_claim("c", [make_request("r")], results=results or None)
    metadata = msgspec.structs.replace(made.metadata, resource_version=str(version), uid=uid)
    return msgspec.structs.replace(made, metadata=metadata)


class Known:
    """Claims, with the changes that they reported."""

    def __init__(self) -> None:
        self.claims = claims.ResourceClaims()
        self.changes: list[tuple[Claim | None, Claim | None]] = []
        self.claims.on_change = lambda old, new: self.changes.append((old, new))

    @property
    def newest(self) -> Claim | None:
        """The claim `c`."""
        return self.claims.get("c", "default")

    @property
    def is_free(self) -> bool:
        """Whether the device `a` is free."""
        return self.claims.allocated.get_use(DEVICE) is None


@pytest.fixture
def known() -> Known:
    """Return an empty store."""
    return Known()


def test_an_assumption_holds_until_the_watch_has_caught_up(known: Known) -> None:
    """Older versions that come late change nothing; the same version and newer ones count."""
    known.claims.set(_claim(1))
    known.claims.assume(_claim(9, "a"))
    known.claims.set(_claim(8))
    assert known.newest == _claim(9, "a")
    assert list(known.claims) == [_claim(9, "a")]
    assert not known.is_free
    known.claims.set(_claim(9, "a"))
    known.claims.set(_claim(10))
    assert known.newest == _claim(10)
    assert known.is_free
    assert known.changes == [
        (None, _claim(1)),
        (_claim(1), _claim(9, "a")),
        (_claim(9, "a"), _claim(9, "a")),
        (_claim(9, "a"), _claim(10)),
    ]


def test_versions_are_numbers(known: Known) -> None:
    """As text, 9 would be newer than 10."""
    known.claims.set(_claim(10, "a"))
    known.claims.assume(_claim(9))
    assert known.newest == _claim(10, "a")
    assert not known.is_free


def test_nothing_is_assumed_of_a_claim_that_is_gone(known: Known) -> None:
    """Its write was carried out before its deletion, which the watch has shown."""
    known.claims.set(_claim(1))
    known.claims.remove("c", "default")
    known.claims.assume(_claim(2, "a"))
    assert known.newest is None
    assert known.is_free
    known.claims.remove("c", "default")
    assert known.changes == [(None, _claim(1)), (_claim(1), None)]


def test_a_claim_of_the_same_name_is_another_one(known: Known) -> None:
    """What was assumed of the first one, and its devices, ends with it."""
    known.claims.set(_claim(1))
    known.claims.assume(_claim(9, "a"))
    known.claims.set(_claim(3, uid="other"))
    assert known.newest == _claim(3, uid="other")
    assert known.is_free


def _allocation(*devices: str) -> device_objects.AllocationResult:
    allocation = _claim(0, *devices).allocation
    assert allocation is not None
    return allocation


def test_devices_on_their_way_are_in_use(known: Known) -> None:
    """From Reserve on; what the watch shows meanwhile does not free them."""
    known.claims.set(_claim(1))
    known.claims.start_allocation("uid-c", _allocation("a"))
    assert known.claims.is_being_allocated("uid-c")
    known.claims.set(_claim(2))
    assert not known.is_free
    known.claims.assume(_claim(3, "a"))
    known.claims.end_allocation(_claim(1))
    assert not known.claims.is_being_allocated("uid-c")
    assert not known.is_free
    known.claims.end_allocation(_claim(1))
    assert not known.is_free


def test_devices_on_their_way_belong_to_one_claim(known: Known) -> None:
    """If it goes, and another one of its name comes, that one has its own devices only."""
    known.claims.set(_claim(1))
    known.claims.start_allocation("uid-c", _allocation("a"))
    known.claims.remove("c", "default")
    assert not known.is_free
    known.claims.set(_claim(2, "b", uid="other"))
    known.claims.end_allocation(_claim(1))
    assert known.is_free
    used = known.claims.allocated.get_use(DeviceId(DRIVER, "pool", "b"))
    assert used is not None


def test_giving_up_frees_devices_and_is_told(known: Known) -> None:
    """As a change from devices to none, which can help waiting pods; and only once."""
    known.claims.set(_claim(1))
    known.claims.start_allocation("uid-c", _allocation("a"))
    known.changes.clear()
    known.claims.give_up_allocation(_claim(1))
    known.claims.give_up_allocation(_claim(1))
    assert known.is_free
    [(old, new)] = known.changes
    assert new == _claim(1)
    assert old is not None
    assert old.allocation == _allocation("a")


def test_giving_up_leaves_what_others_wrote(known: Known) -> None:
    """The claim has other devices by then; every device that became free was reported."""
    known.claims.set(_claim(1))
    known.claims.start_allocation("uid-c", _allocation("a"))
    known.claims.set(_claim(2, "b"))
    known.changes.clear()
    known.claims.give_up_allocation(_claim(1))
    assert known.is_free
    assert known.claims.allocated.get_use(DeviceId(DRIVER, "pool", "b")) is not None
    assert known.changes == []


def test_the_claim_for_extended_resources_is_found_by_its_pod(known: Known) -> None:
    """By its owner, if it has the annotation."""
    owner = objects.OwnerReference(kind="Pod", name="p", uid="uid-p", controller=True)
    source = _claim(1)
    plain = msgspec.structs.replace(source.metadata, owner_references=(owner,))
    known.claims.set(msgspec.structs.replace(source, metadata=plain))
    assert known.claims.find_extended_resource_claim("uid-p") is None
    annotations = {device_objects.EXTENDED_RESOURCE_CLAIM: "true"}
    marked = msgspec.structs.replace(plain, annotations=annotations, resource_version="2")
    special = msgspec.structs.replace(source, metadata=marked)
    known.claims.set(special)
    assert known.claims.find_extended_resource_claim("uid-p") == special
    known.claims.remove("c", "default")
    assert known.claims.find_extended_resource_claim("uid-p") is None


def test_a_supposition_leaves_no_trace(known: Known) -> None:
    """Devices are free meanwhile; afterwards an assumption still holds against older versions."""
    known.claims.set(_claim(1))
    known.claims.assume(_claim(9, "a"))
    seen = list(known.changes)
    with known.claims.suppose_claims([_claim(9)], []):
        assert known.newest == _claim(9)
        assert known.is_free
    with known.claims.suppose_claims([], [_claim(9, "a")]):
        assert known.newest is None
        assert known.is_free
    assert known.changes == seen
    assert not known.is_free
    known.claims.set(_claim(8))
    assert known.newest == _claim(9, "a")
