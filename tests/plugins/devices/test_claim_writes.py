"""DynamicResources in PreBind and Unreserve: what it writes, awaits and takes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from policysched.cluster.objects import device_objects, objects
from policysched.framework import status
from tests.device_builders import make_claim, make_device, make_request, make_result, make_slice
from tests.plugins.devices import claim_server
from tests.plugins.devices.claim_server import (
    CONFLICT,
    NOW,
    REFUSED,
    DeviceWorld,
    list_devices,
    make_pod,
    make_world,
    reserve_for,
    version_claim,
)

FINALIZER = device_objects.DELETE_PROTECTION
WRITES = ["write_finalizers", "write_status"]
RETRY = ["read", *WRITES]


def _one(name: str = "c") -> device_objects.ResourceClaim:
    return make_claim(name, [make_request("r")])


def _allocated(name: str = "c", device: str = "a") -> device_objects.ResourceClaim:
    return make_claim(name, [make_request("r")], results=[make_result(device)])


def _reserve(world: DeviceWorld, *claims: str) -> claim_server.DevicePod:
    attempt = world.start(make_pod("p", *claims))
    assert attempt.reserve().is_success
    return attempt


def _expect_error(answer: status.Status, text: str) -> None:
    assert answer == status.Status(status.Code.ERROR, (text,), claim_server.PLUGIN)


def _list_users(claim: device_objects.ResourceClaim) -> list[str]:
    return [each.name for each in claim.status.reserved_for]


# --- writes --------------------------------------------------------------------------------------


def test_an_allocation_is_written() -> None:
    """First the finalizer, then the devices with the time, and the reservation for the pod."""
    world = make_world(make_slice("s", "a"), claims=[_one()])
    attempt = _reserve(world, "c")
    assert world.plugin.pre_bind_pre_flight(attempt.state, attempt.info, "n1").is_success
    assert attempt.pre_bind().is_success
    assert world.server.calls == WRITES
    written = world.server.get("c")
    assert written.metadata.finalizers == (FINALIZER,)
    assert list_devices(written) == ["a"]
    assert written.allocation is not None
    assert written.allocation.allocation_timestamp == NOW
    assert written.status.reserved_for == (
        device_objects.ResourceClaimConsumerReference(resource="pods", name="p", uid="uid-of-p"),
    )
    assert world.devices.claims.get("c", "default") == written
    assert not world.devices.claims.is_being_allocated("uid-c")


def test_a_claim_that_has_devices_is_only_reserved() -> None:
    """Its allocation must not change: the API server would refuse even a time that was absent."""
    world = make_world(claims=[reserve_for(_allocated(), "q")])
    attempt = _reserve(world, "c")
    assert attempt.pre_bind().is_success
    assert world.server.calls == ["write_status"]
    written = world.server.get("c")
    assert written.allocation == _allocated().allocation
    assert _list_users(written) == ["q", "p"]
    again = world.start(make_pod("p", "c"))
    assert again.reserve().is_success
    assert again.pre_bind().is_success
    assert world.server.calls == ["write_status"]  # it is reserved for the pod already


def test_a_pod_without_claims_is_left_out() -> None:
    """It neither waits nor writes."""
    world = make_world()
    attempt = world.start(make_pod("p"))
    assert attempt.pre_filter().is_skip
    assert world.plugin.pre_bind_pre_flight(attempt.state, attempt.info, "n1").is_skip
    assert attempt.pre_bind().is_success


def test_devices_are_never_free_in_between() -> None:
    """Neither before the write nor after it, whenever the watch shows what was written."""
    world = make_world(make_slice("s", "a"), claims=[_one("c"), _one("d")])

    def look() -> None:
        assert world.start(make_pod("q", "d")).filter()["n1"] == "cannot allocate all claims"

    world.server.before = {0: look, 1: look}
    attempt = _reserve(world, "c")
    assert attempt.pre_bind().is_success
    look()
    world.show_newest()
    look()


def _touch(world: DeviceWorld) -> Callable[[], None]:
    """Return what makes the next write a conflict."""
    return lambda: void(world.server.put(world.server.get("c")))


def void(_: object) -> None:
    """Ignore a value."""


@pytest.mark.parametrize(
    "conflicts, calls",
    [
        ({0}, ["write_finalizers", *RETRY]),
        ({1}, [*WRITES, "read", "write_status"]),
        ({0, 3}, ["write_finalizers", *RETRY, "read", "write_status"]),
    ],
)
def test_a_conflict_is_tried_again(conflicts: set[int], calls: list[str]) -> None:
    """With the newest version, after a moment."""
    world = make_world(make_slice("s", "a"), claims=[_one()])
    world.server.before = dict.fromkeys(conflicts, _touch(world))
    attempt = _reserve(world, "c")
    assert attempt.pre_bind().is_success
    assert world.server.calls == calls
    assert world.server.waited_seconds == [0.01] * len(conflicts)
    assert list_devices(world.server.get("c")) == ["a"]


def test_conflicts_without_end() -> None:
    """After five tries, the pod is told; the finalizer stays, and the device is free."""
    world = make_world(make_slice("s", "a"), claims=[_one("c"), _one("d")])
    world.server.answers = dict.fromkeys((1, 3, 5, 7, 9), CONFLICT)
    attempt = _reserve(world, "c")
    _expect_error(
        attempt.pre_bind(),
        "add allocation and reservation to claim default/c: the object has been modified",
    )
    assert len(world.server.waited_seconds) == 4
    attempt.unreserve()
    assert list_devices(world.server.get("c")) == []
    assert world.start(make_pod("q", "d")).filter()["n1"] == ""


@pytest.mark.parametrize(
    "lost, calls",
    [
        ({0}, ["write_finalizers", "read", "write_status"]),
        ({1}, [*WRITES, "read"]),
    ],
)
def test_an_answer_that_was_lost(lost: set[int], calls: list[str]) -> None:
    """The repeated write is a conflict with the pod's own first one, which counts."""
    world = make_world(make_slice("s", "a"), claims=[_one()])
    world.server.lost = lost
    world.server.answers = dict.fromkeys(lost, CONFLICT)
    assert _reserve(world, "c").pre_bind().is_success
    assert world.server.calls == calls
    assert _list_users(world.server.get("c")) == ["p"]


@pytest.mark.parametrize(
    "call, text",
    [
        (0, "add finalizer to claim default/c: somebody objects"),
        (1, "add allocation and reservation to claim default/c: somebody objects"),
    ],
)
def test_a_write_that_is_refused(call: int, text: str) -> None:
    """It is not repeated; the devices are free after Unreserve."""
    world = make_world(make_slice("s", "a"), claims=[_one("c"), _one("d")])
    world.server.answers = {call: REFUSED}
    attempt = _reserve(world, "c")
    _expect_error(attempt.pre_bind(), text)
    attempt.unreserve()
    assert world.start(make_pod("q", "d")).filter()["n1"] == ""


def test_a_reservation_that_is_refused() -> None:
    """As for the 257th pod of a claim."""
    world = make_world(claims=[_allocated()])
    world.server.answers = {0: REFUSED}
    attempt = _reserve(world, "c")
    _expect_error(attempt.pre_bind(), "add reservation to claim default/c: somebody objects")
    attempt.unreserve()
    assert world.server.calls == ["write_status"]


def test_a_claim_that_cannot_be_read_after_a_conflict() -> None:
    """The text names what failed."""
    world = make_world(make_slice("s", "a"), claims=[_one()])
    world.server.before = {0: _touch(world)}
    world.server.answers = {1: REFUSED}
    text = "get updated claim default/c after conflict: somebody objects"
    _expect_error(_reserve(world, "c").pre_bind(), text)


def _delete(claim: device_objects.ResourceClaim) -> device_objects.ResourceClaim:
    return version_claim(claim, 0, deletion_timestamp=NOW)


@pytest.mark.parametrize(
    "before, after, text",
    [
        pytest.param(_one(), _delete(_one()), "deleted", id="deleted"),
        pytest.param(_one(), _allocated("c", "x"), "allocated elsewhere", id="allocated"),
        pytest.param(_allocated(), _one(), "deallocated elsewhere", id="deallocated"),
    ],
)
def test_what_others_did_to_the_claim(
    before: device_objects.ResourceClaim, after: device_objects.ResourceClaim, text: str
) -> None:
    """It is noticed by the conflict; what they did stays."""
    world = make_world(make_slice("s", "a"), claims=[before])
    world.server.before = {0: lambda: void(world.server.put(after))}
    attempt = _reserve(world, "c")
    _expect_error(attempt.pre_bind(), f"claim default/c got {text} in the meantime")
    attempt.unreserve()
    left = world.server.get("c")
    assert (left.status, left.metadata.finalizers) == (after.status, ())


# --- Unreserve -----------------------------------------------------------------------------------


def test_a_failure_takes_reservations_back() -> None:
    """The allocation that was written stays; the device of the other claim is free again."""
    world = make_world(make_slice("s", "a", "b"), claims=[_one("c"), _one("d"), _one("e")])
    world.server.answers = {3: REFUSED}
    attempt = _reserve(world, "c", "d")
    assert not attempt.pre_bind().is_success
    attempt.unreserve()
    assert world.server.calls == [*WRITES, *WRITES, "unreserve"]
    first, second = world.server.get("c"), world.server.get("d")
    assert (list_devices(first), _list_users(first)) == (["a"], [])
    assert (list_devices(second), _list_users(second)) == ([], [])
    other = world.start(make_pod("q", "e"))
    assert other.reserve().is_success
    assert other.pre_bind().is_success
    assert list_devices(world.server.get("e")) == ["b"]


def test_a_reservation_that_cannot_be_taken_back(caplog: pytest.LogCaptureFixture) -> None:
    """The log names it; the controller removes it one day."""
    world = make_world(make_slice("s", "a"), claims=[_one()])
    attempt = _reserve(world, "c")
    assert attempt.pre_bind().is_success
    world.server.answers = {2: REFUSED}
    attempt.unreserve()
    assert "reservation of default/c for default/p: somebody objects" in caplog.text
    again = world.start(make_pod("p", "c"))
    assert again.reserve().is_success
    assert again.pre_bind().is_success
    assert world.server.calls == [*WRITES, "unreserve"]


# --- binding conditions --------------------------------------------------------------------------


def _report(world: DeviceWorld, **statuses: str) -> None:
    """Let the driver report conditions of the device, and the watch show them."""
    claim = world.server.get("c")
    conditions = tuple(
        objects.Condition(type=name, status=value, reason="Broken", message='"no" link')
        for name, value in statuses.items()
    )
    reported = device_objects.AllocatedDeviceStatus(
        driver="gpu.example.com", pool="pool", device="a", conditions=conditions
    )
    changed = msgspec.structs.replace(claim.status, devices=(reported,))
    world.server.put(msgspec.structs.replace(claim, status=changed))
    world.show_newest()


def _make_slow_world() -> DeviceWorld:
    device = make_device(
        "a", bindingConditions=["Ready", "Linked"], bindingFailureConditions=["Failed"]
    )
    return make_world(make_slice("s", device), claims=[_one()])


def test_a_pod_waits_for_its_devices() -> None:
    """It looks every five seconds, until all conditions hold."""
    world = _make_slow_world()
    world.server.during_sleep = [
        lambda: None,
        lambda: _report(world, Ready="True", Linked="False"),
        lambda: _report(world, Ready="True", Linked="True", Failed="False"),
    ]
    assert _reserve(world, "c").pre_bind().is_success
    assert world.server.waited_seconds == [5.0] * 3


def _advance(world: DeviceWorld, seconds: float) -> Callable[[], None]:
    return lambda: world.clock.advance(seconds)


@pytest.mark.parametrize(
    "happening, text",
    [
        pytest.param(
            lambda world: [lambda: _report(world, Ready="True", Failed="True")],
            'device binding failed: claim=c, reason=Broken, message="\\"no\\" link"',
            id="failed",
        ),
        pytest.param(
            lambda world: [_advance(world, 601)],
            "device binding timeout: claim=c",
            id="too late",
        ),
        pytest.param(
            lambda world: [],
            "device binding timeout: context deadline exceeded",
            id="waited for too long",
        ),
        pytest.param(
            lambda world: [lambda: world.devices.claims.remove("c", "default")],
            'could not find ResourceClaim "default/c"',
            id="gone",
        ),
    ],
)
def test_devices_that_do_not_become_ready(
    happening: Callable[[DeviceWorld], list[Any]], text: str
) -> None:
    """The pod is told why."""
    world = _make_slow_world()
    world.server.during_sleep = happening(world)
    _expect_error(_reserve(world, "c").pre_bind(), text)
    assert sum(world.server.waited_seconds) <= 600


def test_a_device_that_failed_is_given_up_in_the_next_attempt() -> None:
    """The claim is available nowhere, so PostFilter takes its device away."""
    world = _make_slow_world()
    world.server.during_sleep = [lambda: _report(world, Failed="True")]
    attempt = _reserve(world, "c")
    assert not attempt.pre_bind().is_success
    attempt.unreserve()
    world.show_newest()
    again = world.start(make_pod("p", "c"))
    assert set(again.filter().values()) == {"resourceclaim not available on the node"}
    assert again.post_filter().write is not None
