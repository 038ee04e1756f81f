"""The limit of the time of searches: one for Filter and numbers in policies, one for Reserve."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from policysched import clock as clocks
from policysched import units
from policysched.cluster.objects import device_objects
from policysched.compiler import lowering, metric_parts
from policysched.framework import status
from policysched.lang.checked import checked_expr
from policysched.lang.words import vocabulary
from policysched.plugins.dynamic_resources.allocation import allocator
from tests import builders, device_builders
from tests.compiler import strategies as texts
from tests.device_builders import make_claim, make_request, make_result, make_slice
from tests.plugins.devices import claim_server
from tests.plugins.devices.claim_server import make_pod, make_world

NO_DEVICES = "cannot allocate all claims"


def _make_claim(name: str = "c", count: int = 1) -> device_objects.ResourceClaim:
    return make_claim(name, [make_request("r", count=count)])


class RunningClock(clocks.ManualClock):
    """A clock that goes on by a second, or by `step_seconds`, each time that somebody looks."""

    step_seconds = 1.0
    looks = 0

    def monotonic_seconds(self) -> float:
        """Return a later time each time."""
        self.looks += 1
        self.advance(self.step_seconds)
        return super().monotonic_seconds()


def test_one_search_that_takes_too_long_ends_the_attempt() -> None:
    """The other nodes get its error at once, for all pods wait as long as a search takes."""
    clock = RunningClock(builders.EPOCH)
    requests = [make_request(f"r{n}") for n in range(12)]
    constraint = {"matchAttribute": "gpu.example.com/numa", "requests": []}
    claim = make_claim("c", requests, constraints=[constraint])
    devices = [
        device_builders.make_device(f"d{n}", attributes={"numa": {"int": n % 2}}) for n in range(16)
    ]
    world = make_world(
        make_slice("s", *devices),
        make_slice("t", *devices, pool="other", nodeName="n2"),
        claims=[claim],
        clock=clock,
    )
    found = world.start(make_pod("p", "c")).filter()
    assert set(found.values()) == {"node n1: timed out trying to allocate devices"}
    assert clock.looks < 20


def _let_filter_take_all_the_time(
    make: Callable[[clocks.ManualClock], claim_server.DeviceWorld],
) -> claim_server.DevicePod:
    """Return an attempt whose Filter ended just before the limit: the slowest one that passes."""
    passed: claim_server.DevicePod | None = None
    for number in itertools.count(1):
        clock = RunningClock(builders.EPOCH)
        clock.step_seconds = number / 300
        attempt = make(clock).start(make_pod("p", "c"))
        if "timed out" in " ".join(attempt.filter().values()):
            break
        passed = attempt
    assert passed is not None
    return passed


def test_numbers_in_policies_and_reserve_use_the_devices_that_filter_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cycle searches once on each node, and no number is computed without devices."""
    nodes = [f"n{number}" for number in range(1, 9)]
    slices = [make_slice(name, "d", pool=name, nodeName=name) for name in nodes]
    attempt = _let_filter_take_all_the_time(
        lambda clock: make_world(*slices, node_names=nodes, claims=[_make_claim()], clock=clock)
    )
    monkeypatch.setattr(allocator.Allocator, "allocate", None)
    snap = attempt.world.cluster.cache.snapshot()
    lower = lowering.Lowering(metric_parts.MetricParts(()))
    kinds: list[vocabulary.DeviceFunction] = ["takenDevices", "deviceCapacity"]
    taken, capacity = (
        lower.lower(checked_expr.DeviceNumber(kind, "any", units.NUMBER, texts.SPAN))
        .evaluate(snap.view_all_rows(), attempt.info.shape, attempt.state)
        .tolist()
        for kind in kinds
    )
    assert taken[: len(nodes)] == [1.0] * len(nodes)
    assert len(capacity) >= len(nodes)
    assert attempt.world.plugin.reserve(attempt.state, attempt.info, "n8") == status.SUCCESS


def test_reserve_has_time_of_its_own() -> None:
    """It searches again if another claim got a device of the node after Filter."""
    nodes = [f"n{number}" for number in range(1, 9)]
    slices = [make_slice(name, "a", "b", pool=name, nodeName=name) for name in nodes]
    attempt = _let_filter_take_all_the_time(
        lambda clock: make_world(*slices, node_names=nodes, claims=[_make_claim()], clock=clock)
    )
    other = make_claim("d", [make_request("r")], results=[make_result("a", pool="n8")])
    attempt.world.show(other)
    assert attempt.world.plugin.reserve(attempt.state, attempt.info, "n8") == status.SUCCESS
    assert len(attempt.world.devices.allocated.owned) == 2


def test_reserve_does_not_use_devices_that_another_claim_got_since_filter() -> None:
    """Two attempts that found the same device get different ones."""
    world = make_world(make_slice("s", "a", "b"), claims=[_make_claim("c"), _make_claim("d")])
    first, second = (world.start(make_pod(f"p{name}", name)) for name in "cd")
    for attempt in (first, second):
        assert attempt.filter()["n1"] == ""
    for attempt in (first, second):
        assert world.plugin.reserve(attempt.state, attempt.info, "n1") == status.SUCCESS
    assert len(world.devices.allocated.owned) == 2


def test_the_next_attempt_continues_where_the_time_was_over() -> None:
    """Nodes that were searched in time are not searched again."""
    clock = RunningClock(builders.EPOCH)
    nodes = [f"n{number}" for number in range(1, 6)]
    slices = [make_slice(name, "d", pool=name, nodeName=name) for name in nodes]
    world = make_world(*slices, node_names=nodes, claims=[_make_claim(count=2)], clock=clock)
    attempts = [set(world.start(make_pod("p", "c")).filter().values()) for _ in range(10)]
    assert any("timed out" in reason for reason in attempts[0])
    assert attempts[-1] == {NO_DEVICES}
