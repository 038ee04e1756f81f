"""What `explain` reports about a node that lacks devices for claims."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.cluster.objects import device_objects, objects
from tests import builders
from tests.device_builders import (
    consume_counters,
    make_claim,
    make_counters,
    make_device,
    make_request,
    make_result,
    make_slice,
)
from tests.plugins.devices.claim_server import make_pod, make_world

KIND = "device.attributes['gpu.example.com'].kind == 'whole'"
NEEDED: dict[str, Any] = {"capacity": {"requests": {"memory": "5Gi"}}}
SHARED = {"allowMultipleAllocations": True}


def _ask(
    *slices: device_objects.ResourceSlice,
    claims: list[device_objects.ResourceClaim],
    used: list[device_objects.ResourceClaim] | None = None,
) -> str:
    world = make_world(*slices, claims=[*claims, *(used or ())])
    attempt = world.start(make_pod("p", *(each.metadata.name for each in claims)))
    assert attempt.filter()["n1"] == "cannot allocate all claims"
    return attempt.describe_evidence()


def _one(count: int = 1, **fields: Any) -> device_objects.ResourceClaim:
    return make_claim("c", [make_request("r", count=count, **fields)])


def _kinds(*kinds: str) -> list[dict[str, Any]]:
    return [
        make_device(f"d{n}", attributes={"kind": {"string": kind}}) for n, kind in enumerate(kinds)
    ]


@pytest.mark.parametrize(
    "device, claim, expected",
    [
        pytest.param(
            make_device(
                "a",
                taints=[
                    {"key": "sick", "effect": "NoSchedule"},
                    {"key": "old", "value": "yes", "effect": "NoExecute"},
                    {"key": "noted", "effect": "None"},
                ],
            ),
            _one(),
            "a with taints that are not tolerated (sick:NoSchedule, old=yes:NoExecute)",
            id="taints",
        ),
        pytest.param(
            make_device("a", capacity={"cores": {"value": "4"}}, **SHARED),
            _one(**NEEDED),
            "a without the capacity memory",
            id="no-capacity",
        ),
        pytest.param(
            make_device("a", capacity={"memory": {"value": "4Gi"}}, **SHARED),
            _one(**NEEDED),
            "a without enough capacity (memory: 5Gi requested, 4Gi of 4Gi left)",
            id="too-little-capacity",
        ),
        pytest.param(
            make_device(
                "a",
                capacity={
                    "memory": {
                        "value": "9Gi",
                        "requestPolicy": {"default": "1Gi", "validValues": ["1Gi", "2Gi"]},
                    }
                },
                **SHARED,
            ),
            _one(**NEEDED),
            "a whose policy does not permit the amount (memory: 5Gi requested)",
            id="policy",
        ),
    ],
)
def test_the_first_failed_test(
    device: dict[str, Any], claim: device_objects.ResourceClaim, expected: str
) -> None:
    """The test is named, with the values of the device."""
    found = _ask(make_slice("s", device), claims=[claim])
    assert found == f"claim c, request r: 0 suitable of 1 requested, {expected}"


def test_counters() -> None:
    """The first counter of which too little is left is named."""
    counters = make_slice("s", count=2, sharedCounters=[make_counters("gpu-0", compute="7")])
    devices = make_slice(
        "t",
        make_device("part", consumesCounters=consume_counters("gpu-0", compute="1")),
        make_device("whole", consumesCounters=consume_counters("gpu-0", compute="7")),
        count=2,
    )
    used = make_claim("used", results=[make_result("part")])
    assert _ask(counters, devices, claims=[_one()], used=[used]) == (
        "claim c, request r: 0 suitable of 1 requested, part in use by claim default/used,"
        " whole without enough of the shared counters (gpu-0/compute: 7 needed, 6 left)"
    )


def test_devices_that_are_not_selected_come_last() -> None:
    """They are one reason, with the different values."""
    devices = make_slice("s", *_kinds("1g", "1g", "3g", "2g", "4g", "5g", "whole"))
    used = make_claim("used", results=[make_result("d6")])
    claim = _one(selectors=[{"cel": {"expression": KIND}}])
    assert _ask(devices, claims=[claim], used=[used]) == (
        "claim c, request r: 0 suitable of 1 requested, d6 in use by claim default/used,"
        " d0, d1, d2 and 3 more not selected by selector #0 of request r"
        " (kind = 1g; kind = 3g; kind = 2g; 2 more)"
    )


def test_long_values_are_cut() -> None:
    """The beginning of a value is enough to recognise it."""
    claim = _one(selectors=[{"cel": {"expression": KIND}}])
    found = _ask(make_slice("s", *_kinds("x" * 64)), claims=[claim])
    assert found.endswith(f"selector #0 of request r (kind = {'x' * 60}…)")


def test_devices_with_one_name_in_two_pools() -> None:
    """They are named with their pools, other devices without."""
    slices = make_slice("s", "a", pool="one"), make_slice("t", "a", "b", pool="two")
    results = [
        make_result("a", pool="one"),
        make_result("a", pool="two"),
        make_result("b", pool="two"),
    ]
    found = _ask(*slices, claims=[_one()], used=[make_claim("used", results=results)])
    assert "one/a, two/a, b in use by claim default/used" in found


NUMA = {"matchAttribute": "gpu.example.com/numa"}
KIND_DISTINCT = {"distinctAttribute": "gpu.example.com/kind"}


@pytest.mark.parametrize(
    "count, constraints, expected",
    [
        pytest.param(
            2,
            [{"matchAttribute": "gpu.example.com/nope"}],
            "no suitable device of request r has the attribute gpu.example.com/nope"
            " of constraint #0",
            id="missing",
        ),
        pytest.param(
            3,
            [KIND_DISTINCT, NUMA],
            "no suitable devices together fulfil constraint #1 (matchAttribute"
            " gpu.example.com/numa)",
            id="match",
        ),
        pytest.param(
            4,
            [{"distinctAttribute": "gpu.example.com/numa"}],
            "no suitable devices together fulfil constraint #0 (distinctAttribute"
            " gpu.example.com/numa)",
            id="distinct",
        ),
        pytest.param(
            3,
            [NUMA, {"distinctAttribute": "gpu.example.com/numa"}],
            "no suitable devices together fulfil its constraints",
            id="both",
        ),
    ],
)
def test_constraints(count: int, constraints: list[dict[str, Any]], expected: str) -> None:
    """If enough devices are suitable, the constraint that they do not fulfil is named."""
    devices = [
        make_device(f"d{n}", attributes={"numa": {"int": n % 2}, "kind": {"int": n}})
        for n in range(4)
    ]
    claim = make_claim("c", [make_request("r", count=count)], constraints=constraints)
    assert _ask(make_slice("s", *devices), claims=[claim]) == (
        f"claim c, request r: 4 suitable of {count} requested; claim c: {expected}"
    )


def test_claims_and_requests_that_compete() -> None:
    """Each one alone could have its devices."""
    devices = make_slice("s", "a", "b", "d")
    two = [make_request("r", count=2)]
    each = "3 suitable of 2 requested"
    assert _ask(devices, claims=[make_claim("c", two), make_claim("d", two)]) == (
        f"claim c, request r: {each}; claim d, request r: {each};"
        " there are enough devices for each claim, but not for all of them together"
    )
    both = make_claim("c", [*two, make_request("q", count=2)])
    assert _ask(devices, claims=[both]) == (
        f"claim c, request r: {each}; claim c, request q: {each};"
        " claim c: there are enough devices for each request, but not for all of them together"
    )


def test_devices_that_share_counters() -> None:
    """Each one alone has enough."""
    counters = make_slice("s", count=2, sharedCounters=[make_counters(compute="7")])
    parts = [
        make_device(name, consumesCounters=consume_counters(compute="4")) for name in ("a", "b")
    ]
    assert _ask(counters, make_slice("t", *parts, count=2), claims=[_one(count=2)]) == (
        "claim c, request r: 2 suitable of 2 requested; claim c: the suitable devices share"
        " counters or capacities that do not suffice for all of them"
    )


def test_a_selector_that_fails() -> None:
    """The devices on which it fails are named, although others would suffice."""
    devices = make_slice("s", *_kinds("whole"), "b")
    claim = _one(selectors=[{"cel": {"expression": KIND}}])
    attempt = make_world(devices, claims=[claim]).start(make_pod("p", "c"))
    attempt.pre_filter()
    error = "claim default/c: selector #0: CEL runtime error: no such key: kind"
    assert attempt.describe_evidence(reason=error) == (
        "claim c, request r: 1 suitable of 1 requested, b on which selector #0 of request r fails"
        " (CEL runtime error: no such key: kind);"
        " an error on one node ends the attempt on all nodes"
    )


def test_a_claim_of_a_template_that_does_not_exist_yet() -> None:
    """The reader learns what creates it."""
    use = objects.PodResourceClaim(name="u", resource_claim_template_name="gpus")
    pod = builders.make_pod("p").spec(resource_claims=(use,))
    attempt = make_world().start(pod)
    (reason,) = attempt.pre_filter().reasons
    assert attempt.describe_evidence(reason=reason) == (
        "the resource claim controller of Kubernetes creates it from the template gpus,"
        " which policysched does not read"
    )
