"""DynamicResources from PreEnqueue to Reserve, in kube-scheduler's words."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import numpy as np
import pytest

from policysched.cluster.objects import device_objects, objects
from policysched.framework import status
from tests import builders
from tests.device_builders import make_claim, make_request, make_result, make_slice
from tests.plugins.devices import claim_server
from tests.plugins.devices.claim_server import make_pod, make_world, reserve_for

NO_DEVICES = "cannot allocate all claims"
UNAVAILABLE = "resourceclaim not available on the node"
DELETED = {"deletion_timestamp": "2026-01-05T11:00:00Z"}


def _one(name: str = "c", **fields: Any) -> device_objects.ResourceClaim:
    return make_claim(name, [make_request("r", **fields)])


def _allocated(
    name: str = "c", device: str = "a", node: str = "n1", *pods: str
) -> device_objects.ResourceClaim:
    """Return a claim that has a device of a node, and is reserved for pods."""
    claim = make_claim(name, [make_request("r")], results=[make_result(device)])
    assert claim.allocation is not None
    term = builders.node_term(fields=(builders.expression("metadata.name", "In", node),))
    selector = objects.NodeSelector(node_selector_terms=(term,))
    allocation = msgspec.structs.replace(claim.allocation, node_selector=selector)
    changed = msgspec.structs.replace(claim.status, allocation=allocation)
    return reserve_for(msgspec.structs.replace(claim, status=changed), *pods)


def _use(name: str | None = None, template: str | None = None) -> tuple[objects.PodResourceClaim]:
    return (
        objects.PodResourceClaim(
            name="u", resource_claim_name=name, resource_claim_template_name=template
        ),
    )


def _made(name: str | None) -> tuple[objects.PodResourceClaimStatus]:
    return (objects.PodResourceClaimStatus(name="u", resource_claim_name=name),)


pod = builders.make_pod("p").uid("uid-of-p")
NOT_READY = [
    pytest.param(
        pod.spec(resource_claims=_use("gone")),
        'could not find ResourceClaim "default/gone"',
        id="missing",
    ),
    pytest.param(
        pod.spec(resource_claims=_use("ending")),
        'resourceclaim "ending" is being deleted',
        id="being deleted",
    ),
    pytest.param(
        pod.spec(resource_claims=_use(template="t")),
        'pod "default/p": ResourceClaim not created yet',
        id="not created",
    ),
    pytest.param(
        pod.spec(resource_claims=_use()),
        'pod "default/p", spec.resourceClaim "u": none of the supported fields are set',
        id="neither",
    ),
    pytest.param(
        pod.spec(resource_claims=_use(template="t")).status(resource_claim_statuses=_made("c")),
        "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)",
        id="of another pod",
    ),
]


@pytest.mark.parametrize("waiting, reason", NOT_READY)
def test_claims_that_are_not_ready(waiting: builders.PodBuilder, reason: str) -> None:
    """The pod does not enter the queue, and PreFilter says the same."""
    ending = _one("ending")
    metadata = msgspec.structs.replace(ending.metadata, **DELETED)
    world = make_world(claims=[_one(), msgspec.structs.replace(ending, metadata=metadata)])
    expected = status.unresolvable(claim_server.PLUGIN, reason)
    attempt = world.start(waiting)
    assert world.plugin.pre_enqueue(attempt.info) == expected
    assert attempt.pre_filter() == expected


def test_claims_of_the_own_template_and_claims_that_are_not_needed() -> None:
    """The pod controls its claim; a null name in the status means that the pod needs no claim."""
    owner = objects.OwnerReference(kind="Pod", name="p", uid="uid-of-p", controller=True)
    own = _one("own")
    metadata = msgspec.structs.replace(own.metadata, owner_references=(owner,))
    world = make_world(make_slice("s", "a"))
    world.show(msgspec.structs.replace(own, metadata=metadata))
    waiting = pod.spec(resource_claims=_use(template="t"))
    ready = world.start(waiting.status(resource_claim_statuses=_made("own")))
    assert ready.filter() == {"n1": "", "n2": NO_DEVICES}
    needless = world.start(waiting.status(resource_claim_statuses=_made(None)))
    assert world.plugin.pre_enqueue(needless.info).is_success
    assert needless.pre_filter().is_skip


@pytest.mark.parametrize(
    "claim, code, reason",
    [
        (
            make_claim("c", [make_request("r", "none")]),
            status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "request r: device class none does not exist",
        ),
        (
            make_claim(
                "c", [{"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "none"}]}]
            ),
            status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "request r/s: device class none does not exist",
        ),
        (
            make_claim("c", [make_request("r", "")]),
            status.Code.ERROR,
            "request r: unsupported request type",
        ),
        (
            make_claim("c", [{"name": "r"}]),
            status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "resource claim default/c, request r: unknown request type",
        ),
    ],
)
def test_requests_that_nothing_can_serve(
    claim: device_objects.ResourceClaim, code: status.Code, reason: str
) -> None:
    """PreFilter ends the attempt."""
    world = make_world(claims=[claim])
    assert world.start(make_pod("p", "c")).pre_filter() == status.Status(
        code, (reason,), claim_server.PLUGIN
    )


def test_a_claim_with_all_reservations() -> None:
    """Only pods that have one can use it; the API server would refuse another one."""
    users = [f"p{number}" for number in range(device_objects.MAX_RESERVATIONS)]
    world = make_world(make_slice("s", "a"), claims=[_allocated("c", "a", "n1", *users)])
    assert world.start(make_pod("p0", "c")).filter() == {"n1": "", "n2": UNAVAILABLE}
    reason = "resource claim default/c has 256 reservations, the most that the API permits"
    one_more = world.start(make_pod("one-more", "c"))
    assert one_more.pre_filter() == status.unresolvable(claim_server.PLUGIN, reason)
    world.show(_allocated("c", "a", "n1", *users[1:]))
    assert one_more.filter() == {"n1": "", "n2": UNAVAILABLE}


def test_one_claim_is_not_allocated_twice_at_the_same_time() -> None:
    """A second pod with the claim waits while the first one is on its way."""
    world = make_world(make_slice("s", "a", "b"), claims=[_one()])
    first, second = world.start(make_pod("p", "c")), world.start(make_pod("q", "c"))
    assert first.reserve().is_success
    assert second.pre_filter().reasons == (
        "resource claim default/c is in the process of being allocated",
    )
    first.unreserve()
    assert second.reserve().is_success


def test_reserved_devices_are_not_free_and_those_given_back_are() -> None:
    """The change is told, so that waiting pods are tried again."""
    world = make_world(make_slice("s", "a"), claims=[_one("c"), _one("d")])
    first, second = world.start(make_pod("p", "c")), world.start(make_pod("q", "d"))
    assert first.reserve().is_success
    assert second.filter() == {"n1": NO_DEVICES, "n2": NO_DEVICES}
    assert world.changes == []
    first.unreserve()
    assert world.changes == [(True, False)]
    assert world.server.calls == []
    assert second.filter() == {"n1": "", "n2": NO_DEVICES}


def test_reserve_finds_nothing_any_more() -> None:
    """What became of the devices meanwhile does not matter: the attempt fails."""
    world = make_world(make_slice("s", "a"), claims=[_one()])
    attempt = world.start(make_pod("p", "c"))
    attempt.filter()
    world.devices.slices.remove("s")
    answer = world.plugin.reserve(attempt.state, attempt.info, "n1")
    assert (answer.code, answer.reasons) == (
        status.Code.ERROR,
        ("claim allocation not found for node",),
    )


def test_all_claims_of_a_pod_get_devices_or_none() -> None:
    """Claims that have devices already decide where; each other one needs a device there."""
    world = make_world(
        make_slice("s", "a", "b"),
        make_slice("t", "a", pool="other", nodeName="n2"),
        claims=[_allocated("c"), _one("d"), _one("e")],
    )
    assert world.start(make_pod("p", "c", "d")).filter() == {"n1": "", "n2": UNAVAILABLE}
    assert world.start(make_pod("q", "c", "d", "e")).filter() == {
        "n1": NO_DEVICES,
        "n2": NO_DEVICES,
    }
    attempt = world.start(make_pod("p", "c", "d"))
    assert attempt.reserve().is_success
    assert world.start(make_pod("r", "e")).filter() == {"n1": NO_DEVICES, "n2": ""}


def test_parameters_for_drivers_do_not_matter() -> None:
    """Not even numbers that no machine word holds."""
    parameters = {"opaque": {"driver": "gpu.example.com", "parameters": {"large": 10**30}}}
    claim = make_claim("c", [make_request("r")], config=[parameters])
    world = make_world(make_slice("s", "a"), claims=[claim])
    assert world.start(make_pod("p", "c")).filter() == {"n1": "", "n2": NO_DEVICES}


def test_an_error_of_a_node_names_it_or_the_claim() -> None:
    """A selector that cannot be evaluated for a device of a node is an error there only."""
    selector = {"cel": {"expression": "device.attributes['gpu.example.com'].size > 1"}}
    world = make_world(make_slice("s", "a"), claims=[_one(selectors=[selector])])
    found = world.start(make_pod("p", "c")).filter()
    assert found["n2"] == NO_DEVICES
    assert found["n1"] == ("claim default/c: selector #0: CEL runtime error: no such key: size")


def test_pools_that_contradict_themselves_are_named_only_if_there_is_nothing_else() -> None:
    """kube-scheduler does not name the pools."""
    broken = make_slice("s", "a", "a", pool="broken")
    world = make_world(broken, claims=[_one()])
    assert world.start(make_pod("p", "c")).filter() == {
        "n1": "invalid resource pools were encountered",
        "n2": NO_DEVICES,
    }
    world.devices.slices.set(make_slice("t", "a"))
    assert world.start(make_pod("p", "c")).filter()["n1"] == ""


# --- PostFilter ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "users, reason, left",
    [
        pytest.param((), "deallocation of ResourceClaim completed", [], id="nobody"),
        pytest.param(("p",), "deallocation of ResourceClaim completed", [], id="the pod"),
        pytest.param(("q",), "still not schedulable", ["a"], id="another pod"),
        pytest.param(("p", "q"), "still not schedulable", ["a"], id="both"),
    ],
)
def test_a_claim_that_is_allocated_elsewhere(
    users: tuple[str, ...], reason: str, left: list[str]
) -> None:
    """It loses its device if no other pod has a reservation; the event retries the pod."""
    world = make_world(
        make_slice("s", "a"), claims=[_allocated("c", "a", "n3", *users)], node_names=["n1"]
    )
    attempt = world.start(make_pod("p", "c"))
    assert attempt.filter() == {"n1": UNAVAILABLE}
    answer = attempt.post_filter()
    assert (answer.status.code, answer.status.reasons) == (status.Code.UNSCHEDULABLE, (reason,))
    if answer.write is not None:
        assert asyncio.run(answer.write())  # type: ignore[arg-type]  # it is a coroutine
        assert world.changes == [(True, False)]
    assert claim_server.list_devices(world.server.get("c")) == left
    assert (answer.write is None) == bool(left)


def test_only_the_first_of_several_claims_is_deallocated() -> None:
    """And none that is available where the pod was rejected for another reason."""
    lost = [_allocated("d", "b", "n3"), _allocated("e", "c", "n3")]
    world = make_world(make_slice("s", "a"), claims=[_allocated("c"), *lost], node_names=["n1"])
    answer = world.start(make_pod("p", "c", "d", "e")).post_filter()
    assert answer.write is not None
    assert asyncio.run(answer.write())  # type: ignore[arg-type]  # it is a coroutine
    assert [claim_server.list_devices(world.server.get(name)) for name in "cde"] == [
        ["a"],
        [],
        ["c"],
    ]


def test_a_deallocation_that_is_refused() -> None:
    """The pod must be tried again, and the claim is as before."""
    world = make_world(claims=[_allocated("c", "a", "n3")], node_names=["n1"])
    world.server.answers = {0: claim_server.REFUSED}
    answer = world.start(make_pod("p", "c")).post_filter()
    assert answer.write is not None
    assert not asyncio.run(answer.write())  # type: ignore[arg-type]  # it is a coroutine
    assert world.changes == []
    assert world.devices.claims.get("c", "default") == world.server.get("c")


def test_a_pod_that_only_lacks_devices() -> None:
    """There is nothing to deallocate."""
    world = make_world(claims=[_one()])
    answer = world.start(make_pod("p", "c")).post_filter()
    assert answer.status.reasons == ("still not schedulable",)
    assert answer.write is None


# --- Score ---------------------------------------------------------------------------------------


def test_nodes_score_by_the_alternatives_that_claims_get() -> None:
    """Eight for a first alternative, seven for a second; claims with devices count, too."""
    alternatives = [
        {"name": name, "deviceClassName": "any", "count": count}
        for name, count in (("two", 2), ("one", 1))
    ]
    prioritized = {"name": "r", "firstAvailable": alternatives}
    world = make_world(
        make_slice("s", "a"),
        make_slice("t", "a", "b", pool="other", nodeName="n2"),
        claims=[
            make_claim("c", [prioritized]),
            make_claim("d", [prioritized], results=[make_result("x", request="r/one")]),
        ],
    )
    assert world.start(make_pod("p", "c")).score() == [7, 8]
    assert world.start(make_pod("p", "c", "d")).score() == [14, 15]
    only_allocated = world.start(make_pod("p", "d"))
    assert only_allocated.score() == [0, 0]
    normalize = world.plugin.normalize_score
    assert normalize(only_allocated.state, only_allocated.info, np.array([14, 15])).tolist() == [
        93,
        100,
    ]
    assert normalize(only_allocated.state, only_allocated.info, np.array([0, 0])).tolist() == [0, 0]
