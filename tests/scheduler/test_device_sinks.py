"""What the watch says of claims, slices and classes, and which waiting pods it brings back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from policysched.cluster.devices import cluster_devices
from policysched.cluster.objects import device_objects, objects
from policysched.framework import events, handles
from policysched.plugins.dynamic_resources import dynamic_resources
from policysched.scheduler import device_sinks
from tests import builders
from tests.device_builders import make_claim, make_class, make_request, make_result, make_slice
from tests.scheduler import fakes

_ROUNDS = range(2, 12)
"""Of useless events, ten in each."""
ITEMS = [
    pytest.param(make_claim("x"), "resource.k8s.io/ResourceClaim", id="claim"),
    pytest.param(make_slice("x", "a"), "resource.k8s.io/ResourceSlice", id="slice"),
    pytest.param(make_class("x"), "resource.k8s.io/DeviceClass", id="class"),
]


def _version(item: Any, version: int, **metadata: Any) -> Any:
    metadata["resource_version"] = str(version)
    return msgspec.structs.replace(
        item, metadata=msgspec.structs.replace(item.metadata, **metadata)
    )


class DeviceWorld(fakes.World):
    """A scheduler with DynamicResources, and what its queue hears.

    Attributes:
        devices: the devices that the plugin knows.
        sinks: what the watch writes to.
        heard: label, object before, object after of each event.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.devices = cluster_devices.ClusterDevices()
        plugin = dynamic_resources.DynamicResources(handles.Handle(devices=self.devices))
        super().__init__(plugin)
        self.sinks = device_sinks.make_device_sinks(self.devices, self.queue)
        self.heard: list[tuple[str, Any, Any]] = []
        original = self.queue.move_all_to_active_or_backoff

        def move(event: events.ClusterEvent, old: Any = None, new: Any = None) -> None:
            self.heard.append((event.label, old, new))
            original(event, old, new)

        monkeypatch.setattr(self.queue, "move_all_to_active_or_backoff", move)

    def is_waiting(self, name: str) -> bool:
        """Return whether nothing has brought a pod back."""
        return self.where(name) == "unschedulable"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> DeviceWorld:
    """Return a scheduler without anything."""
    return DeviceWorld(monkeypatch)


# --- sinks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("item, resource", ITEMS)
def test_every_change_is_an_event_of_its_kind(
    world: DeviceWorld, item: device_objects.DeviceObject, resource: str
) -> None:
    """An object that comes, changes and goes is told with what it was and what it is."""
    sink: Any = world.sinks[type(item)]
    first, second = _version(item, 1), _version(item, 2)
    sink.delete(first)
    for version in (first, first, second):
        sink.upsert(version)
    sink.delete(second)
    assert world.heard == [
        (f"{resource}Add", None, first),
        (f"{resource}Update", first, second),
        (f"{resource}Delete", second, None),
    ]


@pytest.mark.parametrize("item, resource", ITEMS)
def test_a_list_replaces_everything(
    world: DeviceWorld, item: device_objects.DeviceObject, resource: str
) -> None:
    """What is missing in a list was deleted while nobody watched."""
    sink: Any = world.sinks[type(item)]
    gone, stays, new = (_version(item, 1, name=name, uid=name) for name in ("g", "s", "n"))
    sink.replace([gone, stays])
    world.heard.clear()
    sink.replace([stays, new])
    assert world.heard == [(f"{resource}Delete", gone, None), (f"{resource}Add", None, new)]


def test_a_write_is_told_once(world: DeviceWorld) -> None:
    """As soon as it is assumed, and not again when the watch shows it."""
    before, after = (
        _version(make_claim("c", [make_request("r")], results=results), version)
        for version, results in ((1, [make_result("a")]), (2, None))
    )
    world.sinks[device_objects.ResourceClaim].upsert(before)
    world.heard.clear()
    world.devices.claims.assume(after)
    world.sinks[device_objects.ResourceClaim].upsert(after)
    assert world.heard == [("resource.k8s.io/ResourceClaimUpdate", before, after)]


# --- queueing hints ------------------------------------------------------------------------------


def _pod(name: str, *claims: str) -> builders.PodBuilder:
    uses = tuple(objects.PodResourceClaim(name=each, resource_claim_name=each) for each in claims)
    return builders.make_pod(name).spec(resource_claims=uses)


def _claim(name: str, version: int = 1, *devices: str, **metadata: Any) -> Any:
    results = [make_result(device) for device in devices] or None
    return _version(make_claim(name, [make_request("r")], results=results), version, **metadata)


def _reserve(claim: Any, version: int, *pods: str) -> Any:
    users = tuple(device_objects.ResourceClaimConsumerReference(name=each) for each in pods)
    changed = msgspec.structs.replace(claim.status, reserved_for=users)
    return _version(msgspec.structs.replace(claim, status=changed), version)


def _let_pods_wait(world: DeviceWorld) -> None:
    """Let `short` wait for a device, and `early` for its claim; another claim has the device."""
    world.add_node("n1", 10)
    world.sinks[device_objects.DeviceClass].upsert(make_class("any"))
    world.sinks[device_objects.ResourceSlice].upsert(_version(make_slice("s", "a"), 1))
    for n in _ROUNDS:
        world.sinks[device_objects.ResourceSlice].upsert(_make_unused_slice(n))
        world.sinks[device_objects.DeviceClass].upsert(make_class(f"unused-{n}"))
    world.sinks[device_objects.ResourceClaim].upsert(_claim("busy", 1, "a"))
    world.sinks[device_objects.ResourceClaim].upsert(_claim("own"))
    world.add_pod(_pod("short", "own"))
    world.add_pod(_pod("early", "missing"))
    fakes.play(world.settle())
    assert world.is_waiting("short")
    assert world.is_waiting("early")


def _make_unused_slice(n: int) -> Any:
    return _version(make_slice(f"unused-{n}", "a", nodeName="n9"), 1)


def _make_useless_events(world: DeviceWorld) -> list[Callable[[], None]]:
    sinks = world.sinks
    busy = _claim("busy", 1, "a")
    found: list[Callable[[], None]] = []
    for n in _ROUNDS:
        of_others = _claim(f"other-{n}", n, uid=f"other-{n}")
        elsewhere = _claim("own", 2 * n, namespace="elsewhere", uid=f"elsewhere-{n}")
        tainted = builders.make_node("n1").capacity(pods=10).taint(f"taint-{n}")
        found += [
            functools.partial(sinks[device_objects.ResourceClaim].upsert, of_others),
            functools.partial(
                sinks[device_objects.ResourceClaim].upsert, _reserve(of_others, n + 1, "q")
            ),
            functools.partial(sinks[device_objects.ResourceClaim].delete, of_others),
            functools.partial(sinks[device_objects.ResourceClaim].upsert, elsewhere),
            functools.partial(
                sinks[device_objects.ResourceClaim].upsert, _reserve(elsewhere, 2 * n + 1, "q")
            ),
            functools.partial(
                sinks[device_objects.ResourceClaim].upsert, _reserve(busy, n, *map(str, range(n)))
            ),
            functools.partial(
                sinks[device_objects.ResourceClaim].upsert, _claim("own", n, labels={"n": str(n)})
            ),
            functools.partial(sinks[device_objects.ResourceSlice].delete, _make_unused_slice(n)),
            functools.partial(sinks[device_objects.DeviceClass].delete, make_class(f"unused-{n}")),
            functools.partial(world.nodes.upsert, tainted.build()),
        ]
    return found


HELPFUL = [
    pytest.param(
        lambda world: world.sinks[device_objects.ResourceClaim].upsert(_claim("busy", 99)),
        {"short"},
        id="device freed",
    ),
    pytest.param(
        lambda world: world.sinks[device_objects.ResourceClaim].upsert(_claim("own", 99, "b")),
        {"short"},
        id="own claim allocated by others",
    ),
    pytest.param(
        lambda world: world.sinks[device_objects.ResourceClaim].upsert(_claim("missing")),
        {"early"},
        id="claim created",
    ),
    pytest.param(
        lambda world: world.sinks[device_objects.ResourceSlice].upsert(
            _version(make_slice("t", "b"), 1)
        ),
        {"short"},
        id="slice added",
    ),
    pytest.param(
        lambda world: world.sinks[device_objects.ResourceSlice].upsert(
            _version(make_slice("s", "a", "b"), 99)
        ),
        {"short"},
        id="slice changed",
    ),
    pytest.param(
        lambda world: world.sinks[device_objects.DeviceClass].upsert(
            _version(make_class("any", "true"), 99)
        ),
        {"short"},
        id="class changed",
    ),
    pytest.param(lambda world: world.add_node("n2", 1), {"short"}, id="node added"),
]


@pytest.mark.parametrize("help_pods, helped", HELPFUL)
def test_only_events_that_can_help_bring_pods_back(
    world: DeviceWorld, help_pods: Callable[[DeviceWorld], None], helped: set[str]
) -> None:
    """After 100 others, nobody was tried; then, those that are helped."""
    _let_pods_wait(world)
    world.heard.clear()
    for happen in _make_useless_events(world):
        happen()
        assert world.is_waiting("short")
        assert world.is_waiting("early")
    assert len(world.heard) == 100
    help_pods(world)
    assert {name for name in ("short", "early") if not world.is_waiting(name)} == helped


def test_a_pod_waits_until_the_names_of_its_claims_are_known(world: DeviceWorld) -> None:
    """Its own change brings it back, and not one of another pod."""
    owner = objects.OwnerReference(kind="Pod", name="one", uid="uid-default-one", controller=True)
    world.add_node("n1", 10)
    use = objects.PodResourceClaim(name="u", resource_claim_template_name="t")
    one, two = (builders.make_pod(name).spec(resource_claims=(use,)) for name in ("one", "two"))
    world.add_pod(one)
    world.add_pod(two)
    world.sinks[device_objects.ResourceClaim].upsert(_claim("one-u", owner_references=(owner,)))
    made = objects.PodResourceClaimStatus(name="u", resource_claim_name="one-u")
    assert world.is_waiting("one")
    world.add_pod(one.status(resource_claim_statuses=(made,)))
    assert not world.is_waiting("one")
    assert world.is_waiting("two")


def test_devices_that_are_given_back_help_waiting_pods(world: DeviceWorld) -> None:
    """Though nothing was written, so that the watch shows nothing."""
    _let_pods_wait(world)
    world.sinks[device_objects.ResourceClaim].upsert(_claim("third", uid="third"))
    allocation = _claim("third", 1, "a").allocation
    world.devices.claims.start_allocation("third", allocation)
    assert world.is_waiting("short")
    world.devices.claims.give_up_allocation(_claim("third", uid="third"))
    assert not world.is_waiting("short")
