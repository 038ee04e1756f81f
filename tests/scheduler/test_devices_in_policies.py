"""Pods that rules about devices reject wait for changes of devices that help, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from policysched.cluster.objects import device_objects
from policysched.compiler import compiler
from policysched.framework import profile, runtime
from tests import builders
from tests.compiler import desk
from tests.device_builders import make_claim, make_class, make_request, make_result, make_slice
from tests.scheduler import fakes

POLICY = "policy p { for pods reject when freeDevices(gpu) < 2 as reserve }"
ROUNDS = 25
GPU = 'device.driver == "gpu.example.com"'
NIC = "nic.example.com"


class DeviceWorld(fakes.World):
    """A scheduler with a policy: `n1` has two GPUs, of which a claim has one, and two NICs."""

    def __init__(self) -> None:
        super().__init__()
        compiled = compiler.compile_program(desk.check(POLICY)).profiles[0]
        *plugins, bind = self.plugins
        made = profile.Profile(
            "default-scheduler",
            (*plugins, *compiled.plugins, bind),
            {},
            projection=compiled.projection,
        )
        self.scheduler.set_profiles({"default-scheduler": runtime.Framework(made, None)})
        self._version = 0
        self.add_node("n1", 10)
        self.show(make_class("gpu", GPU))
        self.show(make_class("nic", f'device.driver == "{NIC}"'))
        self.show(make_slice("gpus", "gpu-0", "gpu-1", pool="gpus"))
        self.show(make_slice("nics", "nic-0", "nic-1", driver=NIC, pool="nics"))
        self.show(make_gpu_claim("gpu-1"))

    def show(self, item: Any) -> None:
        """Let the watch show an object, with a new version."""
        self._version += 1
        metadata = msgspec.structs.replace(item.metadata, resource_version=str(self._version))
        versioned = msgspec.structs.replace(item, metadata=metadata)
        self.scheduler.events.devices[type(item)].upsert(versioned)

    def count_attempts(self) -> int:
        """Return how often the pod `a` was tried."""
        queued = self.queue.get("uid-default-a")
        assert queued is not None
        return queued.attempts

    async def pass_time(self) -> None:
        """Let the backoff of a pod that was woken end, and no time at which all pods are."""
        self.clock.advance(5)
        await self.settle()


def make_gpu_claim(*devices: str) -> device_objects.ResourceClaim:
    """Return a claim that has GPUs."""
    results = [make_result(each, pool="gpus") for each in devices] or None
    return make_claim("training", [make_request("r", "gpu")], results=results)


def make_nic_claim(*devices: str) -> device_objects.ResourceClaim:
    """Return a claim that has NICs."""
    results = [make_result(each, driver=NIC, pool="nics") for each in devices] or None
    return make_claim("network", [make_request("r", "nic")], results=results)


def make_useless_events(number: int) -> list[Any]:
    """Return objects of other classes and pools, and others that are as they were."""
    return [
        make_nic_claim("nic-0"),
        make_nic_claim(),
        make_slice("nics", "nic-0", "nic-1", driver=NIC, pool="nics"),
        make_slice("gpus", "gpu-0", "gpu-1", pool="gpus"),
        make_slice("elsewhere", "gpu-0", "gpu-1", pool="elsewhere", nodeName="n9"),
        make_class("gpu", GPU),
        make_class("nic", f'device.driver == "{NIC}" && {number} >= 0'),
        make_gpu_claim("gpu-1"),
    ]


HELPFUL = [
    pytest.param(lambda world: world.show(make_gpu_claim()), id="a claim is deallocated"),
    pytest.param(
        lambda world: world.scheduler.events.devices[device_objects.ResourceClaim].delete(
            make_gpu_claim()
        ),
        id="a claim is deleted",
    ),
    pytest.param(
        lambda world: world.show(make_slice("gpus", "gpu-0", "gpu-1", "gpu-2", pool="gpus")),
        id="a slice grows",
    ),
    pytest.param(
        lambda world: world.show(make_slice("more", "gpu-9", pool="more")), id="a slice is added"
    ),
    pytest.param(lambda world: world.show(make_class("gpu", "true")), id="a class selects more"),
]


@pytest.mark.parametrize("help_pod", HELPFUL)
def test_two_hundred_useless_events_cause_no_attempt_and_the_helpful_one_does(
    help_pod: Callable[[DeviceWorld], None],
) -> None:
    """The pod needs no devices itself; it waits for two that are free."""

    async def scenario() -> None:
        world = DeviceWorld()
        world.add_pod(builders.make_pod("a"))
        await world.settle()
        assert world.where("a") == "unschedulable"
        for number in range(ROUNDS):
            for item in make_useless_events(number):
                world.show(item)
            await world.pass_time()
        assert world.count_attempts() == 1
        help_pod(world)
        await world.pass_time()
        assert world.bind.bound == [("a", "n1")]

    fakes.play(scenario())


def test_a_change_that_does_not_suffice_causes_no_attempt() -> None:
    """Another device is free, and another one in use, so there is still one."""

    async def scenario() -> None:
        world = DeviceWorld()
        world.add_pod(builders.make_pod("a"))
        await world.settle()
        for devices in (("gpu-0",), ("gpu-0", "gpu-1"), ("gpu-1",)):
            world.show(make_gpu_claim(*devices))
            await world.pass_time()
        assert world.count_attempts() == 1

    fakes.play(scenario())


def test_a_node_with_enough_devices_wakes_the_pod() -> None:
    """Its slices may come before it or after it."""

    async def scenario() -> None:
        world = DeviceWorld()
        world.add_pod(builders.make_pod("a"))
        await world.settle()
        world.show(make_slice("n2", "gpu-0", "gpu-1", pool="n2", nodeName="n2"))
        await world.pass_time()
        assert world.count_attempts() == 1
        world.add_node("n2")
        await world.pass_time()
        assert world.bind.bound == [("a", "n2")]

    fakes.play(scenario())
